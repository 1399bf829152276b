"""How things moved over runs: pass rates by agent and task, scores by rubric, checks, analysers' rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, get_args

from orchestrator.history.facts import TrialFacts
from orchestrator.history.index import Index, RunFilter
from orchestrator.history.rows import RunRow

By = Literal["agent", "task", "rubric", "check", "rule"]
"""agent, task: pass rate over graded trials. rubric: mean score over graded trials. check: pass rate where it
was executed. rule: findings mended (negative: added) per measured trial."""
KINDS: tuple[By, ...] = get_args(By)


@dataclass(frozen=True)
class Point:
    """One run's value of a series."""

    value: float
    trials: int
    """How many it is the mean of."""


@dataclass(frozen=True)
class Series:
    """One thing over time; `points` has a place for each run, None where the run says nothing of it."""

    agent: str
    name: str
    """Of the task, rubric ("rubric/a@1.0"), check ("a: tests") or rule ("phpcs: LineLength")."""
    points: tuple[Point | None, ...]

    @property
    def first(self) -> Point | None:
        """The oldest that is there."""
        return next((p for p in self.points if p is not None), None)

    @property
    def last(self) -> Point | None:
        """The newest that is there."""
        return next((p for p in reversed(self.points) if p is not None), None)

    @property
    def change(self) -> float:
        """Newest value minus oldest; 0 with fewer than two."""
        return 0.0 if self.first is None or self.last is None else self.last.value - self.first.value


@dataclass(frozen=True)
class Trend:
    """Series over the same runs, the oldest run first."""

    by: By
    runs: tuple[RunRow, ...]
    series: tuple[Series, ...]


def trend(index: Index, wanted: RunFilter, by: By, *, limit: int = 30) -> Trend:
    """Over the newest `limit` runs that `wanted` describes."""
    runs = tuple(reversed(index.runs(wanted, limit=limit).rows))
    trials: dict[str, list[TrialFacts]] = defaultdict(list)
    for row in index.every_trial([run.run_id for run in runs]):
        trials[row.run_id].append(row.facts)
    return Trend(by, runs, series([trials[run.run_id] for run in runs], by))


def series(runs: Sequence[Iterable[TrialFacts]], by: By) -> tuple[Series, ...]:
    """One series for each agent and name, in order of first appearance. Pure."""
    values: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for place, trials in enumerate(runs):
        for trial in trials:
            for name, value in _SAID[by](trial):
                values[trial.agent, name][place].append(value)
    return tuple(
        Series(agent, name, tuple(_point(found.get(place)) for place in range(len(runs))))
        for (agent, name), found in values.items()
    )


def _point(values: Sequence[float] | None) -> Point | None:
    return Point(fsum(values) / len(values), len(values)) if values else None


def _agent(trial: TrialFacts) -> Iterator[tuple[str, float]]:
    if trial.graded:
        yield "", float(trial.passed)


def _task(trial: TrialFacts) -> Iterator[tuple[str, float]]:
    if trial.graded:
        yield trial.task, float(trial.passed)


def _rubric(trial: TrialFacts) -> Iterator[tuple[str, float]]:
    if trial.score is not None and trial.rubric:
        yield trial.rubric, trial.score


def _check(trial: TrialFacts) -> Iterator[tuple[str, float]]:
    rubric = trial.rubric.removeprefix("rubric/").partition("@")[0]
    for name, (status, _) in trial.checks.items():
        if status in ("passed", "failed"):
            yield f"{rubric}: {name}", float(status == "passed")


def _rule(trial: TrialFacts) -> Iterator[tuple[str, float]]:
    for delta in trial.deltas:
        for rule, (before, after) in delta.by_rule.items():
            yield f"{delta.tool}: {rule}", before - after


_SAID: Mapping[By, Callable[[TrialFacts], Iterator[tuple[str, float]]]] = {
    "agent": _agent,
    "task": _task,
    "rubric": _rubric,
    "check": _check,
    "rule": _rule,
}
