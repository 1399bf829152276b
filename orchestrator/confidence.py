"""How sure a pass rate is: an interval around it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A rate and the range it may well lie in, all 0 to 1."""

    rate: float
    low: float
    high: float
    trials: int
    tasks: int
    effective: float
    """How many independent trials these are worth: fewer than `trials` where repeats of a task agree."""


def interval(outcomes: Iterable[tuple[str, bool]], level: float = LEVEL) -> Interval | None:
    """Wilson's interval of a pass rate over (task, passed); None when there is nothing to measure.

    Repeats of one task are not independent samples of what tasks there might be. Where tasks were repeated,
    the number of trials is scaled down by the design effect of tasks as clusters (Kish), never below the
    number of tasks and never above the number of trials.

    >>> found = interval([("a", True), ("b", True), ("c", True), ("d", False)])
    >>> found and (found.rate, round(found.low, 2), round(found.high, 2))
    (0.75, 0.3, 0.95)
    """
    by_task: dict[str, list[bool]] = defaultdict(list)
    for task, passed in outcomes:
        by_task[task].append(passed)
    n = sum(map(len, by_task.values()))
    if not n:
        return None
    rate = sum(map(sum, by_task.values())) / n
    effective = _effective(list(by_task.values()), n, rate)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    centre = (rate + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * sqrt(rate * (1 - rate) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    return Interval(rate, min(low, rate), max(high, rate), n, len(by_task), effective)


def _effective(groups: list[list[bool]], n: int, rate: float) -> float:
    tasks = len(groups)
    if tasks == n:
        return float(n)
    spread = rate * (1 - rate)
    if tasks < 2 or not spread:
        return float(tasks)
    between = sum((sum(group) - rate * len(group)) ** 2 for group in groups) * tasks / (tasks - 1) / n**2
    return min(float(n), max(float(tasks), spread / between)) if between else float(n)
