from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from orchestrator.cli import tables, words
from orchestrator.documents.record import TrialRecord, VerdictRecord
from orchestrator.errors import EXIT_FAILED, EXIT_HARNESS, EXIT_INFRASTRUCTURE, EXIT_OK
from orchestrator.plan import Plan
from orchestrator.report import Report, as_json, summarise

MakePlan = Callable[..., Plan]
MakeRecord = Callable[..., TrialRecord]


def test_counts_are_exclusive_and_add_up_to_the_plan(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a", "b", "c"], ["gold", "noop"])
    statuses = ["passed", "failed", "unscored", "errored", "invalid"]
    records = [make_record(job, status) for job, status in zip(plan.trials, statuses, strict=False)]

    report = summarise(records, plan)

    assert report.counts == dict.fromkeys([*statuses, "not_run"], 1)
    assert sum(report.counts.values()) == report.planned == 6


def test_what_has_no_score_is_left_out_of_the_mean(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a", "b", "c"], ["gold"])
    records = [
        make_record(plan.trials[0], "passed"),
        make_record(plan.trials[1], "failed", score=0.5),
        make_record(plan.trials[2], "errored", end="engine_gone"),
    ]

    (line,) = summarise(records, plan).agents

    assert (line.pass_rate, line.mean_score) == (0.5, 0.75)


@pytest.mark.parametrize(("lost", "shown"), [(1, True), (2, False)])
def test_where_too_many_trials_were_lost_no_rate_is_a_headline(
    make_plan: MakePlan, make_record: MakeRecord, lost: int, shown: bool
) -> None:
    plan = make_plan([f"t{n}" for n in range(10)], ["gold"])
    records = [make_record(trial, "passed") for trial in plan.trials[lost:]]
    records += [make_record(trial, "errored", end="engine_gone") for trial in plan.trials[:lost]]

    report = summarise(records, plan)

    assert report.agents[0].headline is shown
    assert ("no rate is shown" in " ".join(report.warnings)) is not shown


def test_an_agent_without_any_graded_trial_has_no_rate(make_plan: MakePlan) -> None:
    (line,) = summarise([], make_plan(["a"], ["gold"])).agents

    assert line.pass_rate is None
    assert line.mean_score is None


def test_the_last_attempt_decides_and_all_are_counted(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a"], ["gold"])
    job = plan.trials[0]
    lost = make_record(job, "errored", end="sandbox_lost", final=False)
    passed = make_record(job, "passed", attempt=2)

    (row,) = summarise([passed, lost], plan).rows

    assert (row.status, row.attempts) == ("passed", 2)


def test_a_trial_cut_short_while_it_was_tried_again_was_not_run(
    make_plan: MakePlan, make_record: MakeRecord
) -> None:
    plan = make_plan(["a"], ["gold"])
    lost = make_record(plan.trials[0], "errored", end="sandbox_lost", final=False)

    report = summarise([lost], plan)

    assert report.rows[0].status == "not_run"
    assert report.rows[0].score is None


def test_the_gravest_owner_decides_the_exit_code(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a", "b"], ["gold"])
    first, second = plan.trials

    def code(*records: TrialRecord) -> int:
        return summarise(records, plan).exit_code

    assert code(make_record(first), make_record(second)) == EXIT_OK
    assert code(make_record(first), make_record(second, "failed")) == EXIT_FAILED
    assert code(make_record(first, "failed"), make_record(second, "errored")) == EXIT_INFRASTRUCTURE
    broken = make_record(second, "errored", end="harness_error")
    assert code(make_record(first, "errored"), broken) == EXIT_HARNESS


def test_equal_records_give_an_equal_report_in_any_order(
    make_plan: MakePlan, make_record: MakeRecord
) -> None:
    plan = make_plan(["a", "b", "c"], ["gold", "noop"], repeats=2)
    records = [make_record(job, "failed" if job.agent == "noop" else "passed") for job in plan.trials]

    assert as_json(summarise(records, plan)) == as_json(summarise(reversed(records), plan))


def test_records_of_another_plan_are_ignored(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan, other = make_plan(["a"], ["gold"]), make_plan(["z"], ["gold"])

    report = summarise([make_record(other.trials[0], "failed")], plan)

    assert report.counts["failed"] == 0


def test_the_json_names_each_trial_and_its_fate(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a"], ["gold"])

    document = as_json(summarise([make_record(plan.trials[0])], plan))

    (trial,) = document["trials"]
    wanted = {"task": "a", "agent": "gold", "repeat": 1, "status": "passed", "score": 1.0, "passed": True}
    assert wanted.items() <= trial.items()
    assert trial["reason"] == "because it passed"
    assert document["counts"]["planned"] == 1


LONG = "predictions:benchmarks/quickstart/candidates/wrong_fix.jsonl"


def screen(report: Report, monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    """What `print_report` draws on a terminal `width` columns wide."""
    seen = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width, highlight=False)
    monkeypatch.setattr(tables, "console", lambda: seen)
    tables.print_report(report, "runs/r")
    return seen.file.getvalue().splitlines()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_reason_is_readable_however_narrow_the_terminal_is(
    make_plan: MakePlan, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    plan = make_plan(["fewer_comparisons"], ["gold", LONG])
    records = [make_record(job, "failed", reason="tests: exit code 1 (1 of 6)") for job in plan.trials]

    lines = screen(summarise(records, plan), monkeypatch, width)

    assert sum("tests: exit code 1 (1 of 6)" in line for line in lines) == 2
    assert sum("failed " in line and "0.50s" in line for line in lines) == 2
    assert max(map(len, lines)) <= width


def test_a_script_of_many_lines_is_one_short_name_in_a_table() -> None:
    script = "command:cd /workspace\n./first\n" + "x" * 100

    first, second = words.short_names([script + "a", script + "b"]).values()

    assert first != second
    assert "\n" not in first
    assert len(first) <= words.AGENT_WIDTH + 4


def test_what_rubrics_were_warned_of_is_told_once(make_plan: MakePlan, make_record: MakeRecord) -> None:
    plan = make_plan(["a", "b", "c"], ["mine"])
    verdict = VerdictRecord(
        rubric="rubric/r@1.0",
        score=1.0,
        passed=True,
        reason="",
        outcomes=(),
        warnings=(
            "scoring.weights.z matches no check id and changes nothing",
            "rubric/s@1.0: it is disabled",
        ),
    )
    fields = ({"verdict": verdict}, {"verdict": verdict}, {"ref_unresolved": True})
    records = [make_record(job, **more) for job, more in zip(plan.trials, fields, strict=True)]

    assert summarise(records, plan).warnings == (
        "rubric/r@1.0 names no enabled rubric: c was graded without it",
        "rubric/r@1.0: scoring.weights.z matches no check id and changes nothing",
        "rubric/s@1.0: it is disabled",
    )
