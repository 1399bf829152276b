"""A command's exit, and the tests it ran: the `command` check (rules 108 to 117, C-7 to C-10, C-14, C-15).

exit_zero: the command exits 0 once the change is in. test_transitions: it fails before and passes after;
test by test when the task lists expected.fail_to_pass or expected.pass_to_pass. Where the command runs a
test runner we can read, a run that says 0 without having come to its end never passes.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NoReturn, get_args

from orchestrator.checks import transitions
from orchestrator.checks.causes import Cause, cause_of, clip, is_test_failure, last_words, printable
from orchestrator.checks.transitions import Wanted
from orchestrator.contract import Check, Context, Judge, Step, StepResult
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import UnknownProfile, describe
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped
from orchestrator.testreports import Reporter, TestReport, built_in
from sandboxes.spec import Command

Expect = Literal["exit_zero", "test_transitions"]
NOTHING: Mapping[str, Any] = MappingProxyType({})
SETUPS = ("none", "revert_fix", "apply_patch")


class CommandExecutor:
    """Runs `command` checks in the judge's rooms. `reporters` read test runners, asked in order."""

    needs = frozenset({"judge"})

    def __init__(self, reporters: Sequence[Reporter] | None = None) -> None:
        self._reporters = tuple(built_in() if reporters is None else reporters)

    def applies(self, check: Check) -> bool:
        return check.get("kind") == "command"

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        judge = context.judge
        if judge is None:
            return skipped(check, "a command needs the rooms of a task with an environment")
        try:
            oracle = self._oracle(check, judge)
            if oracle.expect == "exit_zero":
                return oracle.exit_zero()
            wanted = _wanted(judge)
            return oracle.each_test(wanted) if wanted else oracle.turns_green()
        except (_Mistake, UnknownProfile) as mistake:
            return failed(check, str(mistake), cause="authoring")

    def _oracle(self, check: Check, judge: Judge) -> _Oracle:
        command = _shell_command(check, "command")
        expect = check.get("expect", "exit_zero")
        if expect not in get_args(Expect):
            raise _Mistake(f"expect is {expect!r}; it must be exit_zero or test_transitions")
        setup = check.get("setup", judge.setup)
        if setup not in SETUPS:
            raise _Mistake(f"setup is {setup!r}; it must be one of {', '.join(SETUPS)}")
        if setup != judge.setup:
            raise _Mistake(f"setup is {setup}, but the task is set up with {judge.setup}")
        reporter = next((r for r in self._reporters if r.recognises(command)), None)
        return _Oracle(check, judge, command, _profile(check), expect, reporter)


class _Mistake(Exception):
    """The check itself is wrong; str() says how (C-50)."""


@dataclass(frozen=True)
class _Run:
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


@dataclass(frozen=True)
class _Oracle:
    """One check, parsed, and the judge that answers it."""

    check: Check
    judge: Judge
    command: str
    profile: str | None
    expect: Expect
    reporter: Reporter | None

    def exit_zero(self) -> CheckOutcome:
        after = self._after()
        return self._settled(after) or self._passed(after, "the command exits 0")

    def turns_green(self) -> CheckOutcome:
        """test_transitions by exit code, and by the report where there is one."""
        before = self._before()
        self._refuse_unless_failing(before)
        after = self._after()
        facts = {"before": before.facts()}
        outcome = self._settled(after, before, facts)
        return outcome or self._passed(after, "failed before the change, passes with it", facts)

    def each_test(self, wanted: Wanted) -> CheckOutcome:
        """test_transitions by the task's lists."""
        if self.reporter is None or not self.reporter.names_tests:
            shown = clip(self.command, 120)
            raise TaskInvalid(f"the task lists tests, but no reader knows the tests run by {shown!r}")
        before = self._before()
        told = self._refuse_unless_as_listed(before, wanted)
        after = self._after()
        report = after.report or TestReport("report_missing")
        facts = {"before": before.facts(), **transitions.table(wanted, told, report)}
        short = transitions.short_after(wanted, report)
        tests = f"of {len(wanted.ids)} listed tests {transitions.sentence(short, report)}"
        problem = self._end_problem(after) or _report_problem(report)
        if problem is not None:
            return self._failed(after, problem, facts, f"; {tests}" if short else "")
        if short:
            return self._failed(after, Cause("graded", "tests_short", tests), facts)
        against = _disagreement(after)
        if against is not None:
            return self._failed(after, against, facts)
        return self._passed(after, _all_hold(wanted, report), facts)

    def _before(self) -> _Run:
        # No code of the candidate runs there, and a fixed token lets equal questions be asked once.
        return self._run("before")

    def _after(self) -> _Run:
        return self._run(secrets.token_hex(16), after=True)

    def _run(self, token: str, *, after: bool = False) -> _Run:
        if self.reporter is None:
            step = Step(Command(self.command))
        else:
            step = self.reporter.step(self.command, self.judge.env, token)
        ask = self.judge.after if after else self.judge.before
        result = ask(step, profile=self.profile)[0]
        return _Run(result, self.reporter.read(result, token) if self.reporter else None)

    def _settled(
        self, after: _Run, before: _Run | None = None, facts: Mapping[str, Any] = NOTHING
    ) -> CheckOutcome | None:
        """A failed outcome when exit code or report say so; None when both are content."""
        cause = cause_of(after.result)
        if cause is not None:
            words = _named_failures(after.reported) or _quoted(after)
            return self._failed(after, _of_command(cause), facts, words)
        if after.report is None:
            return None
        if after.report.end == "report_missing":
            # Only a command that reports on the untouched state can be expected to report here.
            reports_before = (before or self._before()).reported is not None
            return self._failed(after, _NO_REPORT, facts) if reports_before else None
        problem = _report_problem(after.report) or _disagreement(after)
        return None if problem is None else self._failed(after, problem, facts)

    def _end_problem(self, run: _Run) -> Cause | None:
        """Ends that no test list can explain: a limit, a signal, a program that is not there."""
        cause = cause_of(run.result)
        return None if cause is None or is_test_failure(run.result) else _of_command(cause)

    def _refuse_unless_failing(self, before: _Run) -> None:
        cause = cause_of(before.result)
        if cause is None:
            self._refuse(before, "the command passes before the change, so passing after it proves nothing")
        elif not is_test_failure(before.result):
            why = f"before the change the command {cause.text}: not a failing test"
            self._refuse(before, why, quote=True)
        problem = before.report and (
            _report_problem(before.report) or _disagreement(before) or _only_collection(before.report)
        )
        if problem:
            self._refuse(
                before, f"before the change no test failed for its own reason: {problem.text}", quote=True
            )

    def _refuse_unless_as_listed(self, before: _Run, wanted: Wanted) -> TestReport:
        report = before.report or TestReport("report_missing")
        lenient = wanted.missing_before_ok is not False and report.end in ("run_incomplete", "nothing_ran")
        problem = self._end_problem(before) or (None if lenient else _report_problem(report))
        if problem is not None:
            self._refuse(before, f"before the change: {problem.text}", quote=True)
        wrong = transitions.wrong_before(wanted, report)
        if wrong:
            more = f" (and {len(wrong) - 3} more)" if wrong[3:] else ""
            self._refuse(before, "; ".join(wrong[:3]) + more)
        against = _disagreement(before)
        if against is not None and not lenient:
            hint = "a pipe or a list of commands may hide the runner's exit code"
            self._refuse(before, f"before the change: {against.text}; {hint}")
        return report

    def _refuse(self, before: _Run, reason: str, *, quote: bool = False) -> NoReturn:
        reason += f"; it said: {last_words(before.result)}" if quote and last_words(before.result) else ""
        raise TaskInvalid(reason, evidence=last_words(before.result, lines=10, limit=2000))

    def _failed(self, after: _Run, cause: Cause, facts: Mapping[str, Any], also: str = "") -> CheckOutcome:
        ended = {"end": cause.end, "cause": cause.cause}
        return failed(self.check, cause.text + also, **(dict(facts) | after.facts() | ended))

    def _passed(self, after: _Run, reason: str, facts: Mapping[str, Any] = NOTHING) -> CheckOutcome:
        if after.report is not None and after.reported is None:
            reason += "; note: by its exit code alone, the test runner leaves no report here"
        if after.reported is not None and not _RAN & after.reported.counts.keys():
            reason += "; note: no test really ran"
        return passed(self.check, reason, **(dict(facts) | after.facts() | {"end": "graded"}))


_RAN = {"passed", "xpassed", "xfailed"}
_NO_REPORT = Cause(
    "run_incomplete",
    "run_incomplete",
    "the test runner left no report, though it does without the change: it never came to its end",
)


def _wanted(judge: Judge) -> Wanted | None:
    try:
        return Wanted.from_expected(judge.expected)
    except ValueError as malformed:
        raise TaskInvalid(str(malformed)) from malformed


def _report_problem(report: TestReport) -> Cause | None:
    if report.end == "graded":
        return None
    words = "; ".join(report.problems) or report.end.replace("_", " ")
    end = "run_incomplete" if report.end == "report_missing" else report.end
    return Cause(end, report.end, f"the test run is no result: {clip(printable(words), 400)}")


def _disagreement(run: _Run) -> Cause | None:
    """Exit code and report against each other (C-8)."""
    text = run.report.disagreement(run.result.done.exit_code or 0) if run.report else ""
    return Cause("graded", "exit_and_report_disagree", printable(text)) if text else None


def _only_collection(report: TestReport) -> Cause | None:
    """Tests that cannot even be imported say nothing about the fault (C-8)."""
    broken = [i for i, status in report.collection.items() if status == "error"]
    if not broken or any(report.counts.get(word) for word in ("failed", "error")):
        return None
    where = clip(printable(broken[0]), 200)
    return Cause("run_incomplete", "collection_error", f"collection error in {where}")


def _of_command(cause: Cause) -> Cause:
    return replace(cause, text=f"the command {cause.text}")


def _quoted(run: _Run) -> str:
    words = last_words(run.result)
    return f": {words}" if words else ""


def _named_failures(report: TestReport | None) -> str:
    """ " (2 of 14 tests went wrong: a, b)" for a plain non-zero exit."""
    if report is None or not report.went_wrong:
        return ""
    wrong = report.went_wrong
    names = ", ".join(clip(printable(i), 200) for i in wrong[:3]) + (", ..." if wrong[3:] else "")
    return f" ({len(wrong)} of {len(report.statuses)} went wrong: {names})"


def _all_hold(wanted: Wanted, report: TestReport) -> str:
    text = f"{len(wanted.fail_to_pass)} tests turned green, {len(wanted.pass_to_pass)} stayed green"
    skips = transitions.skipped_but_ok(wanted, report)
    others = transitions.unlisted_failures(wanted, report)
    if skips:
        text += f"; {len(skips)} counted though skipped (skip_ok)"
    if others:
        text += f"; {len(others)} unlisted went wrong and do not count ({clip(printable(others[0]), 200)})"
    return text


def _shell_command(check: Check, key: str) -> str:
    value = check.get(key)
    if not isinstance(value, str) or not value.strip():
        raise _Mistake(f"{key} is {value!r}; it must be a shell command")
    if "\0" in value:
        raise _Mistake(f"{key} holds a NUL character, which no shell can be given")
    return value


def _profile(check: Check) -> str | None:
    value = check.get("sandbox")
    if value is not None and not isinstance(value, str):
        raise _Mistake(f"sandbox is {value!r}; it must be the name of a profile")
    return value
