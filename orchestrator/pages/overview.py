"""The first screen of a run: what ran, did it pass, how sure are we, what broke, what to open next. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median
from typing import Literal

from orchestrator import words
from orchestrator.confidence import Interval, interval
from orchestrator.gates import GateResult
from orchestrator.history.facts import RunFacts, TrialFacts

Answer = Literal["passed", "failed", "errored", "running", "unscored"]
"""What is said of a whole run, in the words of a trial's fate."""

BROKEN_SHOWN = 8
SLOW_SHOWN = 8
NEXT_SHOWN = 4
BINS = 20
"""Bars of the score distribution; steps of the drift."""


@dataclass(frozen=True)
class AgentLine:
    """One agent over all its trials."""

    agent: str
    name: str
    """As tables call it."""
    model: str
    planned: int
    counts: Mapping[str, int]
    interval: Interval | None
    mean_score: float | None
    median_seconds: float | None
    cost: float | None
    tokens: float | None


@dataclass(frozen=True)
class CheckLine:
    """One check of a rubric, over all graded trials."""

    name: str
    counts: Mapping[str, int]
    """By the check's own status."""

    @property
    def executed(self) -> int:
        return self.counts["passed"] + self.counts["failed"]

    @property
    def rate(self) -> float | None:
        return self.counts["passed"] / self.executed if self.executed else None


@dataclass(frozen=True)
class Broken:
    """Trials that went wrong in the same way."""

    status: str
    what: str
    """The failed checks, or the end word."""
    count: int
    tasks: int
    example: TrialFacts


@dataclass(frozen=True)
class SlowTask:
    """One task, by how long its trials take."""

    task: str
    median: float
    longest: float
    trials: int
    example: str


@dataclass(frozen=True)
class Step:
    """A stretch of the plan: whether the run changed while it went on."""

    number: int
    rate: float | None
    seconds: float | None


@dataclass(frozen=True)
class Overview:
    """Everything a run's first screen shows, apart from the list of its trials."""

    run: RunFacts
    counts: Mapping[str, int]
    """Trials by status."""
    answer: Answer
    answer_text: str
    """The headline: one sentence."""
    gates: tuple[GateResult, ...]
    warnings: tuple[str, ...]
    agents: tuple[AgentLine, ...]
    checks: tuple[CheckLine, ...]
    broken: tuple[Broken, ...]
    next: tuple[tuple[TrialFacts, str], ...]
    """What to open, and why."""
    slow: tuple[SlowTask, ...]
    scores: tuple[tuple[str, float], ...]
    """(agent, score) of every graded trial."""
    drift: tuple[Step, ...]
    elapsed: float | None
    """Seconds of all trials together; None before the first ended."""

    @property
    def planned(self) -> int:
        return len(self.run.trials)

    @property
    def graded(self) -> int:
        return self.counts["passed"] + self.counts["failed"]

    @property
    def coverage(self) -> float | None:
        """Share of the planned trials that are somebody's score."""
        return self.graded / self.planned if self.planned else None

    @property
    def executed(self) -> float | None:
        """Share of the checks of graded trials that were executed."""
        whole = sum(sum(check.counts.values()) for check in self.checks)
        return sum(check.executed for check in self.checks) / whole if whole else None


def of(
    run: RunFacts, gates: Sequence[GateResult], warnings: Sequence[str], exit_code: int, *, live: bool = False
) -> Overview:
    """Put together what the first screen needs. `exit_code` is the run's as far as it went."""
    trials = run.trials
    answer, text = _answer(run, gates, exit_code, live)
    begun = [t for t in trials if t.attempts]
    return Overview(
        run=run,
        counts=run.counts,
        answer=answer,
        answer_text=text,
        gates=tuple(gates),
        warnings=tuple(w for w in warnings if not w.startswith("soft gate:")),
        agents=tuple(_agents(run)),
        checks=tuple(_checks(trials)),
        broken=tuple(_broken(trials)),
        next=tuple(_next(trials)),
        slow=tuple(_slow(begun)),
        scores=tuple((t.agent, t.score) for t in trials if t.score is not None),
        drift=tuple(_drift(begun)),
        elapsed=sum(t.seconds for t in begun) if begun else None,
    )


def _answer(run: RunFacts, gates: Sequence[GateResult], exit_code: int, live: bool) -> tuple[Answer, str]:
    counts = run.counts
    ended = len(run.trials) - counts["not_run"]
    missed = [g for g in gates if g.gate.kind == "hard" and not g.met]
    hard = [g for g in gates if g.gate.kind == "hard"]
    if live:
        return "running", f"Running: {ended} of {len(run.trials)} trials have ended"
    if not run.trials:
        return "unscored", "Nothing was planned"
    if exit_code in (3, 4, 130):
        return "errored", f"Not decided: {_unscored(run.trials)}"
    if exit_code == 2:
        return "errored", f"Not decided: {_trials(counts['invalid'])} of tasks that are wrong themselves"
    if missed:
        return "failed", f"Failed: {len(missed)} of {len(hard)} hard gate{'s' * (len(hard) != 1)} missed"
    if exit_code == 1:
        return "failed", f"Failed: {counts['failed']} of {counts['passed'] + counts['failed']} graded trials"
    if hard:
        return "passed", "Passed: every hard gate is met"
    if not counts["passed"]:
        return "unscored", "Nothing could be graded"
    return "passed", "Passed: every graded trial"


def _unscored(trials: Sequence[TrialFacts]) -> str:
    """ "31 trials without a score for a fault of proctor, 5 trials of 90 not run"."""
    errored = [trial for trial in trials if trial.status == "errored"]
    ours = sum(trial.end == "harness_error" for trial in errored)
    blamed = {"a fault of proctor": ours, "trouble of the machine": len(errored) - ours}
    told = [f"{_trials(count)} without a score for {why}" for why, count in blamed.items() if count]
    waiting = sum(trial.status == "not_run" for trial in trials)
    if waiting:
        told.append(f"{_trials(waiting)} of {len(trials)} not run")
    return ", ".join(told) or "it was interrupted"


def _trials(count: int) -> str:
    return words.many(count, "trial")


def _agents(run: RunFacts) -> Iterable[AgentLine]:
    called = words.short_names(run.agents)
    by_agent: dict[str, list[TrialFacts]] = {agent: [] for agent in run.agents}
    for trial in run.trials:
        by_agent.setdefault(trial.agent, []).append(trial)
    for agent, trials in by_agent.items():
        counts = Counter(t.status for t in trials)
        scores = [t.score for t in trials if t.score is not None]
        times = [t.seconds for t in trials if t.attempts]
        costs = [t.cost for t in trials if t.cost is not None]
        tokens = [t.tokens for t in trials if t.tokens is not None]
        yield AgentLine(
            agent=agent,
            name=called.get(agent, agent),
            model=next((t.model for t in trials if t.model), ""),
            planned=len(trials),
            counts=counts,
            interval=interval((t.task, t.passed) for t in trials if t.graded),
            mean_score=fmean(scores) if scores else None,
            median_seconds=median(times) if times else None,
            cost=sum(costs) if costs else None,
            tokens=sum(tokens) if tokens else None,
        )


def _checks(trials: Sequence[TrialFacts]) -> Iterable[CheckLine]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for trial in trials:
        if trial.graded:
            for name, (status, _) in trial.checks.items():
                found[name][status] += 1
    return [CheckLine(name, counts) for name, counts in sorted(found.items(), key=lambda item: item[0])]


def _broken(trials: Sequence[TrialFacts]) -> Iterable[Broken]:
    """The biggest groups first; noop is meant to fail, so its failures come last."""
    groups: dict[tuple[bool, str, str], list[TrialFacts]] = defaultdict(list)
    for trial in trials:
        if trial.status in ("failed", "errored", "invalid"):
            meant = trial.agent == "noop" and trial.status == "failed"
            groups[meant, trial.status, _what(trial)].append(trial)
    ranked = sorted(groups.items(), key=lambda item: (item[0][0], _rank(item[0][1]), -len(item[1])))
    for (_, status, what), members in ranked[:BROKEN_SHOWN]:
        yield Broken(status, what, len(members), len({t.task for t in members}), members[0])


def _rank(status: str) -> int:
    return {"errored": 0, "failed": 1, "invalid": 2}[status]


def _what(trial: TrialFacts) -> str:
    failed = [name for name, (status, _) in trial.checks.items() if status in ("failed", "error")]
    end = "" if trial.end in ("graded", "") else trial.end.replace("_", " ").replace(":", ": ")
    return "; ".join(filter(None, (", ".join(failed), end))) or "graded below the mark"


def _next(trials: Sequence[TrialFacts]) -> Iterable[tuple[TrialFacts, str]]:
    """One trial of each kind that wants a look, the gravest first, each with a sentence."""
    others = [t for t in trials if t.agent != "noop"]
    gold = next((t for t in trials if t.agent == "gold" and t.status == "failed"), None)
    longest = max((t for t in others if t.attempts), key=lambda t: t.seconds, default=None)
    wanted = [
        ("A fault of proctor", next((t for t in trials if t.end == "harness_error"), None)),
        ("The machine failed here", next((t for t in trials if t.status == "errored"), None)),
        ("The known fix does not pass", gold),
        ("The task is wrong", next((t for t in trials if _unfit(t)), None)),
        ("The nearest miss", _closest(others)),
        (f"Took longest, {words.seconds(longest.seconds)}" if longest else "", longest),
    ]
    seen: set[str] = set()
    for why, trial in wanted:
        if trial is not None and trial.trial not in seen and len(seen) < NEXT_SHOWN:
            seen.add(trial.trial)
            yield trial, f"{why}: {words.brief(trial.reason, 140) or words.word(trial.status).text}"


def _unfit(trial: TrialFacts) -> bool:
    return trial.status == "invalid" and trial.end != "quarantined"


def _closest(trials: Iterable[TrialFacts]) -> TrialFacts | None:
    failed = (t for t in trials if t.status == "failed" and t.score is not None)
    return max(failed, key=lambda t: t.score or 0.0, default=None)


def _slow(begun: Sequence[TrialFacts]) -> Iterable[SlowTask]:
    by_task: dict[str, list[TrialFacts]] = defaultdict(list)
    for trial in begun:
        by_task[trial.task].append(trial)
    slow = [
        SlowTask(
            task,
            median(t.seconds for t in members),
            max(t.seconds for t in members),
            len(members),
            max(members, key=lambda t: t.seconds).trial,
        )
        for task, members in by_task.items()
    ]
    return sorted(slow, key=lambda task: -task.median)[:SLOW_SHOWN]


def _drift(begun: Sequence[TrialFacts]) -> Iterable[Step]:
    """Pass rate and time along the run. Only where there are enough trials to tell chance from change."""
    if len(begun) < 5 * BINS:
        return
    for number in range(BINS):
        part = begun[number * len(begun) // BINS : (number + 1) * len(begun) // BINS]
        graded = [t.passed for t in part if t.graded]
        rate = fmean(graded) if graded else None
        yield Step(number + 1, rate, median(t.seconds for t in part) if part else None)


def when(started: str) -> str:
    """A start as people read it; as it is where it is no time.

    >>> when("2026-11-03T02:00:07+00:00")
    '3 November 2026, 02:00 UTC'
    """
    try:
        time = datetime.fromisoformat(started)
    except ValueError:
        return started
    return f"{time.day} {time:%B %Y, %H:%M} UTC"
