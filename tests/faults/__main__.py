"""python -m tests.faults [CAMPAIGN ...]: what proctor does when everything around it breaks, in figures.

Every campaign can be run alone and smaller; the figures of a full one are those of `make faults`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable

from tests.faults import day, engine, kills, restart, runtime
from tests.faults.tally import Tally

PROVIDERS = ("oci", "docker")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--kills", type=int, default=200, help="kill -9 for each provider")
    parser.add_argument("--step", type=int, default=1, help="only every so many of the enumerated faults")
    parser.add_argument("--random", type=int, default=500, help="pairs of trials with faults by chance")
    parser.add_argument("--trials", type=int, default=100_000, help="trials of the simulated day")
    parser.add_argument("--provider", choices=PROVIDERS, action="append", help="only this one")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    unknown = [name for name in asked.campaigns if name not in CAMPAIGNS]
    if unknown:
        parser.error(f"no campaign is called {unknown[0]}; there are: {', '.join(CAMPAIGNS)}")
    clean = True
    for name in asked.campaigns or CAMPAIGNS:
        began = time.monotonic()
        for row, bad in CAMPAIGNS[name](asked):
            print(f"{name:8} {row}  ({time.monotonic() - began:.0f} s)", flush=True)
            for line in bad:
                print(f"         ! {line}", flush=True)
            clean = clean and not bad
    print("all as it must be" if clean else "NOT as it must be")
    return 0 if clean else 1


Rows = Iterable[tuple[str, list[str]]]


def _kills(asked: argparse.Namespace) -> Rows:
    for provider in asked.provider or PROVIDERS:
        told = kills.campaign(provider, asked.kills, asked.seed)
        yield (
            f"{provider}: {told.kills} kills over {told.runs} runs of 60 trials: {told.lost} lost, "
            f"{told.doubled} doubled, {told.leaked} leaks, {told.unequal} reports that differ; "
            f"{told.swept} things swept after them, {told.torn} torn lines mended",
            told.bad,
        )


def _engine(asked: argparse.Namespace) -> Rows:
    yield _row("each fault at each call", engine.enumerated(asked.step))
    yield _row("by chance", engine.at_random(asked.random, asked.seed))


def _runtime(asked: argparse.Namespace) -> Rows:
    yield _row("each fault at each call", runtime.enumerated(asked.step))
    yield _row("by chance", runtime.at_random(asked.random, asked.seed))


def _day(asked: argparse.Namespace) -> Rows:
    told = day.campaign(asked.trials, asked.seed)
    bad = [f"{told.wrong} wrong, {told.lost} lost"] if told.wrong or told.lost else []
    yield str(told), bad


def _restart(asked: argparse.Namespace) -> Rows:
    for story in restart.campaign():
        yield str(story), story.bad


def _row(what: str, tally: Tally) -> tuple[str, list[str]]:
    return f"{what}: {tally}", tally.bad


CAMPAIGNS: dict[str, Callable[[argparse.Namespace], Rows]] = {
    "kills": _kills,
    "engine": _engine,
    "runtime": _runtime,
    "restart": _restart,
    "day": _day,
}


if __name__ == "__main__":
    sys.exit(main())
