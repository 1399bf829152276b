"""What else moved between paired trials: findings of analysers by rule, time, cost, tokens. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import median

from orchestrator.history.facts import TrialFacts
from orchestrator.history.pairing import TaskPair


@dataclass(frozen=True)
class Move:
    """An amount on both sides, over the same pairs."""

    base: float
    new: float
    pairs: int
    median_ratio: float | None = None
    """Of the pairs' ratios new / base, where base is not 0."""

    @property
    def ratio(self) -> float | None:
        """new / base; None where base is 0."""
        return self.new / self.base if self.base else None


@dataclass(frozen=True)
class RuleMove:
    """Findings of one rule that were mended (negative: added), over all pairs."""

    rule: str
    base: float
    new: float

    @property
    def difference(self) -> float:
        return self.new - self.base


@dataclass(frozen=True)
class ToolMove:
    """One analyser's deltas; a delta is improvement."""

    tool: str
    check: str
    base: float
    """Mean delta over the pairs."""
    new: float
    pairs: int
    rules: tuple[RuleMove, ...] = ()
    """Those that differ, the largest difference first."""

    @property
    def difference(self) -> float:
        return self.new - self.base


def moves(tasks: Sequence[TaskPair]) -> tuple[ToolMove, ...]:
    """By check and tool, over the pairs in which both sides were measured."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    rules: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(lambda: [0.0, 0.0])
    )
    for task in tasks:
        for pair in task.pairs:
            held = [{(d.tool, d.check): d for d in trial.deltas} for trial in pair]
            for key in held[0].keys() & held[1].keys():
                found[key].append((held[0][key].delta, held[1][key].delta))
                for side in (0, 1):
                    for rule, (before, after) in held[side][key].by_rule.items():
                        rules[key][rule][side] += before - after
    return tuple(
        ToolMove(
            tool,
            check,
            base=fsum(b for b, _ in deltas) / len(deltas),
            new=fsum(n for _, n in deltas) / len(deltas),
            pairs=len(deltas),
            rules=_ordered(rules[tool, check]),
        )
        for (tool, check), deltas in sorted(found.items())
    )


def _ordered(rules: dict[str, list[float]]) -> tuple[RuleMove, ...]:
    every = [RuleMove(rule, base, new) for rule, (base, new) in rules.items() if base != new]
    return tuple(sorted(every, key=lambda move: (-abs(move.difference), move.rule)))


def spent(tasks: Sequence[TaskPair]) -> dict[str, Move | None]:
    """seconds, cost and tokens; None where no pair tells on both sides."""
    ways: dict[str, Callable[[TrialFacts], float | None]] = {
        "seconds": lambda trial: trial.seconds,
        "cost": lambda trial: trial.cost,
        "tokens": lambda trial: trial.tokens,
    }
    return {name: _move(tasks, amount) for name, amount in ways.items()}


def _move(tasks: Sequence[TaskPair], amount: Callable[[TrialFacts], float | None]) -> Move | None:
    told = [
        (b, n)
        for task in tasks
        for base, new in task.pairs
        if (b := amount(base)) is not None and (n := amount(new)) is not None
    ]
    if not told:
        return None
    ratios = [n / b for b, n in told if b]
    return Move(
        fsum(b for b, _ in told), fsum(n for _, n in told), len(told), median(ratios) if ratios else None
    )
