"""A measured improvement: the `score_delta` check (rules 118 to 124, C-11 to C-14).

The scorer runs in a fresh room before the change and in a fresh room after it, with the guard first, in an
after room of its own: a guard runs the candidate's code, and what that leaves behind must not be measured.
Where the guard runs a test runner we can read, its report must agree with its exit code, as for `command`.
delta is always improvement. What was hidden, not mended, is counted back: new suppressions the tool cannot
be told to ignore, and findings in files that left the analysed set. `metadata.allow` may list
"suppressions" and "deletions" to loosen that; the outcome shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import entry_points
from typing import Any

from orchestrator.analyzers import Analyzer, AnalyzerError, Measurement, OptionError
from orchestrator.analyzers.measurement import is_number, option
from orchestrator.checks.causes import cause_of, clip, last_words, printable
from orchestrator.checks.comparison import Comparison, compare, facts_of, sentence
from orchestrator.checks.missing import never_there
from orchestrator.checks.runs import Question, quoted
from orchestrator.contract import Check, Context, Judge, Step, StepResult
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import UnknownProfile, describe
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped
from orchestrator.testreports import Reporter, built_in

ALLOWANCES = ("suppressions", "deletions")
TOLERANCE = 1e-9
"""Relative: 0.3 - 0.1 meets 0.2."""


class ScoreDeltaExecutor:
    """Runs `score_delta` checks. `analyzers` by tool name; None means those found by entry point. `reporters`
    read the guard's test runner, asked in order."""

    needs = frozenset({"judge"})

    def __init__(
        self,
        analyzers: Mapping[str, Analyzer] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        reporters: Sequence[Reporter] | None = None,
    ) -> None:
        self._analyzers = None if analyzers is None else dict(analyzers)
        self._clock = clock
        self._reporters = tuple(built_in() if reporters is None else reporters)

    def applies(self, check: Check) -> bool:
        return check.get("kind") == "score_delta"

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        judge = context.judge
        if judge is None:
            return skipped(check, "score_delta needs the rooms of a task with an environment")
        try:
            return _Contest(check, judge, self._ask(check), self._clock, self._reporters).outcome()
        except (OptionError, UnknownProfile) as mistake:
            return failed(check, str(mistake), cause="authoring")

    def _ask(self, check: Check) -> _Ask:
        minimum = check.get("min_delta")
        if not is_number(minimum):
            raise OptionError(f"min_delta is {minimum!r}; it must be a finite number")
        guard = check.get("guard_command")
        if guard is not None and (not isinstance(guard, str) or not guard.strip() or "\0" in guard):
            raise OptionError(f"guard_command is {guard!r}; it must be a shell command")
        profile = check.get("sandbox")
        if profile is not None and not isinstance(profile, str):
            raise OptionError(f"sandbox is {profile!r}; it must be the name of a profile")
        allow = option(check, "allow", ())
        if not isinstance(allow, list | tuple) or not set(allow) <= set(ALLOWANCES):
            raise OptionError(f"metadata.allow is {allow!r}; it may list {' and '.join(ALLOWANCES)}")
        return _Ask(self._analyzer(check.get("tool")), float(minimum), guard, profile, frozenset(allow))

    def _analyzer(self, tool: Any) -> Analyzer:
        if self._analyzers is not None:
            if isinstance(tool, str) and tool in self._analyzers:
                return self._analyzers[tool]
            known = sorted(self._analyzers)
        else:
            entries = {entry.name: entry for entry in entry_points(group="orchestrator.analyzers")}
            if isinstance(tool, str) and tool in entries:
                analyzer: Analyzer = entries[tool].load()()
                return analyzer
            known = sorted(entries)
        raise OptionError(f"tool is {tool!r}; installed analyzers: {', '.join(known) or 'none'}")


@dataclass(frozen=True)
class _Ask:
    """One check, parsed."""

    analyzer: Analyzer
    minimum: float
    guard: str | None
    profile: str | None
    allow: frozenset[str]


@dataclass(frozen=True)
class _Contest:
    """One check on one trial's rooms."""

    check: Check
    judge: Judge
    ask: _Ask
    clock: Callable[[], datetime]
    reporters: tuple[Reporter, ...]

    def outcome(self) -> CheckOutcome:
        steps = tuple(self.ask.analyzer.steps(self.check, self.judge.workdir))
        touched = self._touched_config()
        if touched:
            return self._failed("config_changed", f"the change touches what steers the analyzer: {touched}")
        before = self._baseline(steps)
        guarded = self._guard()
        if guarded is not None:
            return guarded
        results = self.judge.after(*steps, profile=self.ask.profile)
        try:
            after = self.ask.analyzer.read(self.check, self.judge.workdir, results)
        except AnalyzerError as error:
            return self._no_measurement(error, results, before)
        after = replace(after, taken_at=self.clock().isoformat(timespec="seconds"))
        if isinstance(before, Measurement):
            mismatch = before.mismatch(after)
            if mismatch:
                raise TaskInvalid(f"the baseline cannot be compared with this run: {mismatch}")
        else:
            before = replace(after, value=before, counts={}, findings=None, files=None)
        compared = compare(self.ask.analyzer, before, after, self.judge.changed(), self.ask.allow)
        return self._settled(compared, results)

    def _baseline(self, steps: tuple[Step, ...]) -> Measurement | float:
        """Measured on the before state, a number, or a stored measurement (C-12)."""
        baseline = self.check.get("baseline", "setup")
        if is_number(baseline):
            return float(baseline)
        if isinstance(baseline, Mapping):
            try:
                return Measurement.from_json(baseline)
            except (ValueError, TypeError) as problem:
                raise OptionError(f"baseline is no stored measurement: {problem}") from None
        if baseline not in ("setup", None):
            raise OptionError(f"baseline is {baseline!r}; it must be setup, a number or a measurement")
        results = self.judge.before(*steps, profile=self.ask.profile)
        try:
            return self.ask.analyzer.read(self.check, self.judge.workdir, results)
        except AnalyzerError as error:
            words = last_words(results[-1], lines=10, limit=2000)
            raise TaskInvalid(
                f"{self.ask.analyzer.name} gives no measurement of the before state: {printable(str(error))}",
                evidence=words,
            ) from None

    def _guard(self) -> CheckOutcome | None:
        if self.ask.guard is None:
            return None
        reporter = next((r for r in self.reporters if r.recognises(self.ask.guard)), None)
        question = Question(self.judge, self.ask.guard, self.ask.profile, reporter)
        after = question.after()
        if tool := never_there(self.ask.guard, self.judge, after.result, lambda: question.before().result):
            raise TaskInvalid(f"the room has no {tool} for the guard command, with or without the change")
        cause = cause_of(after.result)
        if cause is not None:
            text = f"the guard command {cause.text}{quoted(after)}"
        else:
            cause = question.against(after)
            if cause is None:
                return None
            text = f"the guard command exits 0, but proves nothing: {cause.text}"
        facts = after.facts() | {"end": cause.end, "cause": f"guard:{cause.cause}"}
        return failed(self.check, text, **facts)

    def _touched_config(self) -> str:
        paths = set(self.ask.analyzer.config_paths(self.check))
        if not paths:
            return ""
        touched = [c.path for c in self.judge.changed() if {c.path, c.old_path} & paths]
        return ", ".join(printable(path) for path in touched)

    def _settled(self, compared: Comparison, results: tuple[StepResult, ...]) -> CheckOutcome:
        delta, minimum = compared.delta, self.ask.minimum
        meets = delta >= minimum - TOLERANCE * max(1.0, abs(minimum))
        score = delta / minimum if minimum > 0 else float(meets)
        score = 1.0 if meets else min(1.0, max(0.0, score))
        facts = describe(results[-1]) | {"end": "graded"} | facts_of(compared, minimum)
        reason = sentence(self.ask.analyzer.name, compared, minimum)
        if meets:
            return passed(self.check, reason, score, **facts)
        return failed(self.check, reason, score, **facts, cause="delta_too_small")

    def _no_measurement(
        self, error: AnalyzerError, results: tuple[StepResult, ...], before: Measurement | float
    ) -> CheckOutcome:
        """Otherwise crashing the analyzer would pay (C-12)."""
        limit = results[-1].done.limit
        words = "" if limit is None else f" (limit_hit:{limit})"
        name = self.ask.analyzer.name
        text = f"{name} gives no measurement after the change{words}: {printable(str(error))}"
        facts = describe(results[-1])
        facts["before"] = before if isinstance(before, float) else before.value
        facts["partial"] = error.facts
        facts["end"] = f"limit_hit:{limit}" if limit else "analyzer_error"
        return failed(self.check, clip(text, 1000), **facts, cause="analyzer_error")

    def _failed(self, cause: str, reason: str) -> CheckOutcome:
        return failed(self.check, reason, end="graded", cause=cause)
