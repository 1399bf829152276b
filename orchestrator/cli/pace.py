"""How fast a run goes, and when it will be done: from this run so far, and from earlier ones."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from orchestrator.regular import read_regular

if TYPE_CHECKING:
    from orchestrator.plan import TrialJob

EARLIER = 5
"""Earlier runs that are asked how long trials took."""
LOOKED_AT = 200
"""Run folders that are looked at to find them."""
BIGGEST = 64 << 20
"""Bytes of records; a longer file would take longer to read than it helps."""
ENOUGH = 3
"""Ended trials before anything is said of the rate."""

WORTH_TELLING = 10
"""Trials of a run for which earlier runs are read; a shorter one is over before it helps."""

Known = Mapping[tuple[str, str], float]
"""(task, agent) -> usual seconds; an empty agent stands for all of them."""


class Pace:
    """Belongs to one run. Not thread-safe: its display holds a lock anyway."""

    def __init__(self, jobs: Sequence[TrialJob], slots: int) -> None:
        self._left = {job.trial: job for job in jobs}
        self._slots = max(1, slots)
        self._took: list[float] = []
        self.known: Known = {}
        """May be filled in later, when earlier runs have been read."""

    def ended(self, trial: str, seconds: float) -> None:
        if self._left.pop(trial, None) is not None:
            self._took.append(seconds)

    def per_minute(self, elapsed: float) -> float | None:
        """Trials that end in a minute; None before there is enough to tell."""
        return 60 * len(self._took) / elapsed if len(self._took) >= ENOUGH and elapsed > 0 else None

    def remaining(self, elapsed: float, running: Mapping[str, float]) -> float | None:
        """Seconds until the run is done, given how long each running trial is at work. None: nobody knows.

        No run is done before its longest trial is, and no faster than its slots allow.
        """
        usual = median(self._took) if self._took else None
        left = []
        for trial, job in self._left.items():
            expected = self.known.get((job.task, job.agent)) or self.known.get((job.task, "")) or usual
            if expected is None:
                return None
            left.append(max(0.1 * expected, expected - running.get(trial, 0.0)))
        if not left:
            return 0.0
        by_work = max(max(left), sum(left) / self._slots)
        rate = self.per_minute(elapsed)
        if self.known or rate is None:
            return by_work
        return max(by_work, 60 * len(left) / rate)


def learn(runs: Path, benchmark: str, apart_from: Path) -> Known:
    """What trials of `benchmark` took in the newest runs beside this one. Nothing that cannot be read stops
    anybody: it is left out."""
    from orchestrator.history.facts import read_run

    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for folder in _earlier(runs, benchmark, apart_from):
        with suppress(Exception):
            for trial in read_run(folder).trials:
                if trial.graded:
                    times[trial.task, trial.agent].append(trial.seconds)
                    times[trial.task, ""].append(trial.seconds)
    return {key: median(found) for key, found in times.items()}


def learn_meanwhile(pace: Pace, runs: Path, benchmark: str, apart_from: Path) -> threading.Thread:
    """`learn` beside the run, so that no trial waits for it."""

    def work() -> None:
        pace.known = learn(runs, benchmark, apart_from)

    thread = threading.Thread(target=work, name="pace", daemon=True)
    thread.start()
    return thread


def _earlier(runs: Path, benchmark: str, apart_from: Path) -> list[Path]:
    found: list[tuple[str, Path]] = []
    own = apart_from.resolve()
    with suppress(OSError):
        folders = sorted((f for f in runs.iterdir() if f.is_dir() and not f.is_symlink()), reverse=True)
        for folder in folders[:LOOKED_AT]:
            with suppress(OSError, ValueError, TypeError):
                if folder.resolve() == own or (folder / "records.jsonl").stat().st_size > BIGGEST:
                    continue
                header = json.loads(read_regular(folder / "run.json"))
                if header.get("benchmark") == benchmark:
                    found.append((str(header.get("started", "")), folder))
    return [folder for _, folder in sorted(found, reverse=True)[:EARLIER]]
