"""Runs the whole corpus on one or more engines: `python -m tests.attacks [--sandbox oci,docker] [NAME...]`.

Each attack must fail as it says, and win with the defence it is aimed at switched off; each honest candidate
must pass. Two processes at once, since switches act on a whole process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from . import corpus
from .bait import bait
from .judging import cannot_run, judged, open_rooms

SLOTS = 2


def main() -> int:
    asked = _arguments()
    whole = corpus.load()
    chosen = [c for c in (*whole.attacks, *whole.honest) if not asked.names or _matches(c, asked.names)]
    left_out = [] if os.environ.get("CI") else [c for c in chosen if cannot_run(c)]
    if left_out:
        print(f"{len(left_out)} candidates are left out: {cannot_run(left_out[0])}")
    chosen = [c for c in chosen if c not in left_out]
    wrong_everywhere = 0
    with bait():
        for sandbox in asked.sandbox.split(","):
            found = _on(sandbox, [c.id for c in chosen], asked.verbose)
            attacks = sum(isinstance(c, corpus.Attack) for c in chosen)
            counts = f"{attacks} attacks, {len(chosen) - attacks} honest, {found} wrong verdicts"
            print(f"{sandbox}: {counts}", flush=True)
            wrong_everywhere += found
    return 1 if wrong_everywhere else 0


def _arguments() -> Any:
    parser = argparse.ArgumentParser(prog="attacks", description=__doc__)
    parser.add_argument("--sandbox", default="oci,docker")
    parser.add_argument("--verbose", action="store_true", help="name every candidate, not only wrong ones")
    parser.add_argument("names", nargs="*", help="candidates or families; all when none is given")
    return parser.parse_args()


def _matches(candidate: corpus.Candidate, names: list[str]) -> bool:
    return candidate.id in names or candidate.family in names


def _on(sandbox: str, names: list[str], verbose: bool) -> int:
    """How many verdicts were wrong."""
    context = multiprocessing.get_context("spawn")
    found = 0
    with ProcessPoolExecutor(SLOTS, context, initializer=open_rooms, initargs=(sandbox,)) as pool:
        asked = {pool.submit(judged, name): name for name in names}
        for future in as_completed(asked):
            problem = future.result()
            found += bool(problem)
            if problem or verbose:
                print(f"  {sandbox} {asked[future]}: {problem or 'as it must be'}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
