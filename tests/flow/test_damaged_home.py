"""What a run does with a home that lost something: it mends it, and blames nobody."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture
def used(bench):
    """A benchmark that ran before: its states are kept in the home."""
    runs = bench("word", "other")
    runs.run("gold")
    return runs


def _empty(runs):
    for path in (runs.home / "trees" / "objects").glob("??/*"):
        path.chmod(0o600)
        path.write_bytes(b"")


def test_a_damaged_store_costs_an_attempt_and_no_score(used):
    _empty(used)

    summary = used.run("gold", repeats=2)

    assert (summary.counts["passed"], summary.exit_code) == (4, 0)
    assert {record.status for record in used.records} == {"passed", "errored"}
    (errored,) = [record for record in used.records if record.status == "errored"]
    assert errored.end == "sandbox_error" and not errored.final
    assert f"the store {used.home}/trees is damaged; it was put aside as trees-damaged" in errored.reason


def test_without_attempts_left_it_is_nobodys_score_and_the_next_run_passes(used):
    _empty(used)

    summary = used.run("gold", repeats=2, retries=0)
    again = used.run("gold", repeats=2)

    assert summary.counts["failed"] == 0 and summary.exit_code == 3
    assert (again.counts["passed"], again.exit_code) == (4, 0)


@pytest.mark.parametrize("gone", ["config", "HEAD", "objects", "refs"])
def test_an_interrupted_removal_of_the_home_is_finished_by_the_next_run(used, gone):
    place = used.home / "trees" / gone
    shutil.rmtree(place) if place.is_dir() else place.unlink()

    summary = used.run("gold", repeats=2)

    assert (summary.counts["passed"], summary.exit_code) == (4, 0)
    assert (used.home / "trees-damaged").is_dir()


def test_a_store_that_goes_between_two_trials_is_filled_again(used):
    seen = []

    class Remover:
        def started(self, job):
            seen.append(job.trial)
            if len(seen) == 2:
                shutil.rmtree(used.home / "trees")

        def phase(self, job, name): ...

        def finished(self, job, record): ...

    shutil.rmtree(used.out)
    summary = used.run("gold", repeats=3, listener=Remover())

    assert (summary.counts["passed"], summary.exit_code) == (6, 0) and len(seen) >= 6


def test_a_store_that_cannot_be_made_is_not_the_authors_folder(used):
    shutil.rmtree(used.home / "trees")
    (used.home / "trees").symlink_to(used.home / "nowhere" / "trees")

    summary = used.run("gold", repeats=2, retries=0)

    (record,) = [record for record in used.records if record.status == "errored" and record.task == "word"]
    assert summary.exit_code == 3 and f"the store {used.home}/trees cannot be made" in record.reason
