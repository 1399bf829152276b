"""One run of a command in a room, with what its test runner reported, and what can be wrong with that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.checks.causes import Cause, clip, last_words, printable
from orchestrator.contract import StepResult
from orchestrator.evidence import describe
from orchestrator.testreports import TestReport


@dataclass(frozen=True)
class Run:
    result: StepResult
    report: TestReport | None
    """None when no reporter knows the command."""

    @property
    def reported(self) -> TestReport | None:
        """The report, where one was left at all."""
        return None if self.report is None or self.report.end == "report_missing" else self.report

    def facts(self) -> dict[str, Any]:
        facts = describe(self.result)
        if self.report is not None:
            facts["report"] = {
                "end": self.report.end,
                "tool": self.report.tool,
                "counts": self.report.counts,
                "problems": [clip(printable(p), 300) for p in self.report.problems],
            }
        return facts


def report_problem(report: TestReport) -> Cause | None:
    """Why the run is no result at all; None when it is one."""
    if report.end == "graded":
        return None
    words = "; ".join(report.problems) or report.end.replace("_", " ")
    end = "run_incomplete" if report.end == "report_missing" else report.end
    return Cause(end, report.end, f"the test run is no result: {clip(printable(words), 400)}")


def disagreement(run: Run) -> Cause | None:
    """Exit code and report against each other (C-8)."""
    text = run.report.disagreement(run.result.done.exit_code or 0) if run.report else ""
    return Cause("graded", "exit_and_report_disagree", printable(text)) if text else None


def only_collection(report: TestReport) -> Cause | None:
    """Tests that cannot even be imported say nothing about the fault (C-8)."""
    broken = [i for i, status in report.collection.items() if status == "error"]
    if not broken or any(report.counts.get(word) for word in ("failed", "error")):
        return None
    where = clip(printable(broken[0]), 200)
    return Cause("run_incomplete", "collection_error", f"collection error in {where}")


def quoted(run: Run) -> str:
    """ ": " and the command's last words, where it had any."""
    words = last_words(run.result)
    return f": {words}" if words else ""


def named_failures(report: TestReport | None) -> str:
    """ " (2 of 14 tests went wrong: a, b)" for a plain non-zero exit."""
    if report is None or not report.went_wrong:
        return ""
    wrong = report.went_wrong
    names = ", ".join(clip(printable(i), 200) for i in wrong[:3]) + (", ..." if wrong[3:] else "")
    return f" ({len(wrong)} of {len(report.statuses)} went wrong: {names})"
