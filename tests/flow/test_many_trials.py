"""Whole trials in numbers: nothing piles up, nothing is lost, nothing is counted twice."""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path

from sandboxes.errors import SandboxLost
from sandboxes.fake import FakeProvider


def resident_pages() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


def test_five_hundred_trials_are_each_graded_and_recorded_once(bench):
    mending, questions = [f"m{n}" for n in range(5)], [f"q{n}" for n in range(5)]
    runs = bench(*mending, questions=tuple(questions))
    preds = runs.folder / "preds.json"
    preds.write_text(
        json.dumps({task: {"model_patch": "", "response": "right"} for task in mending + questions})
    )

    summary = runs.run(f"predictions:{preds}", repeats=50, slots=2)

    assert (summary.planned, summary.counts["passed"], summary.counts["failed"]) == (500, 250, 250)
    assert len({(r.trial, r.attempt) for r in runs.records}) == len(runs.records) == 500
    assert {(r.task[0], r.status) for r in runs.records} == {("m", "failed"), ("q", "passed")}


def test_nothing_piles_up_over_many_trials(bench):
    runs = bench("word")
    runs.run("noop", repeats=20)
    gc.collect()
    threads, objects, pages = threading.active_count(), len(gc.get_objects()), resident_pages()

    runs.run("noop", repeats=520)
    gc.collect()

    assert threading.active_count() == threads
    assert len(gc.get_objects()) - objects < 3 * 500
    assert resident_pages() - pages < 4000  # 16 MB
    assert runs.provider.open_rooms == 0


def test_a_before_state_is_asked_once_for_all_trials_of_a_task(bench):
    runs = bench("word")

    runs.run("gold", repeats=10)

    assert runs.provider.counts["run"] == 1 + 10


def test_lost_rooms_cost_attempts_but_never_a_verdict(bench):
    runs = bench("word")
    calls = {f"run:{n}": SandboxLost("pulled the plug") for n in range(2, 100, 7)}
    runs.provider = FakeProvider(faults=calls)

    summary = runs.run("gold", "noop", repeats=20, slots=2, retries=5)

    assert summary.counts["errored"] == 0
    assert {(r.agent.name, r.status) for r in runs.records if r.final} == {
        ("gold", "passed"),
        ("noop", "failed"),
    }
    tried_again = [r for r in runs.records if not r.final]
    assert tried_again and all(r.status == "errored" and r.score is None for r in tried_again)
