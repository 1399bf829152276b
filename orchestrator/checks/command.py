"""A command's exit, and the tests it ran: the `command` check (rules 108 to 117, C-7 to C-10, C-14, C-15).

exit_zero: the command exits 0 once the change is in. test_transitions: it fails before and passes after;
test by test when the task lists expected.fail_to_pass or expected.pass_to_pass. Where the command runs a
test runner we can read, a run that says 0 without having come to its end never passes, nor one that skips
tests which run without the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NoReturn, get_args

from orchestrator.checks import transitions
from orchestrator.checks.causes import Cause, cause_of, clip, is_test_failure, last_words, printable
from orchestrator.checks.missing import never_there
from orchestrator.checks.runs import (
    Question,
    Run,
    disagreement,
    named_failures,
    only_collection,
    quoted,
    report_problem,
)
from orchestrator.checks.transitions import Wanted
from orchestrator.contract import Check, Context, Judge
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import UnknownProfile
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped
from orchestrator.testreports import Reporter, TestReport, built_in

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
        return _Oracle(check, judge, command, _profile(check), expect, self._reporter(check, command))

    def _reporter(self, check: Check, command: str) -> Reporter | None:
        """The one the check names, else the first that recognises the command."""
        name = check.get("report")
        if name is None:
            return next((r for r in self._reporters if r.recognises(command)), None)
        found = next((r for r in self._reporters if r.name == name), None)
        if found is None:
            known = ", ".join(sorted(r.name for r in self._reporters))
            raise _Mistake(f"report is {name!r}; it must be one of {known}")
        return found


class _Mistake(Exception):
    """The check itself is wrong; str() says how (C-50)."""


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
        if tool := never_there(self.command, self.judge, after.result, lambda: self._before().result):
            self._refuse(self._before(), f"the room has no {tool}, with or without the change")
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
            hint = "name one under report"
            raise TaskInvalid(f"the task lists tests, but no reader knows the tests run by {shown!r}; {hint}")
        before = self._before()
        told = self._refuse_unless_as_listed(before, wanted)
        after = self._after()
        report = after.report or TestReport("report_missing")
        facts = {"before": before.facts(), **transitions.table(wanted, told, report)}
        short = transitions.short_after(wanted, report)
        tests = f"of {len(wanted.ids)} listed tests {transitions.sentence(short, report)}"
        tampering = self._question.tampering(after, before)
        problem = self._end_problem(after) or tampering or report_problem(report)
        if problem is not None:
            return self._failed(after, problem, facts, f"; {tests}" if short else "")
        if short:
            return self._failed(after, Cause("graded", "tests_short", tests), facts)
        if miscounted := transitions.miscounted(wanted, told, report):
            return self._failed(after, Cause("graded", "tests_miscounted", miscounted), facts)
        against = disagreement(after)
        if against is not None:
            return self._failed(after, against, facts)
        return self._passed(after, _all_hold(wanted, report), facts)

    @property
    def _question(self) -> Question:
        return Question(self.judge, self.command, self.profile, self.reporter)

    def _before(self) -> Run:
        return self._question.before()

    def _after(self) -> Run:
        return self._question.after()

    def _settled(
        self, after: Run, before: Run | None = None, facts: Mapping[str, Any] = NOTHING
    ) -> CheckOutcome | None:
        """A failed outcome when exit code or report say so; None when both are content."""
        cause = cause_of(after.result)
        if cause is not None:
            words = named_failures(after.reported) or quoted(after)
            return self._failed(after, _of_command(cause), facts, words)
        problem = self._question.against(after, before)
        return None if problem is None else self._failed(after, problem, facts)

    def _end_problem(self, run: Run) -> Cause | None:
        """Ends that no test list can explain: a limit, a signal, a program that is not there."""
        cause = cause_of(run.result)
        return None if cause is None or is_test_failure(run.result) else _of_command(cause)

    def _refuse_unless_failing(self, before: Run) -> None:
        cause = cause_of(before.result)
        if cause is None:
            self._refuse(before, "the command passes before the change, so passing after it proves nothing")
        elif not is_test_failure(before.result):
            why = f"before the change the command {cause.text}: not a failing test"
            self._refuse(before, why, quote=True)
        problem = before.report and (
            report_problem(before.report) or disagreement(before) or only_collection(before.report)
        )
        if problem:
            self._refuse(
                before, f"before the change no test failed for its own reason: {problem.text}", quote=True
            )

    def _refuse_unless_as_listed(self, before: Run, wanted: Wanted) -> TestReport:
        report = before.report or TestReport("report_missing")
        lenient = wanted.missing_before_ok is not False and report.end != "graded" and _came_to_tests(before)
        problem = None if lenient else self._end_problem(before) or report_problem(report)
        if problem is not None:
            self._refuse(before, f"before the change: {problem.text}", quote=True)
        wrong = transitions.wrong_before(wanted, report)
        if wrong:
            more = f" (and {len(wrong) - 3} more)" if wrong[3:] else ""
            self._refuse(before, "; ".join(wrong[:3]) + more)
        against = disagreement(before)
        if against is not None and not lenient:
            hint = "a pipe or a list of commands may hide the runner's exit code"
            self._refuse(before, f"before the change: {against.text}; {hint}")
        return report

    def _refuse(self, before: Run, reason: str, *, quote: bool = False) -> NoReturn:
        if quote:
            reason = _with_its_words(before, reason)
        raise TaskInvalid(reason, evidence=last_words(before.result, lines=10, limit=2000))

    def _failed(self, after: Run, cause: Cause, facts: Mapping[str, Any], also: str = "") -> CheckOutcome:
        ended = {"end": cause.end, "cause": cause.cause}
        text = cause.text + also
        if cause.cause in ("report_missing", "run_incomplete") and _unreported(after):
            text = _with_its_words(after, text)
        return failed(self.check, text, **(dict(facts) | after.facts() | ended))

    def _passed(self, after: Run, reason: str, facts: Mapping[str, Any] = NOTHING) -> CheckOutcome:
        if after.report is not None and after.reported is None:
            reason += "; note: by its exit code alone, the test runner leaves no report here"
        if after.reported is not None and not _RAN & after.reported.counts.keys():
            reason += "; note: no test really ran"
        return passed(self.check, reason, **(dict(facts) | after.facts() | {"end": "graded"}))


def _unreported(run: Run) -> bool:
    return run.report is not None and run.report.end == "report_missing"


def _with_its_words(run: Run, reason: str) -> str:
    """A reason with what the command itself said: first, where its test runner left nothing to go by."""
    words = last_words(run.result)
    if not words:
        return reason
    return f"the command said: {words}; {reason}" if _unreported(run) else f"{reason}; it said: {words}"


_RAN = {"passed", "xpassed", "xfailed"}


def _wanted(judge: Judge) -> Wanted | None:
    try:
        return Wanted.from_expected(judge.expected)
    except ValueError as malformed:
        raise TaskInvalid(str(malformed)) from malformed


def _came_to_tests(run: Run) -> bool:
    """Whether the command's end may come from the code under test: a hang or a crash may, a program that is
    not there may not, nor a report that cannot be read."""
    done = run.result.done
    missing = done.end == "missing_binary" or done.exit_code in (126, 127)
    return not missing and (run.report is None or run.report.end != "report_unreadable")


def _of_command(cause: Cause) -> Cause:
    return replace(cause, text=f"the command {cause.text}")


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
