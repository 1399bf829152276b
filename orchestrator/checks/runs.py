"""One run of a command in a room, with what its test runner reported, and what can be wrong with that."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from orchestrator.checks.causes import Cause, clip, is_test_failure, last_words, printable
from orchestrator.contract import Judge, Step, StepResult
from orchestrator.evidence import describe
from orchestrator.testreports import FAILING, PASSING, Reporter, TestReport
from orchestrator.testreports.jsonlines import keys_in_files
from sandboxes.spec import Command


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
            if self.report.changed:
                facts["report"]["changed"] = [clip(printable(name), 200) for name in self.report.changed]
        return facts


@dataclass(frozen=True)
class Question:
    """One command that the judge's rooms are asked, before the change or after it."""

    judge: Judge
    command: str
    profile: str | None
    reporter: Reporter | None

    def before(self) -> Run:
        # No code of the candidate runs there, and a fixed token lets equal questions be asked once.
        return self._run("before")

    def after(self) -> Run:
        return self._run(secrets.token_hex(16), after=True)

    def against(self, after: Run, before: Run | None = None) -> Cause | None:
        """What its report has against a run that exits 0; None when there is nothing, or no report to expect.
        The before run is made only where the answer hangs on it."""
        if after.report is None:
            return None
        if after.reported is None:
            # Only a command that reports on the untouched state can be expected to report here.
            return None if (before or self.before()).reported is None else _NO_REPORT
        problem = report_problem(after.report) or disagreement(after) or self.tampering(after, before)
        if problem is not None or not (before or _left_out(after.report)):
            return problem
        return dodged((before or self.before()).reported, after.report)

    def tampering(self, after: Run, before: Run | None = None) -> Cause | None:
        """What the code under test did to the test runner, and does not without the change."""
        if after.report is None or not (after.report.changed or after.report.hooks):
            return None
        return tampered((before or self.before()).reported, after.report)

    def _run(self, token: str, *, after: bool = False) -> Run:
        if self.reporter is None:
            step = Step(Command(self.command))
        else:
            step = self.reporter.step(self.command, self.judge.env, token)
            step = keys_in_files(step, token) if after else step
        ask = self.judge.after if after else self.judge.before
        result = ask(step, profile=self.profile)[0]
        return Run(result, self.reporter.read(result, token) if self.reporter else None)


_NO_REPORT = Cause(
    "run_incomplete",
    "run_incomplete",
    "the test runner left no report, though it does without the change: it never came to its end",
)
_UNRUN = ("skipped", "not_run", "xfailed")


def dodged(before: TestReport | None, after: TestReport) -> Cause | None:
    """Tests that ran without the change and no longer do with it: code under test can skip its own tests, or
    excuse them with an expected failure, and a test that did not run has not passed (C-8)."""
    if before is None:
        return None
    hidden = any(s == "skipped" != before.collection.get(i) for i, s in after.collection.items())
    found = []
    for test_id, was in before.statuses.items():
        now = after.status(test_id)
        gone = now == "missing" and (hidden or was in FAILING)
        if was in PASSING | FAILING and (gone or (now in _UNRUN and now != was)):
            found.append((test_id, now))
    if not found:
        return None
    test_id, now = found[0]
    which = f"{clip(printable(test_id), 200)} is {now.replace('_', ' ')}"
    more = f", and {len(found) - 1} more" if found[1:] else ""
    return Cause("graded", "tests_dodged", f"tests that run without the change do not with it: {which}{more}")


def tampered(before: TestReport | None, after: TestReport) -> Cause | None:
    """A runner that was patched from inside proves nothing; what happens without the change as well is the
    project's own habit. Hooks are compared only where the run before came to its end and showed its own."""
    habits = (*before.changed, *before.hooks) if before else ()
    hooks = after.hooks if before and before.exit_statuses else ()
    found = [name for name in (*after.changed, *hooks) if name not in habits]
    if not found:
        return None
    names = ", ".join(clip(printable(name), 200) for name in found[:3]) + (", ..." if found[3:] else "")
    text = f"the code under test changed the test runner: {names}"
    return Cause("run_incomplete", "runner_changed", text)


def _left_out(report: TestReport) -> bool:
    """Whether some test did not run, or is excused."""
    return any(s in _UNRUN for s in (*report.statuses.values(), *report.collection.values()))


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
    """ ": " and the command's last words, where it had any; before them, that no test explains a non-zero
    exit (B079)."""
    words = last_words(run.result)
    graded = run.reported is not None and run.reported.end == "graded"
    odd = graded and is_test_failure(run.result) and disagreement(run) is not None
    unexplained = ", though its test report says that nothing failed" if odd else ""
    return unexplained + (f": {words}" if words else "")


def named_failures(report: TestReport | None) -> str:
    """ " (2 of 14 tests went wrong: a, b)" for a plain non-zero exit."""
    if report is None or not report.went_wrong:
        return ""
    wrong = report.went_wrong
    names = ", ".join(clip(printable(i), 200) for i in wrong[:3]) + (", ..." if wrong[3:] else "")
    return f" ({len(wrong)} of {len(report.statuses)} went wrong: {names})"
