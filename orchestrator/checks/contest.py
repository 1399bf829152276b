"""One score_delta on one task's rooms: guards, both measurements, and who won.

Order: the guard command in rooms of its own (before first: what fails there proves nothing); the scorer in a
room before the change; then in a room after it, where files that steer the scorer are put back as they were
and the touched files are parsed first, in the scorer's own container where it runs nothing of theirs.
Everything that decides comes out in the `Ruling`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from orchestrator.analyzers import Analyzer, AnalyzerError, Measurement, OptionError
from orchestrator.checks import closing, guards
from orchestrator.checks.baselines import Baseline
from orchestrator.checks.causes import cause_of, clip, last_words, printable
from orchestrator.checks.code_guard import code_lines
from orchestrator.checks.comparison import Comparison, compare
from orchestrator.checks.guards import Guard
from orchestrator.checks.missing import never_there
from orchestrator.checks.parsing import Parsing
from orchestrator.checks.runs import Question, Run, quoted
from orchestrator.contract import Check, Judge, Step, StepResult
from orchestrator.errors import TaskInvalid
from orchestrator.evidence import describe
from orchestrator.testreports import Reporter

TOLERANCE = 1e-9
"""Relative: 0.3 - 0.1 meets 0.2."""

Mode = Literal["net", "no_new"]


@dataclass(frozen=True)
class Ask:
    """One check, parsed."""

    analyzer: Analyzer
    minimum: float
    guard: str | None = None
    profile: str | None = None
    allow: frozenset[str] = frozenset()
    forbid: frozenset[str] = frozenset()
    mode: Mode = "net"
    weights: Mapping[str, float] = field(default_factory=dict)
    baseline: Baseline | None = None
    """None: the state before the change is measured."""


@dataclass(frozen=True)
class Ruling:
    """How it ended. `cause` is empty when the gate was met."""

    cause: str
    reason: str
    score: float = 0.0
    compared: Comparison | None = None
    guards: tuple[Guard, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """More for the record, JSON-serialisable."""


@dataclass(frozen=True)
class Contest:
    """One check on one trial's rooms."""

    check: Check
    judge: Judge
    ask: Ask
    clock: Callable[[], datetime]
    reporters: Sequence[Reporter] = ()
    """Read the guard's test runner, asked in order."""

    def ruling(self) -> Ruling:
        """Raises OptionError (its author's mistake), TaskInvalid and what the judge raises."""
        steps = tuple(self.ask.analyzer.steps(self.check, self.judge.workdir))
        if self._outside:
            steps = closing.closed(steps, self.judge)
        before = self.ask.baseline.value if self.ask.baseline else self._setup(steps)
        guarded = self._guard_command()
        if guarded is not None:
            return guarded
        parsing, ahead, scoring = self._after_steps(steps)
        results = self.judge.after(*ahead, *scoring, profile=self.ask.profile)
        parsed = guards.parse(self._broken(parsing, results), "parse" in self.ask.allow)
        if parsed.state == "failed":
            return self._failed_guard(parsed)
        return self._measured(before, steps, results[len(ahead) :] or results, parsed)

    @property
    def _outside(self) -> bool:
        """The scorer runs on the image's programs alone, and nothing of the candidate's."""
        return bool(getattr(self.ask.analyzer, "outside", False))

    def _after_steps(self, steps: tuple[Step, ...]) -> tuple[Parsing, tuple[Step, ...], tuple[Step, ...]]:
        """The parse check, what goes ahead of the scorer, and the scorer's own steps."""
        touched = (c.path for c in self.judge.changed() if c.after is not None)
        parsing = Parsing.of(self.judge.workdir, touched)
        back = closing.put_back(self.ask.analyzer.config_paths(self.check), self.judge.changed())
        together = parsing.ahead_of(steps) if self._outside and not back else None
        if together is not None:
            return parsing, (), together
        return parsing, (*closing.closed(parsing.steps, self.judge), *back), steps

    def _measured(
        self,
        before: Measurement | float,
        steps: tuple[Step, ...],
        results: tuple[StepResult, ...],
        parsed: Guard,
    ) -> Ruling:
        try:
            after = self.ask.analyzer.read(self.check, self.judge.workdir, results)
        except AnalyzerError as error:
            return self._no_measurement(error, results, before)
        after = replace(after, taken_at=self.clock().isoformat(timespec="seconds")).weighed(self.ask.weights)
        if isinstance(before, Measurement):
            mismatch = before.mismatch(after)
            if mismatch:
                raise TaskInvalid(f"the baseline cannot be compared with this run: {mismatch}")
        else:
            before = replace(after, value=before, counts={}, findings=None, files=None)
        changes = self.judge.changed()
        obeys = getattr(self.ask.analyzer, "obeys_suppressions", None)
        compared = compare(
            self.ask.analyzer,
            before,
            after,
            changes,
            self.ask.allow,
            self.ask.weights,
            obeys is None or obeys(self.check),
            lambda: self._setup(steps),
            self.ask.mode == "no_new",
        )
        return self._settled(compared, self._guards(compared, parsed), results[-1])

    # Before the measurements ------------------------------------------------------------------------------

    def _setup(self, steps: tuple[Step, ...]) -> Measurement:
        """Measured on the state before the change."""
        results = self.judge.before(*steps, profile=self.ask.profile)
        try:
            measured = self.ask.analyzer.read(self.check, self.judge.workdir, results)
        except AnalyzerError as error:
            words = last_words(results[-1], lines=10, limit=2000)
            raise TaskInvalid(
                f"{self.ask.analyzer.name} gives no measurement of the before state: {printable(str(error))}",
                evidence=words,
            ) from None
        return measured.weighed(self.ask.weights)

    def _guard_command(self) -> Ruling | None:
        """None when it passes. One that fails before the change says nothing about it (C-14)."""
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
            self._refuse_a_guard_that_always_fails(question.before())
        else:
            cause = question.against(after)
            if cause is None:
                return None
            text = f"the guard command exits 0, but proves nothing: {cause.text}"
        return Ruling(f"guard:{cause.cause}", text, facts=after.facts() | {"end": cause.end})

    def _refuse_a_guard_that_always_fails(self, before: Run) -> None:
        """What fails without the change is no candidate's doing, and no score (decision 18)."""
        cause = cause_of(before.result)
        if cause is not None:
            words = last_words(before.result, lines=10, limit=2000)
            said = f"a guard fails on the unmodified state: the guard command {cause.text}{quoted(before)}"
            raise TaskInvalid(said, evidence=words)

    def _broken(self, parsing: Parsing, results: tuple[StepResult, ...]) -> dict[str, str] | None:
        """Files that parse no more: those that did not before either are not the change's doing."""
        broken = parsing.broken(results)
        if not broken:
            return broken
        old = {c.path: c.old_path or c.path for c in self.judge.changed() if c.before is not None}
        there = Parsing.of(self.judge.workdir, (old[path] for path in broken if path in old))
        if not there.paths:
            return broken
        steps = closing.closed(there.steps, self.judge)
        already = there.broken(self.judge.before(*steps, profile=self.ask.profile)) or {}
        return {path: why for path, why in broken.items() if old.get(path, "") not in already}

    # After them -------------------------------------------------------------------------------------------

    def _guards(self, compared: Comparison, parsed: Guard) -> tuple[Guard, ...]:
        analyzer, changes, allow, forbid = (
            self.ask.analyzer,
            self.judge.changed(),
            self.ask.allow,
            self.ask.forbid,
        )
        command = () if self.ask.guard is None else (Guard("guard_command", "passed"),)
        return (
            *command,
            parsed,
            code_lines(changes, compared, "code_lines" in allow),
            guards.files(compared),
            guards.suppressions(compared, "suppressions" in forbid),
            guards.config(analyzer, analyzer.config_paths(self.check), changes, "config" in forbid),
        )

    def _settled(self, compared: Comparison, seen: tuple[Guard, ...], result: StepResult) -> Ruling:
        facts = describe(result) | {"end": "graded"}
        if self.ask.baseline is not None and self.ask.baseline.facts:
            facts["baseline"] = dict(self.ask.baseline.facts)
        failed = next((guard for guard in seen if guard.state == "failed"), None)
        if failed is not None:
            return replace(self._failed_guard(failed), compared=compared, guards=seen, facts=facts)
        cause, score = settle(compared, self.ask.minimum, self.ask.mode)
        reason = "the change brings new findings" if cause == "new_findings" else ""
        return Ruling(cause, reason, score, compared, seen, facts)

    def _failed_guard(self, guard: Guard) -> Ruling:
        where = f": {'; '.join(map(printable, guard.places[:3]))}" if guard.places else ""
        more = f" and {len(guard.places) - 3} more" if len(guard.places) > 3 else ""
        text = f"the {guard.name} guard: {guard.says}{where}{more}"
        return Ruling(f"guard:{guard.name}", text, guards=(guard,), facts={"end": "graded"})

    def _no_measurement(
        self, error: AnalyzerError, results: tuple[StepResult, ...], before: Measurement | float
    ) -> Ruling:
        """Otherwise crashing the analyzer would pay (C-12)."""
        limit = results[-1].done.limit
        words = "" if limit is None else f" (limit_hit:{limit})"
        name = self.ask.analyzer.name
        text = f"{name} gives no measurement after the change{words}: {printable(str(error))}"
        facts = describe(results[-1])
        facts["before"] = before if isinstance(before, float) else before.value
        facts["partial"] = error.facts
        facts["end"] = f"limit_hit:{limit}" if limit else "analyzer_error"
        return Ruling("analyzer_error", clip(text, 1000), facts=facts)


def settle(compared: Comparison, minimum: float, mode: Mode = "net") -> tuple[str, float]:
    """(why the gate was not met, score); the first is empty when it was (C-13). Raises OptionError."""
    delta = compared.delta
    if delta < minimum - TOLERANCE * max(1.0, abs(minimum)):
        return "delta_too_small", min(1.0, max(0.0, delta / minimum)) if minimum > 0 else 0.0
    if mode == "no_new":
        if compared.findings is None:
            raise OptionError(f"metadata.mode: {compared.after.tool} gives no findings to tell new ones by")
        if compared.weigh(compared.findings.new) > 0:
            return "new_findings", 0.0
    return "", 1.0
