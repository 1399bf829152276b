"""Parts of a run folder that somebody removes, between two starts or while the run goes on."""

from __future__ import annotations

import shutil

import pytest

from orchestrator.cli.failure import tell
from orchestrator.errors import AuthoringError
from orchestrator.history.pruning import remove
from orchestrator.interrupts import Stop
from orchestrator.journal import Journal, JournalFailed, JournalGone
from orchestrator.store import RunFolder, RunHeader, Store
from orchestrator.summary import standings
from sandboxes.errors import SandboxLost


def header() -> RunHeader:
    return RunHeader.begin("demo", {"trials": []})


def passing(job, notebook):
    return notebook.record("passed", "graded", "all good")


def test_a_run_taken_up_without_its_trials_folder_counts_what_it_does(session):
    runs, stop = session("a"), Stop()

    def stopped(job, notebook):
        stop.request()
        raise SandboxLost("closed")

    runs.run(stopped, stop=stop)
    shutil.rmtree(runs.out / "trials")

    summary = runs.run(passing)

    assert (summary.exit_code, summary.counts["passed"]) == (0, 1)
    assert [r.attempt for r in RunFolder(runs.out).records()] == [1, 2]
    assert RunFolder(runs.out).problems() == ()


def test_attempts_go_on_counting_when_their_folders_vanish_between_two(session):
    runs = session("a")

    def lost_twice(job, notebook):
        shutil.rmtree(runs.out / "trials")
        if notebook.attempt < 3:
            raise SandboxLost("gone")
        return passing(job, notebook)

    summary = runs.run(lost_twice)

    assert summary.counts["passed"] == 1
    assert [r.attempt for r in RunFolder(runs.out).records()] == [1, 2, 3]


def test_a_standing_knows_the_highest_attempt_also_where_an_earlier_one_counts(record):
    tried = [
        record("a", 1, "passed"),
        record("a", 3, "errored", final=False),
        record("a", 2, "errored", final=False),
    ]

    held = standings(tried)["a"]

    assert (held.status, held.attempt, held.highest) == ("passed", 1, 3)


@pytest.mark.parametrize("what", ["run", "records.jsonl"])
@pytest.mark.parametrize("moved", [False, True])
def test_a_run_whose_records_vanish_tells_it_and_makes_no_half_folder_again(
    session, tmp_path, capsys, what, moved
):
    runs = session("a", "b")
    gone = runs.out if what == "run" else runs.out / what

    def vanishing(job, notebook):
        if gone.exists():
            gone.rename(tmp_path / "elsewhere")
            if not moved and what == "run":
                shutil.rmtree(tmp_path / "elsewhere")
            elif not moved:
                (tmp_path / "elsewhere").unlink()
        notebook.keep("response.txt", b"x")
        return passing(job, notebook)

    with pytest.raises(JournalGone) as told:
        runs.run(vanishing)

    assert tell(told.value) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"proctor: {runs.out}") and "was removed or moved away" in said
    assert said.count("\n") == 1
    assert not gone.exists()


def test_a_journal_notices_soon_that_its_file_is_gone(tmp_path):
    keeper = Journal(tmp_path / "records.jsonl", sync_after=0.0)
    (tmp_path / "records.jsonl").unlink()

    with pytest.raises(JournalGone):
        for _ in range(1000):
            keeper.append(b"into nothing")
            keeper._syncer.join(0.01)
    with pytest.raises(JournalFailed):
        keeper.close()


def test_a_removed_lock_file_lets_no_second_proctor_in(tmp_path, record):
    with Store.create(header(), tmp_path / "run") as store:
        (tmp_path / "run" / "lock").unlink()

        with pytest.raises(AuthoringError, match="in use by another proctor"):
            Store.resume(header(), tmp_path / "run")
        assert remove(tmp_path / "run") is False

        store.append(record())
        assert [r.trial for r in RunFolder(tmp_path / "run").records()] == ["t1.gold.1"]

    Store.resume(header(), tmp_path / "run").close()


def test_records_that_lost_their_header_are_not_mixed_with_a_new_runs(tmp_path, record):
    with Store.create(header(), tmp_path / "run") as store:
        store.append(record())
    (tmp_path / "run" / "run.json").unlink()

    with pytest.raises(AuthoringError, match="not empty"):
        Store.create(header(), tmp_path / "run")
