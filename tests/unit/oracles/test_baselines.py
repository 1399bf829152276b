"""What a score_delta is held against, when it is not the state before the change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analyzers.number import Number
from orchestrator.analyzers.phpcs import Phpcs
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.contract import Context
from orchestrator.documents.record import AgentRecord, OutcomeRecord, TrialRecord, VerdictRecord
from orchestrator.errors import TaskInvalid
from orchestrator.store import RunHeader, Store
from sandboxes.fake import FakeRoom
from sandboxes.spec import Command

from .test_score_delta import Phpstanish, number, phpcs, phpcs_script, suppressing, tree


@pytest.fixture
def run(make_judge: Callable[..., Any]) -> Callable[..., Any]:
    """run(check, root=folder, task="t", ...) -> CheckOutcome."""

    def execute(check: Any, root: Path | None = None, task: str = "t", **judge: Any) -> Any:
        tools = {"number": Number(), "phpcs": Phpcs(), "phpstanish": Phpstanish()}
        context = Context({"id": task}, make_judge(**judge), root=root)
        return ScoreDeltaExecutor(tools).execute(check, "", context)

    return execute


def measurement(value: float, **fields: Any) -> dict[str, Any]:
    facts = {"tool": "number", "value": value, "higher_is_better": True, "unit": "points"}
    return facts | fields


def ran(folder: Path, *trials: tuple[str, str, dict[str, Any]], check: str = "s") -> None:
    """A run in which each (task, agent, measurement) was seen."""
    with Store.create(RunHeader.begin("demo", {}), folder) as store:
        for task, agent, measured in trials:
            outcome = OutcomeRecord(
                id=check,
                kind="score_delta",
                status="passed",
                score=1.0,
                passed=True,
                reason="",
                details={"measurement": measured},
            )
            verdict = VerdictRecord(rubric="r", score=1.0, passed=True, reason="", outcomes=(outcome,))
            store.append(
                TrialRecord(
                    trial=f"{task}.{agent}.1",
                    attempt=1,
                    final=True,
                    benchmark="demo",
                    benchmark_version="1",
                    task=task,
                    agent=AgentRecord(name=agent),
                    repeat=1,
                    status="passed",
                    end="graded",
                    score=1.0,
                    reason="",
                    rubric_ref=None,
                    verdict=verdict,
                    started_at="2026-01-01T00:00:00+00:00",
                    seconds=0.1,
                )
            )


STATES: dict[str, Any] = {"before": {"state": "no number"}, "after": {"state": "7"}}


def test_another_run_of_the_task_can_be_the_baseline(run: Callable[..., Any], tmp_path: Path) -> None:
    ran(tmp_path / "runs/old", ("t", "gold", measurement(4)), ("other", "gold", measurement(6)))

    outcome = run(number(3, baseline={"run": "runs/old"}), tmp_path, **STATES)

    assert outcome.passed
    assert (outcome.details["before"], outcome.details["delta"]) == (4.0, 3.0)
    assert outcome.details["baseline"]["trial"] == "t.gold.1"


def test_agent_trial_and_check_say_which_measurement_is_meant(
    run: Callable[..., Any], tmp_path: Path
) -> None:
    ran(tmp_path / "old", ("t", "gold", measurement(4)), ("t", "noop", measurement(1)), check="other")

    by_agent = run(number(baseline={"run": "old", "agent": "noop", "check": "other"}), tmp_path, **STATES)
    by_trial = run(number(baseline={"run": "old", "trial": "t.gold.1", "check": "other"}), tmp_path, **STATES)

    assert (by_agent.details["before"], by_trial.details["before"]) == (1.0, 4.0)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"run": "nowhere"}, "not there"),
        ({"run": "old"}, "name the agent or one of t.gold.1, t.noop.1"),
        ({"run": "old", "agent": "codex"}, "gives no measurement: run old, task t, check s"),
        ({"run": "old", "agent": "gold", "check": "x"}, "gives no measurement"),
        ({"run": "old", "agent": "gold"}, "unit 'feet' against 'points'"),
    ],
    ids=str,
)
def test_a_run_that_gives_no_fitting_measurement_is_nobodys_score(
    run: Callable[..., Any], tmp_path: Path, fields: dict[str, str], says: str
) -> None:
    ran(tmp_path / "old", ("t", "gold", measurement(4, unit="feet")), ("t", "noop", measurement(1)))

    with pytest.raises(TaskInvalid, match=says):
        run(number(baseline=fields), tmp_path, **STATES)


def test_deleting_a_bad_file_mends_nothing_against_a_number_either(run: Callable[..., Any]) -> None:
    before = {"bad.php": [("R", 5), ("R", 6)], "good.php": [("S", 5)]}
    sides: dict[str, Any] = {"before": tree(before), "after": tree({"good.php": [("S", 5)]})}

    outcome = run(phpcs(1) | {"baseline": 3}, script=phpcs_script, **sides)

    assert not outcome.passed
    assert (outcome.details["before"], outcome.details["after"], outcome.details["delta"]) == (3.0, 1.0, 0.0)
    assert outcome.details["files_left"] == ["bad.php"]


def test_hiding_findings_mends_nothing_against_a_number_either(run: Callable[..., Any]) -> None:
    before, after = suppressing("a.php", 3, "@phpstan-ignore-next-line")
    after = {"a.php": after["a.php"].replace("line 5", "x(); // @phpstan-ignore-line")}

    check = phpcs(2, tool="phpstanish") | {"baseline": 2}
    outcome = run(check, script=phpcs_script, before=before, after=after)

    assert not outcome.passed
    assert outcome.details["delta"] < 2.0


def test_new_findings_are_told_apart_from_old_ones_against_a_number(run: Callable[..., Any]) -> None:
    before, after = tree({"a.php": [("R", 5), ("S", 6)]}), tree({"a.php": [("R", 5), ("T", 6)]})

    kept = run(phpcs(0, mode="no_new") | {"baseline": 9}, script=phpcs_script, before=before, after=before)
    new = run(phpcs(0, mode="no_new") | {"baseline": 9}, script=phpcs_script, before=before, after=after)

    assert kept.passed
    assert new.details["cause"] == "new_findings"
    assert new.details["matched"]["new"] == 1


@pytest.mark.parametrize(("fields", "commands"), [({}, 2), ({"baseline": 1}, 1)], ids=["setup", "a number"])
def test_each_side_that_is_measured_costs_one_command(
    run: Callable[..., Any], fields: dict[str, Any], commands: int
) -> None:
    ran: list[Command] = []

    def script(room: FakeRoom, command: Command) -> Any:
        ran.append(command)
        return phpcs_script(room, command)

    before, after = tree({"a.php": [("R", 5)]}), tree({"a.php": []})
    assert run(phpcs(1) | fields, script=script, before=before, after=after).passed

    assert len(ran) == commands
