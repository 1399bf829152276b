from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.live import Board, Lines
from orchestrator.cli.machine import Machine
from orchestrator.cli.pace import Pace, learn, learn_meanwhile
from orchestrator.documents.record import TrialRecord
from orchestrator.plan import Plan
from tests.pages.made import make_run
from tests.unit.cli.test_live import seen

MakePlan = Callable[..., Plan]
MakeRecord = Callable[..., TrialRecord]


@pytest.fixture
def plan(make_plan: MakePlan) -> Plan:
    return make_plan([f"t{n}" for n in range(8)], ["gold"])


def test_nothing_is_said_before_there_is_something_to_say(plan: Plan) -> None:
    pace = Pace(plan.trials, 2)

    assert pace.per_minute(10) is None
    assert pace.remaining(10, {}) is None


def test_what_is_left_is_shared_by_the_slots(plan: Plan) -> None:
    pace = Pace(plan.trials, 2)
    pace.known = {(f"t{n}", "gold"): 10.0 for n in range(8)}

    assert pace.remaining(0, {}) == 40


def test_no_run_is_done_before_its_longest_trial(plan: Plan) -> None:
    pace = Pace(plan.trials, 100)
    pace.known = {(f"t{n}", ""): 10.0 * (n + 1) for n in range(8)}

    assert pace.remaining(0, {}) == 80


def test_time_at_work_counts_and_a_late_trial_still_takes_some(plan: Plan) -> None:
    pace = Pace(plan.trials[:2], 2)
    pace.known = {("t0", "gold"): 10.0, ("t1", "gold"): 10.0}

    assert pace.remaining(4, {plan.trials[0].trial: 4.0, plan.trials[1].trial: 9.9}) == 6
    assert pace.remaining(60, {plan.trials[0].trial: 60.0, plan.trials[1].trial: 60.0}) == 1


def test_without_earlier_runs_the_rate_so_far_tells(plan: Plan) -> None:
    pace = Pace(plan.trials, 1)

    for job in plan.trials[:4]:
        pace.ended(job.trial, 5.0)

    assert pace.per_minute(60) == 4
    assert pace.remaining(60, {}) == 60


def test_earlier_runs_of_the_same_benchmark_tell_what_a_task_takes(tmp_path: Path) -> None:
    def takes(seconds: float) -> Callable[[TrialRecord, dict[str, bytes]], TrialRecord]:
        return lambda record, kept: record.model_copy(
            update={"seconds": seconds, "status": "passed", "final": True}
        )

    make_run(tmp_path / "a", ["x"], ["gold"], twist=takes(10))
    make_run(tmp_path / "b", ["x"], ["gold"], twist=takes(20), seed=2)
    make_run(tmp_path / "c", ["x"], ["gold"], twist=takes(900), seed=3, benchmark="another")
    own = make_run(tmp_path / "d", ["x"], ["gold"], twist=takes(5000), seed=4)
    (tmp_path / "stray").mkdir()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{")
    (tmp_path / "bad" / "records.jsonl").write_text("")

    known = learn(tmp_path, "real_fixes", own)

    assert known == {("x", "gold"): 15, ("x", ""): 15}


def test_what_cannot_be_read_stops_nobody(plan: Plan, tmp_path: Path) -> None:
    pace = Pace(plan.trials, 1)

    learn_meanwhile(pace, tmp_path / "nothing", "demo", tmp_path).join()

    assert pace.known == {}


def test_the_board_says_how_fast_and_how_long_still(plan: Plan, make_record: MakeRecord) -> None:
    now = [0.0]
    board = Board("demo", 8, clock=lambda: now[0], pace=Pace(plan.trials, 1))

    for job in plan.trials[:4]:
        board.started(job)
        now[0] += 15
        board.finished(job, make_record(job, "passed"))

    assert "4 trials a minute, about 1m00s left" in seen(board)


def test_lines_say_now_and_then_how_far_the_run_is(plan: Plan, make_record: MakeRecord) -> None:
    now = [0.0]
    written: list[str] = []
    lines = Lines(8, written.append, Pace(plan.trials, 1), clock=lambda: now[0])

    for job in plan.trials:
        lines.started(job)
        now[0] += 16
        lines.finished(job, make_record(job, "passed"))

    told = [line for line in written if "left" in line]
    assert len(told) == 3
    assert "trials a minute, about" in told[-1]
    assert not written[-1].startswith("    ")


def test_the_machines_load_is_told_from_the_kernels_counters(tmp_path: Path) -> None:
    now = [0.0]
    (tmp_path / "meminfo").write_text("MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n")
    (tmp_path / "stat").write_text("cpu 100 0 100 800 0 0 0 0\n")
    machine = Machine(lambda: now[0], tmp_path)

    machine.said()
    now[0] = 2
    (tmp_path / "stat").write_text("cpu 160 0 115 825 0 0 0 0\n")

    assert machine.said() == "cpu 75 %, memory 2.0 of 8.0 GiB"


def test_a_kernel_that_tells_nothing_is_no_trouble(tmp_path: Path) -> None:
    assert Machine(lambda: 0.0, tmp_path).said() == ""
