"""Fetching and preparing beside the queue: while trials run, the tasks that come next are made ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from orchestrator.documents.benchmark import Task

WORKERS = 2
"""Tasks that are made ready at once. They wait for registries more than they compute."""
LEAVE_WITHIN = 3.5
"""Seconds that what has begun is waited for at the end. What hangs longer, say in a call of an engine that
does not answer, ends with the process; the next start removes what it leaves."""


class Ahead:
    """Threads that go through tasks in the order in which their trials come.

    A trial that comes first makes its task ready itself, and one that comes second waits: `ready` holds a
    lock per task.
    """

    def __init__(self, tasks: Iterable[Task], ready: Callable[[Task], None]) -> None:
        """`ready` raises nothing."""
        self._waiting: SimpleQueue[Task] = SimpleQueue()
        for task in tasks:
            self._waiting.put(task)
        self._ready = ready
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Begin no other task. From any thread; idempotent."""
        self._stopped.set()

    @contextmanager
    def running(self, abandon: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Make ready as long as this lasts. At the end nobody needs what is still being made: `abandon` is
        called, and then waited LEAVE_WITHIN for what has begun."""
        threads = [
            threading.Thread(target=self._work, name=f"ahead-{n}", daemon=True) for n in range(WORKERS)
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stop()
            abandon()
            end = time.monotonic() + LEAVE_WITHIN
            for thread in threads:
                thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                task = self._waiting.get_nowait()
            except Empty:
                return
            self._ready(task)
