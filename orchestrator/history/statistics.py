"""Is it more than chance? Exact tests on pairs, intervals by resampling, and what they could have seen.

Every function takes differences by task (new minus base), because repeats of one task are no independent
evidence ([decision 11](../../docs/decisions/0011-a-pair-is-a-task.md)). Pure: equal input, equal output; the
random numbers come from a fixed seed. scipy is imported when first needed: its distributions only, since all
of `scipy.stats` would take longer to import than to compare two runs; tests hold both against each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

RESAMPLES = 9_999
"""Of a bootstrap or a random sign test. Fewer where there are very many tasks; see `_DRAWS`."""
POWER = 0.8
"""How surely a difference must be seen to be called detectable."""
_DRAWS = 20_000_000
"""Random numbers drawn at most for one answer."""
_FEW_RESAMPLES = 1_999
_DISTINCT = 200
"""Up to so many different values, resamples are drawn as counts of each."""
_ENUMERATED = 12
"""Up to so many tasks, all signs are tried instead of some."""
_SEED = 20_240_229


@dataclass(frozen=True)
class Interval:
    """Where a mean difference lies, and how surely."""

    mean: float
    low: float
    high: float
    level: float
    """0.95: of 100 such intervals about 95 hold the true value, when there are 20 tasks or more."""
    resamples: int


def mcnemar(broken: int, fixed: int) -> float:
    """Two-sided p of the exact McNemar test: are `broken` and `fixed` like throws of a fair coin?

    >>> mcnemar(8, 1), mcnemar(0, 0), mcnemar(3, 3)
    (0.0390625, 1.0, 1.0)
    """
    from scipy.special import bdtr

    both = broken + fixed
    return min(1.0, 2 * float(bdtr(min(broken, fixed), both, 0.5))) if both else 1.0


def clustered_mcnemar(differences: Sequence[int]) -> float:
    """The same test where a task has several repeats: two-sided p, exact.

    `differences` are passes gained (new minus base) by task over its paired repeats. Were nothing changed,
    the two sides of a task could be swapped, whatever its repeats have in common; so each difference has
    either sign with equal chance. With one repeat a task this is `mcnemar`.

    >>> clustered_mcnemar([-1] * 8 + [1] + [0] * 50) == mcnemar(8, 1)
    True
    >>> clustered_mcnemar([-3, -3, -3]), round(clustered_mcnemar([-3, -3, -1, 2]), 4)
    (0.25, 0.375)
    """
    import numpy as np

    sizes = np.abs(np.asarray([d for d in differences if d], dtype=np.int64))
    gained = abs(int(sum(differences)))
    if gained == 0:
        return 1.0
    if int(sizes.max()) == int(sizes.min()):
        side = (len(sizes) - gained // int(sizes[0])) // 2
        return mcnemar(side, len(sizes) - side)
    values, counts = np.unique(sizes, return_counts=True)
    most = int(sizes.sum())
    # The sum of the sizes with a plus sign: its distribution by its generating function, at once.
    length = 1 << most.bit_length()
    turns = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length)
    spectrum = np.ones_like(turns)
    for value, count in zip(values, counts, strict=True):
        spectrum *= ((1 + turns ** int(value)) / 2) ** int(count)
    chances = np.fft.irfft(spectrum, length)
    tail = float(np.clip(chances[: (most - gained) // 2 + 1], 0, None).sum())
    return min(1.0, max(2 * tail, 2.0 ** (1 - len(sizes))))


def sign_test(differences: Sequence[float]) -> float:
    """Two-sided p for differences of any size, by changing signs: all of them for few tasks, else at random
    (never below 1 in resamples + 1).

    >>> sign_test([0.5, 0.25, 0.125])
    0.25
    """
    import numpy as np

    given = np.asarray([d for d in differences if d], dtype=np.float64)
    if not len(given):
        return 1.0
    observed = abs(float(given.sum())) * (1 - 1e-12)
    if len(given) <= _ENUMERATED:
        signs = 1 - 2 * ((np.arange(1 << len(given))[:, None] >> np.arange(len(given))) & 1)
        return float(np.mean(np.abs(signs @ given) >= observed))
    random = np.random.default_rng(_SEED)
    values, counts = np.unique(np.abs(given), return_counts=True)
    draws = _resamples(len(values))
    extreme = 0
    for many in _batches(draws, len(values)):
        up = random.binomial(counts, 0.5, size=(many, len(values)))
        extreme += int(np.count_nonzero(np.abs((2 * up - counts) @ values) >= observed))
    return (extreme + 1) / (draws + 1)


def bootstrap(differences: Sequence[float], level: float = 0.95) -> Interval | None:
    """The mean difference by task and its percentile interval; None without a task.

    Tasks are drawn anew, each with all of its repeats.

    >>> bootstrap([0.5, 0.5]).low
    0.5
    """
    import numpy as np

    given = np.asarray(differences, dtype=np.float64)
    if not len(given):
        return None
    mean = math.fsum(differences) / len(given)
    values, counts = np.unique(given, return_counts=True)
    if len(values) == 1:
        return Interval(mean, mean, mean, level, 0)
    means = np.sort(_means(given, values, counts))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high), level, len(means))


def _means(given: Numbers, values: Numbers, counts: NDArray[Any]) -> Numbers:
    """The means of resamples."""
    import numpy as np

    random = np.random.default_rng(_SEED)
    size = len(given)
    if len(values) <= _DISTINCT:
        drawn = random.multinomial(size, counts / size, size=RESAMPLES)
        found: Numbers = drawn @ values / size
        return found
    draws = _resamples(size)
    parts = [
        given[random.integers(0, size, size=(many, size))].mean(axis=1) for many in _batches(draws, size)
    ]
    return np.concatenate(parts)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p values of several questions asked at once, in their order (Holm's step-down).

    >>> holm([0.01, 0.04, 0.03, 0.005])
    (0.03, 0.06, 0.06, 0.02)
    """
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    found = [0.0] * len(p_values)
    highest = 0.0
    for place, number in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[number]))
        found[number] = highest
    return tuple(found)


def detectable(differences: Sequence[float], level: float = 0.05, power: float = POWER) -> float | None:
    """The least true mean difference that tasks like these would show with `power`; None when even a change
    of every task would prove nothing.

    From how much the differences vary, and never less than the fewest tasks that make a claim.

    >>> detectable([0.0] * 5) is None, detectable([0.0] * 100)
    (True, 0.06)
    """
    tasks = len(differences)
    fewest = fewest_tasks(level)
    if tasks < fewest:
        return None
    mean = math.fsum(differences) / tasks
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / tasks)
    normal = NormalDist()
    wanted = (normal.inv_cdf(1 - level / 2) + normal.inv_cdf(power)) * spread / math.sqrt(tasks)
    return min(1.0, max(wanted, fewest / tasks))


def fewest_tasks(level: float) -> int:
    """So many tasks must change, all in one direction, before anything can be claimed.

    >>> fewest_tasks(0.05)
    6
    """
    return math.ceil(math.log2(2 / level) - 1e-12)


def _resamples(width: int) -> int:
    """How many, of so many random numbers each."""
    return max(_FEW_RESAMPLES, min(RESAMPLES, _DRAWS // width))


def _batches(draws: int, width: int) -> list[int]:
    """The resamples in parts that fit into a few megabytes."""
    many = max(1, min(draws, 1_000_000 // width))
    return [many] * (draws // many) + ([draws % many] if draws % many else [])
