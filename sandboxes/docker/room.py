"""An open room of the Docker provider: each command is one container over the room's files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from time import monotonic
from typing import Any, Literal, Protocol

from sandboxes.cgroups import Counters
from sandboxes.docker import config, ends, remotefs
from sandboxes.docker.engine import ANSWER_WITHIN, Engine
from sandboxes.docker.failure import CannotExecute, ImageLost
from sandboxes.docker.localfiles import Bind
from sandboxes.docker.watch import Heard, Listener, Why
from sandboxes.errors import (
    EngineGone,
    Evicted,
    SandboxError,
    SandboxLost,
    StreamBroken,
    machine_trouble,
)
from sandboxes.protocol import Done, Sink
from sandboxes.spec import Command, Entry

LONGEST_WORD = 128 * 1024
"""Bytes of one argument, its end mark included (Linux's MAX_ARG_STRLEN)."""
LATE = 0.1
"""Seconds a container may seem to have outlived its streams."""
SETTLE = 15.0
"""Seconds the engine may take to notice that a container has ended."""


class Files(Protocol):
    """Where a room's files are: this machine's disk, or volumes of an engine elsewhere."""

    def binds(self) -> list[Bind]: ...

    def volumes(self) -> list[str]: ...

    def write(self, entries: Iterable[Entry], target: str, owner: Literal["candidate", "root"]) -> None: ...

    def remove(self, paths: Iterable[bytes], target: str) -> None: ...

    def read(self, path: str, limit: int) -> bytes | None: ...

    def export(self, target: str) -> Iterator[Entry]: ...

    def holds(self, path: str) -> bool: ...

    def has_folder(self, path: str) -> bool: ...

    def full(self) -> bool: ...

    def machine_full(self) -> bool: ...

    def close(self) -> None: ...


class Counting(Protocol):
    """What the kernel counted (see `counting`)."""

    def begin(self, container: str) -> None: ...

    def started(self, pid: Callable[[], int]) -> None: ...

    def look(self) -> None: ...

    def end(self) -> Counters: ...

    def close(self) -> None: ...


class DockerRoom:
    """See `sandboxes.protocol.Sandbox`. Made by the provider; `close` gives everything back."""

    def __init__(
        self,
        room_id: str,
        name: str,
        engine: Engine,
        frame: config.Frame,
        files: Files,
        counting: Counting,
        unenforced: tuple[str, ...],
        image_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """`image_lost` is told when the engine has no longer the image that the room stands on."""
        self.id = room_id
        self.unenforced = unenforced
        self._name = name
        self._engine = engine
        self._frame = frame
        self._files = files
        self._counting = counting
        self._image_lost = image_lost
        self._numbers = count(1)
        self._evicted = threading.Event()
        self._closed = False
        self._left: set[str] = set()
        self._disk_full = False

    def run(self, command: Command, sink: Sink | None = None) -> Done:
        self._check()
        if reason := self._cannot_start(command):
            return ends.not_started(reason)
        name = f"{self._name}-{next(self._numbers)}"
        body = config.container(self._frame, command, self._files.binds(), self._files.volumes())
        try:
            container = self._engine.create(name, body)
        except ImageLost:
            self._image_lost()
            raise
        self._left.add(container)
        try:
            with machine_trouble("a command could not be run"):
                return self._run(container, command, sink)
        finally:
            # clean-up must not hide what happened; close() tries again, and reap() after it
            with suppress(SandboxError):
                self._engine.remove(container)
                self._left.discard(container)

    def write(self, entries: Iterable[Entry], target: str, *, owner: Literal["candidate", "root"]) -> None:
        self._check()
        with machine_trouble("files could not be written"):
            self._files.write(entries, target, owner)

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        self._check()
        with machine_trouble("files could not be removed"):
            self._files.remove(paths, target)

    def read(self, path: str, limit: int) -> bytes | None:
        self._check()
        if self._files.holds(path):
            with machine_trouble("a file could not be read"):
                return self._files.read(path, limit)
        with self._never_started() as container:
            return remotefs.read(self._engine, container, path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        self._check()
        if self._files.holds(target):
            with machine_trouble("the room's files could not be read"):
                yield from self._files.export(target)
        else:
            with self._never_started() as container:
                yield from remotefs.export(self._engine, container, target)

    def evict(self) -> None:
        # The thread that runs the command sees this within one tick and kills the container itself.
        self._evicted.set()

    def close(self) -> None:
        """Remove every trace. Never raises: what an engine that is gone keeps is left to `reap`."""
        self._closed = True
        for container in list(self._left):
            with suppress(SandboxError):
                self._engine.remove(container)
        with suppress(SandboxError):
            self._files.close()
        self._counting.close()

    @contextmanager
    def _never_started(self) -> Iterator[str]:
        """A container to look into the image with."""
        body = config.container(self._frame, Command(("/never-started",)), self._files.binds())
        container = self._engine.create(f"{self._name}-{next(self._numbers)}", body)
        try:
            yield container
        finally:
            with suppress(SandboxError):
                self._engine.remove(container)

    def _check(self) -> None:
        if self._evicted.is_set() or self._closed:
            raise Evicted(f"room {self.id} is closed")

    def _cannot_start(self, command: Command) -> str:
        """Why no container can be started for this command, told before an engine makes up for it (Docker
        creates a missing working folder, as root)."""
        place = command.cwd or self._frame.spec.workdir
        if not self._files.has_folder(place):
            return f"there is no folder {place} in the room"
        words = (command.argv,) if isinstance(command.argv, str) else command.argv
        return (
            "an argument is too long"
            if any(len(word.encode("utf-8", "surrogateescape")) >= LONGEST_WORD for word in words)
            else ""
        )

    def _run(self, container: str, command: Command, sink: Sink | None) -> Done:
        limits = self._frame.spec.limits
        timeout = limits.time if command.timeout is None else min(command.timeout, limits.time)
        with self._engine.attached(container, stdin=bool(command.stdin)) as sock:
            listener = Listener(sock, limits.output, command.stdin, sink, self._look)
            self._disk_full = False
            self._counting.begin(container)
            asked = time.time()
            listener.refuse_early_end()
            try:
                self._engine.start(container)
            except CannotExecute as error:
                return ends.not_started(str(error))
            began = monotonic()
            self._counting.started(lambda: int(self._engine.inspect(container)["State"]["Pid"]))
            why = listener.listen(began, timeout, self._evicted)
            if why != "streams_ended":
                self._kill(container, listener)
        state = self._settled(container, listener.heard, asked, why)
        grouped = bool(self._frame.cgroup_parent)
        done = ends.judge(
            ends.Facts(
                state=state,
                why=why,
                heard=listener.heard,
                counters=self._counting.end(),
                disk_full=self._disk_full or self._files.full(),
                argv_given=not isinstance(command.argv, str),
                memory_limit=limits.memory if grouped else 0,
            )
        )
        self._refuse_foreign_end(container, asked, done, why)
        return done

    def _kill(self, container: str, listener: Listener) -> None:
        """Kill it and go on reading: the engine (20.10) takes a kill for done only when the output is too."""
        failed: list[SandboxError] = []
        # a thread that nobody waits for at the end: an engine that does not answer must not hold up a stop
        killer = threading.Thread(target=self._kill_told, args=(container, failed), daemon=True)
        killer.start()
        listener.drain(until=lambda: not killer.is_alive(), patience=ANSWER_WITHIN)
        killer.join()
        if failed:
            raise failed[0]
        listener.drain(until=lambda: False)

    def _kill_told(self, container: str, failed: list[SandboxError]) -> None:
        try:
            self._engine.kill(container)
        except SandboxLost:
            pass  # it is not running any more
        except SandboxError as error:
            failed.append(error)

    def _look(self) -> None:
        self._counting.look()
        self._disk_full = self._disk_full or self._files.full()

    def _settled(self, container: str, heard: Heard, asked: float, why: Why) -> Mapping[str, Any]:
        """Its state once it has ended. Raises StreamBroken when it went on without its streams."""
        streams_ended = time.time()
        lost = heard.broken or StreamBroken("the engine let go of the output of a command that still ran")
        end = monotonic() + (SETTLE if heard.broken is None else 1.0)
        pause = 0.002
        while (state := self._engine.inspect(container)["State"]).get("Running"):
            if self._evicted.is_set():
                raise Evicted("the room was closed while a command ran")
            if monotonic() > end:
                raise lost
            time.sleep(pause)
            pause = min(pause * 2, 0.1)
        same_clock = bool(self._frame.cgroup_parent)  # the engine runs on this very kernel
        if why == "streams_ended" and ends.silent_seconds(state, asked, streams_ended, same_clock) > LATE:
            raise lost
        return dict(state)

    def _refuse_foreign_end(self, container: str, asked: float, done: Done, why: Why) -> None:
        """Raise SandboxLost when somebody else stopped or paused the container, EngineGone when the engine
        was restarted meanwhile: they look like an ordinary exit (137, 143, or what a program says to SIGTERM)
        and like a command that took too long."""
        if not done.ok and self._files.machine_full():
            raise SandboxLost("this machine's disk is full: what failed in the room proves nothing")
        if why == "time" and self._engine.events(container, asked - 60, time.time()) & {"pause", "unpause"}:
            raise SandboxLost("the container was paused from outside: its time was not its own")
        if why != "streams_ended" or done.limit == "memory":
            return
        for _ in range(3):
            events = self._engine.events(container, asked - 60, time.time())
            if events & {"kill", "stop"}:
                raise SandboxLost("the container was killed or stopped from outside")
            if events & {"die", "died"}:
                return
            time.sleep(0.05)
        raise EngineGone("the engine has forgotten a container that has just ended: was it restarted?")
