"""What every command of an oracle showed, test by test: more than a verdict keeps.

Stands around the executors that open rooms and changes nothing of what they do or say.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import Check, CheckExecutor, Context, Judge, Step, StepResult
from orchestrator.evidence import OWN_PROFILE, RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.testreports import Reporter, TestReport, built_in

Side = Literal["before", "after"]


@dataclass(frozen=True)
class Sighting:
    """One command of one check in one room."""

    check: str
    """The check's id, or its kind; as people name it."""
    side: Side
    seconds: float
    end: str
    """The command's end word, such as "exited" or "limit_hit:time"."""
    exit_code: int | None
    peak_memory: int | None
    """Bytes; None where the machine does not tell."""
    time_limit: float
    memory_limit: int
    statuses: Mapping[str, str] | None = field(default=None, repr=False)
    """Test id -> status; None when no reader knows the command or it left no report."""


@dataclass(frozen=True)
class Look:
    """One check of one trial: what it said (None when it refused the task), and what it had seen."""

    outcome: CheckOutcome | None
    sightings: tuple[Sighting, ...]

    @property
    def guard(self) -> str:
        """What a guard command that failed said; empty otherwise."""
        failed = self.outcome is not None and str(self.outcome.details.get("cause", "")).startswith("guard:")
        return self.outcome.reason if failed and self.outcome is not None else ""


class Witness:
    """Looks by trial. Thread-safe; a trial belongs to one thread."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Look]] = {}
        self._lock = threading.Lock()

    def over(self, executors: Sequence[CheckExecutor]) -> tuple[CheckExecutor, ...]:
        """The same executors, those that open rooms watched."""
        return tuple(_Watched(e, self) if "judge" in getattr(e, "needs", ()) else e for e in executors)

    def forget(self, trial: str) -> None:
        """A new attempt begins: what the last one showed does not count."""
        with self._lock:
            self._seen.pop(trial, None)

    def keep(self, trial: str, look: Look) -> None:
        with self._lock:
            self._seen.setdefault(trial, []).append(look)

    def of(self, trial: str) -> tuple[Look, ...]:
        """In the order in which the checks ended; also those inside composites."""
        with self._lock:
            return tuple(self._seen.get(trial, ()))


class _Watched:
    """An executor that looks at rooms through a judge which notes every answer."""

    def __init__(self, executor: CheckExecutor, witness: Witness) -> None:
        self._executor = executor
        self._witness = witness

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)  # needs, schemas: whatever it has of its own

    def applies(self, check: Check) -> bool:
        return self._executor.applies(check)

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        if not isinstance(context.judge, RoomJudge):
            return self._executor.execute(check, response, context)
        judge = _Noting(context.judge, str(check.get("id") or check.get("kind")))
        executor = self._executor
        if isinstance(executor, CommandExecutor):
            executor = CommandExecutor([_Overheard(reporter, judge) for reporter in built_in()])
        outcome = None
        try:
            outcome = executor.execute(check, response, replace(context, judge=cast(Judge, judge)))
            return outcome
        finally:
            self._witness.keep(context.judge.room.label, Look(outcome, judge.seen))


class _Noting:
    """A judge that keeps a sighting of every step it answers."""

    def __init__(self, judge: RoomJudge, check: str) -> None:
        self._judge = judge
        self._check = check
        self._results: list[tuple[StepResult, Sighting]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._judge, name)

    @property
    def seen(self) -> tuple[Sighting, ...]:
        return tuple(sighting for _, sighting in self._results)

    def before(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        return self._noted("before", steps, self._judge.before(*steps, profile=profile), profile)

    def after(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        return self._noted("after", steps, self._judge.after(*steps, profile=profile), profile)

    def reported(self, result: StepResult, report: TestReport) -> None:
        """A reporter has read `result`."""
        if report.end == "report_missing":
            return
        for index, (seen, sighting) in enumerate(self._results):
            if seen is result:
                statuses = {sys.intern(test): status for test, status in report.statuses.items()}
                self._results[index] = (seen, replace(sighting, statuses=statuses))

    def _noted(
        self, side: Side, steps: tuple[Step, ...], results: tuple[StepResult, ...], profile: str | None
    ) -> tuple[StepResult, ...]:
        chosen = self._judge.profiles.get(profile or OWN_PROFILE)
        limits = self._judge.room.limits if chosen is None else chosen.limits
        for step, result in zip(steps, results, strict=False):
            done, own = result.done, step.command.timeout
            sighting = Sighting(
                check=self._check,
                side=side,
                seconds=done.seconds,
                end=done.end,
                exit_code=done.exit_code,
                peak_memory=done.usage.peak_memory,
                time_limit=limits.time if own is None else min(own, limits.time),
                memory_limit=limits.memory,
            )
            self._results.append((result, sighting))
        return results


class _Overheard:
    """A reporter whose readings are noted."""

    def __init__(self, reporter: Reporter, judge: _Noting) -> None:
        self._reporter = reporter
        self._judge = judge
        self.name = reporter.name
        self.names_tests = reporter.names_tests

    def recognises(self, command: str) -> bool:
        return self._reporter.recognises(command)

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return self._reporter.step(command, env, token)

    def read(self, result: StepResult, token: str) -> TestReport:
        report = self._reporter.read(result, token)
        self._judge.reported(result, report)
        return report
