"""Ctrl-C and its kin: one wish to stop, heard once, acted upon in a thread of its own.

A signal handler may run in the middle of anything the main thread does, also while it holds a lock. So it
only puts a token into a queue that is safe for that; the watcher takes it out and does the work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """The wish to end a run early. Requested once; never taken back."""

    def __init__(self) -> None:
        self._tokens: SimpleQueue[bool] = SimpleQueue()
        self._heard = threading.Event()
        self.requested = False
        """True from the moment of the request."""

    def request(self) -> None:
        """Ask for it. From any thread and from a signal handler; again changes nothing."""
        if not self.requested:
            self.requested = True
            self._tokens.put(True)

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until the request. Returns whether it came."""
        return self.requested or self._heard.wait(seconds)

    @contextmanager
    def calling(self, *actions: Callable[[], None]) -> Iterator[None]:
        """Inside, a request calls every action once, in order, in another thread; one that raises does
        not keep the next from being called, and its error is raised at the end. One at a time."""
        failures: list[BaseException] = []
        watcher = threading.Thread(
            target=self._watch, args=(actions, failures), name="stop-watcher", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            self._tokens.put(False)
            watcher.join()
        if failures:
            raise failures[0]

    def _watch(self, actions: tuple[Callable[[], None], ...], failures: list[BaseException]) -> None:
        if not self._tokens.get():
            return
        self._heard.set()
        for action in actions:
            try:
                action()
            except BaseException as error:
                failures.append(error)
        while self._tokens.get():
            pass


@contextmanager
def on_signals(stop: Stop) -> Iterator[None]:
    """Inside, SIGINT, SIGTERM and SIGHUP request `stop` and nothing else, however often they come: a
    second Ctrl-C does not cut the cleaning short. Does nothing outside the main thread. A SIGHUP that is
    ignored (nohup) stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def request(number: int, frame: FrameType | None) -> None:
        stop.request()

    before = {}
    for number in _SIGNALS:
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        before[number] = signal.signal(number, request)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
