from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cli.show import command, find
from orchestrator.documents.record import ChangeRecord, OutcomeRecord, PhaseTime, TrialRecord, VerdictRecord
from orchestrator.errors import AuthoringError
from orchestrator.plan import Plan
from orchestrator.store import RunHeader, Store

PATCH = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new \x1b[31m\n"


@pytest.fixture
def run(tmp_path: Path, make_plan: Callable[..., Plan], make_record: Callable[..., TrialRecord]) -> Path:
    plan = make_plan(["csv_quotes", "csv_other"], ["gold"])
    folder = tmp_path / "run"
    with Store.create(RunHeader.begin("demo", plan.to_json()), folder) as store:
        first, second = plan.trials
        number, place = store.begin_attempt(first.trial)
        (place / "change.patch").write_bytes(PATCH)
        outcome = OutcomeRecord(
            id="tests",
            kind="command",
            status="failed",
            score=0.0,
            passed=False,
            reason="exit code 1",
            details={"exit_code": 1, "stdout": "line one\nline two"},
        )
        record = make_record(
            first,
            "failed",
            attempt=number,
            reason="tests: exit code 1",
            verdict=VerdictRecord(
                rubric="rubric/r@1.0", score=0.0, passed=False, reason="1 of 1 failed", outcomes=(outcome,)
            ),
            change=ChangeRecord(
                sha256="0" * 64, bytes=len(PATCH), files=("x",), touched_protected=("tests/test_a.py",)
            ),
            phases=(PhaseTime(phase="grade", started=0.1, seconds=0.4, peak_memory=1 << 20),),
            artifacts={
                "change.patch": f"trials/{first.trial}/{number}/change.patch",
                "up": "../../etc/passwd",
            },
        )
        store.append(record)
        store.append(make_record(second))
    return folder


def test_one_page_tells_everything_about_a_trial(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(run, "csv_quotes")

    page = capsys.readouterr().out
    for told in (
        "failed",
        "tests: exit code 1",
        "line two",
        "grade",
        "peak 1.0 MiB",
        "put back before grading: tests/test_a.py",
        "+new \\x1b[31m",
        "grade 0 of 5",
    ):
        assert told in page
    assert "\x1b" not in page


def test_a_record_cannot_point_out_of_its_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command(run, "csv_quotes")

    assert "root:" not in capsys.readouterr().out


def test_enough_of_the_name_is_enough(run: Path) -> None:
    assert find(run, "csv_o", None).task == "csv_other"
    assert find(run, "csv_quotes.gold.1", 1).task == "csv_quotes"


@pytest.mark.parametrize(
    ("wanted", "attempt", "said"),
    [
        ("csv", None, 'several trials fit "csv"'),
        ("nothing", None, "no trial fits"),
        ("csv_quotes", 7, "has no attempt 7; it has 1"),
    ],
)
def test_an_unclear_name_says_what_there_is(run: Path, wanted: str, attempt: int | None, said: str) -> None:
    with pytest.raises(AuthoringError, match=said):
        find(run, wanted, attempt)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(AuthoringError, match="is not a run folder"):
        find(tmp_path, "x", None)


def test_what_a_command_said_is_printed_once(
    tmp_path: Path,
    make_plan: Callable[..., Plan],
    make_record: Callable[..., TrialRecord],
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = make_plan(["csv_quotes"], ["command:./solve.sh\n--fast " + "x" * 80])
    said = "Traceback of the tool\nModuleNotFoundError: pluggy"
    outcome = OutcomeRecord(
        id="tests",
        kind="command",
        status="failed",
        score=0.0,
        passed=False,
        reason="exit code 1",
        details={"stderr": said, "evidence": said},
    )
    verdict = VerdictRecord(rubric="r@1", score=0.0, passed=False, reason="1 of 1", outcomes=(outcome,))
    with Store.create(RunHeader.begin("demo", plan.to_json()), tmp_path / "run") as store:
        trial = plan.trials[0]
        number, place = store.begin_attempt(trial.trial)
        (place / "log").write_text(said + "\n")
        kept = {"log": f"trials/{trial.trial}/{number}/log"}
        store.append(make_record(trial, "failed", attempt=number, verdict=verdict, artifacts=kept))

    command(tmp_path / "run", "csv_quotes")

    page = capsys.readouterr().out
    assert page.count("ModuleNotFoundError") == 1
    assert page.count("(as above, under stderr)") == 2
    assert "agent        command:./solve.sh --fast xxx" in page
    assert "x" * 60 not in page


def test_a_long_name_does_not_hide_why_it_was_refused(run: Path) -> None:
    with pytest.raises(AuthoringError) as told:
        find(run, "no such\n" + "y" * 5000, None)

    assert len(str(told.value)) < 400
    assert "it has: " in str(told.value)
