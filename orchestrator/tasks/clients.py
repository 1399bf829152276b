"""The registries' own clients (pip, npm, apt, git), and where they run.

A client is called in a folder of its own: what lies there goes with it, and what it leaves there comes back.
So one call is the same on this machine (`HostClients`) and in a throwaway room (`fetchroom.RoomClients`).
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal, Protocol

from orchestrator.tasks.downloads import SourceUnavailable

TIMEOUT = 900.0
"""Seconds one call of a client may take."""
HERE = "{here}"
"""In a client's words: the folder it is called in."""

Program = Literal["pip", "python", "npm", "apt-get", "git"]
"""`python` is one that has pip."""
Answer = subprocess.CompletedProcess[bytes]


class Clients(Protocol):
    """Whoever runs them. Safe to call from many threads at once."""

    def told(self) -> str:
        """Where this thread's calls were carried out, as the records have it, and forget it. Empty: it made
        none."""
        ...

    def call(self, program: Program, words: Sequence[str], folder: Path, *, inside: str = "") -> Answer:
        """Run a client to its end in `folder`, or in the folder `inside` it, of which everything is there
        afterwards. HERE in a word stands for `folder`, which is ours alone.

        Raises SourceUnavailable when the client is not installed or takes too long.
        """
        ...


class Notes(threading.local):
    """What a thread has to say, each thing once."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def add(self, note: str) -> None:
        self._said[note] = None

    def taken(self) -> str:
        """All of it, and nothing is left."""
        said = "; ".join(self._said)
        self._said.clear()
        return said


class HostClients:
    """On this machine, as the user who runs proctor. No call that is made runs a package's code."""

    def __init__(self) -> None:
        self._notes = Notes()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def call(self, program: Program, words: Sequence[str], folder: Path, *, inside: str = "") -> Answer:
        argv = [*_start_of(program), *(word.replace(HERE, str(folder)) for word in words)]
        self._notes.add("on this machine")
        with self._started(argv, folder / inside) as child:
            try:
                out, err = child.communicate(timeout=TIMEOUT)
            except subprocess.TimeoutExpired as slow:
                raise SourceUnavailable(f"{program} did not answer within {TIMEOUT:g} s") from slow
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def told(self) -> str:
        return self._notes.taken()

    def stop(self) -> None:
        """End every call, now and from now on. From any thread."""
        with self._lock:
            self._stopped = True
            for child in self._running:
                child.kill()

    @contextmanager
    def _started(self, argv: list[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, cwd=folder)
        except OSError as error:
            raise SourceUnavailable(f"{argv[0]} cannot be started: {error}") from error
        with child:
            try:
                with self._lock:
                    self._running.add(child)
                    stopped = self._stopped
                if stopped:
                    child.kill()
                yield child
            finally:
                with self._lock:
                    self._running.discard(child)
                child.kill()


HOST = HostClients()
"""For whoever has no rooms at hand."""


@cache
def pip_python() -> str:
    """A Python that has pip: this one, else the first `python3` on PATH. Raises SourceUnavailable."""
    for python in (sys.executable, shutil.which("python3")):
        if python and subprocess.run([python, "-I", "-c", "import pip"], capture_output=True).returncode == 0:
            return python
    raise SourceUnavailable("pip is not installed; `python3 -m ensurepip` brings it")


def last_line(done: Answer) -> str:
    """The last thing a client said, for a message."""
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended {done.returncode}"


def _start_of(program: Program) -> list[str]:
    if program == "pip":
        return [pip_python(), "-I", "-m", "pip"]
    if program == "python":
        return [sys.executable if importlib.util.find_spec("pip") else pip_python(), "-I"]
    if shutil.which(program) is None:
        raise SourceUnavailable(f"{program} is not installed on this machine")
    return [program]
