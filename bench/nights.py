"""How often a night cries wolf, and what it sees: months of simulated nights with known true pass rates.

python bench/nights.py [--months 200] [--tasks 200] [--repeats 3] [--nights 30] [--level 0.05]

The first night of a month is the baseline of the rest. Every task has a true pass rate of its own; the same
functions judge a simulated night as a real one. Three worlds in which nothing changes:

  independent   repeats of a task are separate throws
  alike         all repeats of a task in one night agree (temperature 0): one throw a night
  moody         a task's rate has good and bad nights, from night to night at random

and one in which, from the second night on, a share of the tasks is broken for good: the power curve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.documents.nightly import Confirm, Finding, Night
from orchestrator.history.facts import TrialFacts
from orchestrator.history.nightly.judgement import Judged, Rerun, judge
from orchestrator.history.pairing import Side, Subject
from orchestrator.history.statistics import mcnemar

AGENT = "command:a"
Rates = NDArray[np.float64]
WORLDS = ("independent", "alike", "moody")
CONFIRMS = {
    "at once": Confirm(by="nothing"),
    "2 of 3 nights": Confirm(by="nights", k=2, of=3),
    "3 re-runs": Confirm(by="reruns", repeats=3),
}
POINTS = (1, 2, 3, 4, 5, 6, 8, 10, 15)


@dataclass
class World:
    """Where trials come from."""

    kind: str
    tasks: int
    repeats: int
    random: np.random.Generator

    def rates(self) -> Rates:
        """True pass rates as benchmarks have them: a third always, a fifth never, the rest in between."""
        inner = self.random.beta(2, 1.5, self.tasks)
        place = self.random.random(self.tasks)
        return np.where(place < 0.35, 1.0, np.where(place < 0.55, 0.0, inner))

    def night(self, rates: Rates, only: NDArray[np.intp] | None = None, repeats: int = 0) -> Subject:
        """One run of the tasks (of `only` where given)."""
        chosen = np.arange(self.tasks) if only is None else only
        many, chance = repeats or self.repeats, rates[chosen]
        if self.kind == "moody":
            inner = (chance > 0) & (chance < 1)
            chance = np.where(inner, np.clip(chance + self.random.normal(0, 0.25, len(chosen)), 0, 1), chance)
        throws = self.random.random((len(chosen), 1 if self.kind == "alike" else many))
        passed = np.broadcast_to(throws < chance[:, None], (len(chosen), many))
        trials = tuple(
            _trial(f"t{task}", repeat + 1, bool(passed[row, repeat]))
            for row, task in enumerate(chosen)
            for repeat in range(many)
        )
        return Subject("night", "id", "demo", "1.0", (AGENT,), trials)

    def again(self, rates: Rates, tasks: tuple[str, ...], repeats: int) -> Rerun:
        """The same tasks once more, in the same night."""
        only = np.array([int(task[1:]) for task in tasks])
        return Rerun(self.night(rates, only, repeats), "again")


def _trial(task: str, repeat: int, passed: bool) -> TrialFacts:
    status, score = ("passed", 1.0) if passed else ("failed", 0.0)
    rubric = "rubric/r@1.0"
    return TrialFacts(
        f"{task}.{repeat}", task, AGENT, repeat, status, "graded", score, None, 1.0, "", rubric, "all", 1
    )


def months(
    world: World, count: int, nights: int, level: float, broken: float
) -> Iterator[dict[str, list[bool]]]:
    """Of each month, for each way of confirming, whether each night after the first is an alarm; and whether
    McNemar's test on pairs of single trials would claim one ("by pairs")."""
    for _ in range(count):
        rates = world.rates()
        base = world.night(rates)
        later = rates.copy()
        able = np.flatnonzero(rates > 0)
        goal, so_far = broken * world.tasks, 0.0
        for task in world.random.permutation(able):
            if so_far >= goal:
                break
            so_far += later[task]
            later[task] = 0.0
        yield _month(world, base, later, nights, level)


def _month(world: World, base: Subject, rates: Rates, nights: int, level: float) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {name: [] for name in (*CONFIRMS, "by pairs")}
    earlier: list[Night] = []
    for _ in range(nights - 1):
        new = world.night(rates)

        def judged(name: str, new: Subject = new) -> Judged:
            (one,) = judge(
                [(Side(base, AGENT), Side(new, AGENT))],
                level=level,
                confirm=CONFIRMS[name],
                earlier=earlier,
                again=lambda side, tasks: world.again(rates, tasks, 3),
            )
            return one

        one = judged("3 re-runs")
        found["3 re-runs"].append(one.confirmed)
        found["at once"].append(one.suspected)
        found["2 of 3 nights"].append(one.suspected and judged("2 of 3 nights").confirmed)
        found["by pairs"].append(_naive(base, new, level))
        earlier.append(_recorded(one.suspected))
    return found


def _naive(base: Subject, new: Subject, level: float) -> bool:
    pairs = [(b.passed, n.passed) for b, n in zip(base.trials, new.trials, strict=True)]
    worse, better = sum(b > n for b, n in pairs), sum(n > b for b, n in pairs)
    return worse > better and mcnemar(worse, better) <= level


def _recorded(suspected: bool) -> Night:
    told = Finding(
        benchmark="demo", agent=AGENT, claim="", verdict="", suspected=suspected, confirmed=suspected
    )
    return Night(nightly="n", night="", started="", finished="", exit_code=0, passed=True, findings=(told,))


def false_alarms(asked: argparse.Namespace) -> bool:
    """Print how often nights of unchanged worlds alarm; whether every rate is within the level."""
    print(f"nothing changed; {asked.months} months of {asked.nights} nights, level {asked.level:g}")
    print(f"  {'world':<13} {'confirmed by':<15} {'nights':>8} {'months with any':>16}")
    kept = True
    for kind in WORLDS:
        world = World(kind, asked.tasks, asked.repeats, np.random.default_rng(asked.seed))
        every = list(months(world, asked.months, asked.nights, asked.level, 0.0))
        for name in (*CONFIRMS, "by pairs"):
            rate = float(np.mean([alarm for month in every for alarm in month[name]]))
            any_alarm = float(np.mean([any(month[name]) for month in every]))
            note = "  (not ours)" if name == "by pairs" else ""
            print(f"  {kind:<13} {name:<15} {rate:>8.2%} {any_alarm:>16.1%}{note}", flush=True)
            kept &= name == "by pairs" or rate <= asked.level
    return kept


def power(asked: argparse.Namespace) -> None:
    """Print how often a true loss is seen."""
    print(f"\na true loss from the second night on (independent repeats, {asked.months} months each)")
    print(
        f"  {'points lost':>11} {'first night':>12} {'confirmed':>10} {'within 3':>9} {'2 of 3 by 3rd':>14}"
    )
    for points in POINTS:
        world = World("independent", asked.tasks, asked.repeats, np.random.default_rng(asked.seed + points))
        every = list(months(world, asked.months, 4, asked.level, points / 100))
        shares = (
            np.mean([month["at once"][0] for month in every]),
            np.mean([month["3 re-runs"][0] for month in every]),
            np.mean([any(month["3 re-runs"]) for month in every]),
            np.mean([any(month["2 of 3 nights"]) for month in every]),
        )
        first, confirmed, within, nights = (f"{float(share):.0%}" for share in shares)
        print(f"  {points:>11} {first:>12} {confirmed:>10} {within:>9} {nights:>14}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--months", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.perf_counter()
    print(f"{asked.tasks} tasks, {asked.repeats} repeats")
    kept = false_alarms(asked)
    power(asked)
    print(f"\nfalse alarms {'stay' if kept else 'DO NOT stay'} within the level; "
          f"{time.perf_counter() - began:.0f} s")  # fmt: skip
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
