"""The runs the viewer shows: an index that follows their folders, and figures that are kept while they hold.

One thread follows the folders; pages read what it found. A run too big to be read while somebody waits is
read by that thread, and its page fills up when it is done.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.errors import AuthoringError
from orchestrator.history.compare import Comparison, compare_all
from orchestrator.history.folders import run_folders, stamp_of
from orchestrator.history.index import Index, RunFilter, TrialFilter
from orchestrator.history.rows import Page, RunRow, TrialRow
from orchestrator.history.trends import By, Trend, trend
from orchestrator.viewer import figures
from orchestrator.viewer.figures import Figures
from orchestrator.viewer.places import Places

QUICK = 2000
"""Trials of a run whose figures are put together while its page is asked for."""
KEPT = 24
"""Runs whose figures are kept."""
NIGHTS = 30
"""Runs of a trend."""
PATIENCE = 5.0
"""Seconds the first page may wait until all runs have been read."""
EVERY = 1.0
"""Seconds between two looks at the folders."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Held:
    """Figures, and what they are of."""

    stamp: str
    figures: Figures
    at: float
    cost: float
    """Seconds it took to read them."""

    def fresh(self, now: float) -> bool:
        return now - self.at < 4 * self.cost


class Library:
    """Use it as a context manager. Thread-safe."""

    def __init__(self, root: Path) -> None:
        """Opens the index of `root`; raises what `Index` does. Nothing is read yet."""
        self.root = root
        self._index = Index(root)
        self._figures: OrderedDict[str, _Held] = OrderedDict()
        self._places: dict[str, Places] = {}
        self._wanted: set[str] = set()
        self._edition = 0
        self._answers: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._read_once = threading.Event()
        self._called = threading.Event()
        self._stamps: dict[str, str] | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="library", daemon=True)

    def start(self) -> None:
        """Begin to follow the folders in a thread. Returns when all was read once, or after `PATIENCE`: what
        is not known by then appears later."""
        self._follower.start()
        self._read_once.wait(PATIENCE)

    @property
    def ready(self) -> bool:
        """Whether every run has been read once."""
        return self._read_once.is_set()

    # What pages ask

    def runs(self, wanted: RunFilter, offset: int, limit: int) -> Page[RunRow]:
        return self._index.runs(wanted, offset=offset, limit=limit)

    def run(self, run_id: str) -> RunRow:
        """Raises AuthoringError when there is no such run."""
        return self._index.find(run_id)

    def trials(self, run: RunRow, wanted: TrialFilter, offset: int, limit: int) -> Page[TrialRow]:
        return self._index.trials(run.run_id, wanted, offset=offset, limit=limit)

    def trend(self, benchmark: str, by: By) -> Trend:
        """Of the newest runs of a benchmark."""
        wanted = RunFilter(benchmark=benchmark or None)
        return self._kept(("trend", benchmark, by), lambda: trend(self._index, wanted, by, limit=NIGHTS))

    def compared(
        self, base: str, new: str, across: bool, base_agent: str, new_agent: str
    ) -> tuple[Comparison, ...]:
        """Two runs against each other; an agent that is not named is found as `proctor compare` finds it.

        Raises AuthoringError when they are not there or unlike, or when it is not clear whom to compare.
        """

        def compared() -> tuple[Comparison, ...]:
            first, second = (self._index.subject(self.run(word)) for word in (base, new))
            named = (base_agent or None, new_agent or None)
            return compare_all(first, [second], across=across, base_agent=named[0], new_agent=named[1])

        return self._kept(("compared", base, new, across, base_agent, new_agent), compared)

    def figures(self, run: RunRow) -> Figures | None:
        """What was last read of the run, or None while that is still being done.

        A run that grows is not read again at once when reading it took long a moment ago; the thread does
        that, and whoever looks at the page is told.
        """
        with self._lock:
            held = self._figures.get(run.run_id)
        stamp = stamp_of(run.folder)
        if held is not None and held.stamp == stamp:
            return held.figures
        if run.planned > QUICK or (held is not None and held.fresh(time.monotonic())):
            self._want(run.run_id)
            return held.figures if held else None
        return self._read(run, stamp)

    def places(self, run: RunRow) -> Places:
        """Where the run's records are."""
        with self._lock:
            return self._places.setdefault(run.run_id, Places(run.folder))

    def version(self, run: RunRow) -> str:
        """Another one when the run's page would look different."""
        with self._lock:
            held = self._figures.get(run.run_id)
        return f"{stamp_of(run.folder)} {held.stamp if held else ''}"

    # Following

    def close(self) -> None:
        """End the thread and give the index back. Idempotent."""
        self._closing.set()
        self._called.set()
        if self._follower.is_alive():
            self._follower.join(timeout=30)
        self._index.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _follow(self) -> None:
        """Looks at the folders again and again, and reads at once what a page waits for."""
        due = 0.0
        while not self._closing.is_set():
            self._called.wait(max(0.0, min(EVERY, due - time.monotonic())))
            self._called.clear()
            try:
                if time.monotonic() >= due:
                    due = self._look()
                self._read_wanted()
            except Exception:
                _log.warning("the runs could not be followed; trying again", exc_info=True)
                due = time.monotonic() + EVERY

    def _look(self) -> float:
        """Bring the index up to date; when to look again. What takes long is done less often: a run of
        100,000 trials that grows is not read every second."""
        began = time.monotonic()
        now = {str(folder): stamp_of(folder) for folder in run_folders(self.root)}
        if now != self._stamps:
            self._index.refresh()
            self._stamps = now
            self._edition += 1
            self._read_once.set()
            self._warm()
        ended = time.monotonic()
        return ended + max(EVERY, 4 * (ended - began))

    def _warm(self) -> None:
        """What is likely to be asked for next, and takes long where runs are big."""
        for run in self._index.runs(RunFilter(), limit=1).rows:
            self.trend(run.benchmark, "agent")
            if run.planned > QUICK:
                self._want(run.run_id)

    def _kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made under `key` since the folders last changed, or made now."""
        edition = self._edition
        with self._lock:
            held = self._answers.get(key)
        if held is not None and held[0] == edition:
            answer: T = held[1]
            return answer
        answer = make()
        with self._lock:
            self._answers[key] = (edition, answer)
            self._answers.move_to_end(key)
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
        return answer

    def _want(self, run_id: str) -> None:
        with self._lock:
            self._wanted.add(run_id)
        self._called.set()

    def _read_wanted(self) -> None:
        with self._lock:
            wanted = list(self._wanted)
            self._wanted.clear()
        for run_id in wanted:
            try:
                run = self._index.find(run_id)
                stamp = stamp_of(run.folder)
                self.places(run).follow()
                with self._lock:
                    held = self._figures.get(run_id)
                if held is None or held.stamp != stamp:  # it was asked for again while it was being read
                    self._read(run, stamp)
            except AuthoringError:
                continue

    def _read(self, run: RunRow, stamp: str) -> Figures:
        began = time.monotonic()
        found = figures.read(run.folder)
        now = time.monotonic()
        with self._lock:
            self._figures[run.run_id] = _Held(stamp, found, now, now - began)
            self._figures.move_to_end(run.run_id)
            while len(self._figures) > KEPT:
                self._figures.popitem(last=False)
        return found
