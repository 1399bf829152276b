"""Which trials of two runs belong together, and which runs may be compared at all. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from pathlib import Path
from typing import Literal

from orchestrator.calibrate import REFERENCE_AGENTS
from orchestrator.errors import AuthoringError
from orchestrator.history.facts import RunFacts, TrialFacts

Fate = Literal["fixed", "broken", "flickering", "unchanged"]
_SHOWN = 3


@dataclass(frozen=True)
class Subject:
    """A run as something to compare."""

    name: str
    """As it was asked for, or its id."""
    run_id: str
    benchmark: str
    benchmark_version: str
    agents: tuple[str, ...]
    trials: tuple[TrialFacts, ...]
    machine: str = ""
    provider: str = ""
    started: str = ""

    @classmethod
    def of(cls, run: RunFacts, name: str = "") -> Subject:
        """A run that was read from its folder."""
        return cls(
            name or str(run.folder),
            run.run_id,
            run.plan.benchmark,
            run.plan.benchmark_version,
            run.agents,
            run.trials,
            run.header.machine.get("name", ""),
            run.header.provider,
            run.header.started,
        )

    @classmethod
    def read(cls, folder: Path) -> Subject:
        """The run in `folder`. Raises AuthoringError when there is none."""
        from orchestrator.history.facts import read_run

        return cls.of(read_run(folder))


@dataclass(frozen=True)
class Side:
    """One agent of one run."""

    subject: Subject
    agent: str

    @property
    def trials(self) -> tuple[TrialFacts, ...]:
        return tuple(t for t in self.subject.trials if t.agent == self.agent)


@dataclass(frozen=True)
class TaskPair:
    """One task that both sides have, over the repeats that are graded on both."""

    task: str
    pairs: tuple[tuple[TrialFacts, TrialFacts], ...]
    """(base, new), by repeat."""

    @cached_property
    def passed(self) -> tuple[int, int]:
        """Passed repeats of base and new."""
        return sum(b.passed for b, _ in self.pairs), sum(n.passed for _, n in self.pairs)

    @property
    def gained(self) -> int:
        """Passes of new minus passes of base."""
        base, new = self.passed
        return new - base

    @property
    def gained_rate(self) -> float:
        """The same as a share of its pairs."""
        return self.gained / len(self.pairs)

    @property
    def gained_score(self) -> float:
        """Mean score of new minus that of base, 0 to 1; a pass without a score counts as 1."""
        return fsum(score_of(n) - score_of(b) for b, n in self.pairs) / len(self.pairs)

    @cached_property
    def fate(self) -> Fate:
        """fixed and broken: what most repeats say has turned. flickering: one side's repeats differ, and it
        has not."""
        of = len(self.pairs)
        base, new = self.passed
        if 2 * base < of < 2 * new:
            return "fixed"
        if 2 * new < of < 2 * base:
            return "broken"
        return "unchanged" if base in (0, of) and new in (0, of) and base == new else "flickering"


@dataclass(frozen=True)
class Pairing:
    """The tasks of two sides, each in exactly one of these."""

    tasks: tuple[TaskPair, ...]
    """With at least one pair."""
    new: tuple[str, ...]
    """Only new has them."""
    missing: tuple[str, ...]
    """Only base has them."""
    invalid: tuple[str, ...]
    """Wrong in themselves, on either side: they judge nobody."""
    ungraded: tuple[str, ...]
    """On both sides, without one repeat that is graded on both."""
    lost: int
    """Planned pairs of the shared tasks in which one side has no score."""


def score_of(trial: TrialFacts) -> float:
    """A graded trial's score, 0 to 1."""
    return float(trial.passed) if trial.score is None else trial.score


def pair_up(base: Side, new: Side) -> Pairing:
    """By task and repeat. A task that is invalid anywhere is in no pair."""
    held = [_by_task(side.trials) for side in (base, new)]
    before, after = held
    shared = [task for task in before if task in after]
    invalid = [t for t in shared if any(x.status == "invalid" for side in held for x in side[t].values())]
    pairs = {t: tuple(_pairs(before[t], after[t])) for t in shared if t not in set(invalid)}
    planned = sum(len(before[t].keys() & after[t].keys()) for t in pairs)
    return Pairing(
        tasks=tuple(TaskPair(task, found) for task, found in pairs.items() if found),
        new=tuple(t for t in after if t not in before),
        missing=tuple(t for t in before if t not in after),
        invalid=tuple(invalid),
        ungraded=tuple(task for task, found in pairs.items() if not found),
        lost=planned - sum(map(len, pairs.values())),
    )


def _by_task(trials: Iterable[TrialFacts]) -> dict[str, dict[int, TrialFacts]]:
    found: dict[str, dict[int, TrialFacts]] = defaultdict(dict)
    for trial in trials:
        found[trial.task][trial.repeat] = trial
    return dict(found)


def _pairs(
    before: Mapping[int, TrialFacts], after: Mapping[int, TrialFacts]
) -> Iterator[tuple[TrialFacts, TrialFacts]]:
    for repeat, base in before.items():
        new = after.get(repeat)
        if new is not None and base.graded and new.graded:
            yield base, new


def sides(
    base: Subject, new: Subject, base_agent: str | None = None, new_agent: str | None = None
) -> tuple[tuple[Side, Side], ...]:
    """Which agent is compared with which: those of equal name, and where one is left on either side, those
    two. gold and noop are compared only when there is nobody else: they tell of the tasks.

    Raises AuthoringError when that leaves a choice to the user.
    """
    if base_agent is not None or new_agent is not None:
        named = (_named(base, base_agent or new_agent), _named(new, new_agent or base_agent))
        return ((Side(base, named[0]), Side(new, named[1])),)
    common = [agent for agent in base.agents if agent in new.agents]
    left = [[a for a in subject.agents if a not in common] for subject in (base, new)]
    found = [(agent, agent) for agent in common]
    if all(len(rest) == 1 for rest in left):
        found.append((left[0][0], left[1][0]))
    candidates = [pair for pair in found if not REFERENCE_AGENTS.issuperset(pair)]
    if not candidates and any(left):
        names = "; ".join(f"{s.name}: {', '.join(s.agents)}" for s in (base, new))
        raise AuthoringError(
            f"it is not clear which agents to compare ({names}); say it with --base-agent and --new-agent"
        )
    return tuple((Side(base, a), Side(new, b)) for a, b in candidates or found)


def _named(subject: Subject, agent: str | None) -> str:
    """The agent of a run that is meant; the only one where its name is another's."""
    if agent in subject.agents:
        return str(agent)
    if len(subject.agents) == 1:
        return subject.agents[0]
    raise AuthoringError(f"{subject.name} has no agent {agent}; it has {', '.join(subject.agents)}")


def obstacles(base: Side, new: Side, tasks: Sequence[TaskPair]) -> tuple[str, ...]:
    """Why the scores of two sides do not mean the same; empty when they do."""
    found = []
    if base.subject.benchmark != new.subject.benchmark:
        found.append(f"they are runs of two benchmarks, {base.subject.benchmark} and {new.subject.benchmark}")
    changed: dict[tuple[str, str], list[str]] = defaultdict(list)
    executors: set[tuple[str, str]] = set()
    for pair in tasks:
        for b, n in pair.pairs:
            if _family(b.rubric) != _family(n.rubric):
                changed[b.rubric or "no rubric", n.rubric or "no rubric"].append(pair.task)
            if b.executors and n.executors and b.executors != n.executors:
                executors.add((b.executors, n.executors))
    for (old, later), names in changed.items():
        found.append(f"{_few(names)} had {old} and has {later} now")
    found += [f"checks were executed by the sets {old} and {later}" for old, later in sorted(executors)]
    return tuple(found)


def doubts(base: Side, new: Side, tasks: Sequence[TaskPair]) -> tuple[str, ...]:
    """What a reader of the difference should know although it forbids nothing."""
    found = []
    if (base.subject.run_id, base.agent) == (new.subject.run_id, new.agent):
        found.append("both are the same run")
    versions = sorted({(b.rubric, n.rubric) for p in tasks for b, n in p.pairs if b.rubric != n.rubric})
    found += [f"{old} became {later}" for old, later in versions]
    if base.subject.benchmark_version != new.subject.benchmark_version:
        old, later = base.subject.benchmark_version, new.subject.benchmark_version
        found.append(f"the benchmark's version went from {old} to {later}")
    moved = [p.task for p in tasks if any(b.state and n.state and b.state != n.state for b, n in p.pairs)]
    if moved:
        found.append(f"what agents are given changed in {_few(moved)}")
    for name, old, later in (
        ("machine", base.subject.machine, new.subject.machine),
        ("sandbox", base.subject.provider, new.subject.provider),
    ):
        if old and later and old != later:
            found.append(f"the {name} went from {old} to {later}: times are hardly comparable")
    return tuple(found)


def _family(ref: str) -> str:
    """A rubric's name and major version: within one, scores are comparable.

    >>> _family("rubric/plain@1.4") == _family("rubric/plain@1.10"), _family("rubric/plain@2.0")
    (True, 'rubric/plain@2')
    """
    name, at, version = ref.partition("@")
    return f"{name}{at}{version.partition('.')[0]}"


def _few(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more
