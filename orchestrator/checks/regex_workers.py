"""A few worker processes for patterns that could take long; each may be ended at any moment."""

from __future__ import annotations

import select
import subprocess
import sys
import threading
import weakref
from pathlib import Path

from orchestrator.checks import regex_worker
from orchestrator.checks.regex_worker import LIMIT, read_message, write_message

_IDLE_KEPT = 4
_CLOCK_FACTOR = 40
"""How much longer than its CPU time a worker may take on the clock, on a machine that starves it."""


class Workers:
    """Lends each request a process of its own; at most `_IDLE_KEPT` are kept for the next ones.

    A worker ends when its stdin closes, so none outlives this process, however that ends.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _end_all, self._idle)

    def ask(self, pattern: str, options: int, text: str) -> tuple[str, str]:
        """(answer, detail), as `regex_worker.attempt`; LIMIT when the worker was ended for its CPU time."""
        worker = self._borrow()
        try:
            answer = self._exchange(worker, [pattern, options, text])
        except BaseException:
            _end(worker)
            raise
        if answer is None:
            _end(worker)
            return LIMIT, f"ended after {self._seconds:g} s of CPU time"
        self._give_back(worker)
        return answer

    def close(self) -> None:
        with self._lock:
            _end_all(self._idle)

    def _exchange(self, worker: subprocess.Popen[bytes], request: list[object]) -> tuple[str, str] | None:
        assert worker.stdin is not None and worker.stdout is not None
        ready = select.poll()
        ready.register(worker.stdout, select.POLLIN)
        try:
            write_message(worker.stdin, request)
            came = ready.poll(self._seconds * _CLOCK_FACTOR * 1000)
            reply = read_message(worker.stdout) if came else None
        except BrokenPipeError:
            reply = None
        return None if reply is None else (str(reply[0]), str(reply[1]))

    def _borrow(self) -> subprocess.Popen[bytes]:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.poll() is None:
                    return worker
                _end(worker)
        return subprocess.Popen(
            [sys.executable, "-I", str(Path(regex_worker.__file__)), str(self._seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def _give_back(self, worker: subprocess.Popen[bytes]) -> None:
        with self._lock:
            if len(self._idle) < _IDLE_KEPT:
                self._idle.append(worker)
                return
        _end(worker)


def _end_all(workers: list[subprocess.Popen[bytes]]) -> None:
    while workers:
        _end(workers.pop())


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                pass
    worker.wait()
