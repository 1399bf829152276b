"""A provider that lives in memory: for tests of everything that stands above a room.

Rooms hold files as `Entry` values built from the spec's layers; commands are answered by a script, or by the
few shell words of `sandboxes.fakeshell`. Nothing is started, nothing is written to disk. Faults are injected
by call:

>>> fake = FakeProvider(faults={"run:2": SandboxLost("pulled the plug")})
>>> with fake.provision(RoomSpec()) as room:
...     print(room.run(Command("echo hello")).stdout.text, end="")
...     room.run(Command("true"))
Traceback (most recent call last):
...
sandboxes.errors.SandboxLost: pulled the plug
>>> fake.open_rooms
0
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from sandboxes import fakeshell
from sandboxes.errors import Evicted, LimitUnenforceable, SandboxLost
from sandboxes.fakefiles import FakeFiles
from sandboxes.protocol import Capabilities, Done, EndWord, Output, Reaped, Sink
from sandboxes.spec import Command, Entry, Image, Layer, Owner, RoomSpec

Script = Callable[["FakeRoom", Command], Done | BaseException | None]
"""Answers a command: a `Done`, an exception (raised by `run`), or None to let the built-in shell answer."""


class FakeProvider:
    """In-memory rooms. Thread-safe.

    script: answers commands; by default only the built-in shell does.
    faults: what goes wrong, by call. The key is an operation ("prepare", "provision", "run", "write",
        "remove", "read", "export"), alone (each time) or with its 1-based number over the provider's life
        ("run:3"). The value is an exception, raised instead of the operation.
    unenforced: names of limits this machine is to be unable to enforce.
    counts: how often each operation was called. open_rooms, most_open: rooms now, and at most.
    """

    name = "fake"

    def __init__(
        self,
        owner: Owner | None = None,
        *,
        allow_unlimited: bool = False,
        script: Script | None = None,
        faults: Mapping[str, BaseException] | None = None,
        unenforced: tuple[str, ...] = (),
    ) -> None:
        self.owner = owner or Owner.current("fake")
        self.counts: Counter[str] = Counter()
        self.open_rooms = 0
        self.most_open = 0
        self.script = script
        self._allow_unlimited = allow_unlimited
        self._faults = dict(faults or {})
        self._unenforced = unenforced
        self._layers: dict[str, tuple[Entry, ...]] = {}
        self._rooms: set[FakeRoom] = set()
        self._stopping = False
        self._lock = threading.Lock()

    def capabilities(self) -> Capabilities:
        return Capabilities(self.name, available=True, version="1", unenforced=self._unenforced)

    def prepare(self, image: Image, layers: tuple[Layer, ...] = ()) -> str:
        self.called("prepare")
        for layer in layers:
            self._held(layer)
        return "sha256:" + hashlib.sha256(repr(image).encode()).hexdigest()

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[FakeRoom]:
        self.called("provision")
        refused = sorted(spec.limits.asked & set(self._unenforced))
        if refused and not self._allow_unlimited:
            raise LimitUnenforceable(f"the fake cannot enforce: {', '.join(refused)}")
        room = self._open(spec)
        try:
            yield room
        finally:
            with self._lock:
                self._rooms.discard(room)
                self.open_rooms -= 1
            room.closed = True

    def reap(self) -> Reaped:
        return Reaped()

    def evict_all(self) -> None:
        with self._lock:
            self._stopping = True
            rooms = list(self._rooms)
        for room in rooms:
            room.evict()

    def close(self) -> None:
        self._layers.clear()

    def called(self, operation: str) -> None:
        """Count an operation and raise the fault that waits for it, if any."""
        with self._lock:
            self.counts[operation] += 1
            key = f"{operation}:{self.counts[operation]}"
        fault = self._faults.get(key) or self._faults.get(operation)
        if fault is not None:
            raise type(fault)(*fault.args)

    def _open(self, spec: RoomSpec) -> FakeRoom:
        layers = [(layer, self._held(layer)) for layer in spec.layers]
        with self._lock:
            if self._stopping:
                raise Evicted("the provider is stopping")
            room = FakeRoom(self, f"fake-{self.counts['provision']}", spec, layers, self._unenforced)
            self._rooms.add(room)
            self.open_rooms += 1
            self.most_open = max(self.most_open, self.open_rooms)
        return room

    def _held(self, layer: Layer) -> tuple[Entry, ...]:
        if layer.digest not in self._layers:
            self._layers[layer.digest] = tuple(layer.entries())
        return self._layers[layer.digest]


class FakeRoom:
    """One room in memory. `files` may be looked into and changed by tests and scripts."""

    in_memory = True
    """No process runs in it that could read what another was given."""

    def __init__(
        self,
        provider: FakeProvider,
        room_id: str,
        spec: RoomSpec,
        layers: Iterable[tuple[Layer, Iterable[Entry]]],
        unenforced: tuple[str, ...],
    ) -> None:
        self.id = room_id
        self.spec = spec
        self.unenforced = unenforced
        self.files = FakeFiles()
        self.evicted = threading.Event()
        self.closed = False
        self._provider = provider
        for layer, entries in layers:
            self.files.write(entries, layer.target, read_only=not layer.writable)

    def run(self, command: Command, sink: Sink | None = None) -> Done:
        self._called("run")
        answer = self._provider.script(self, command) if self._provider.script else None
        if answer is None:
            answer = fakeshell.run(self, command)
        if self.evicted.is_set():
            raise Evicted(f"room {self.id} was evicted")
        if isinstance(answer, BaseException):
            raise answer
        if sink is not None:
            _replay(answer, sink)
        return answer

    def write(self, entries: Iterable[Entry], target: str, *, owner: Literal["candidate", "root"]) -> None:
        self._called("write")
        self.files.write(entries, target, read_only=owner == "root")

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        self._called("remove")
        self.files.remove(paths, target)

    def read(self, path: str, limit: int) -> bytes | None:
        self._called("read")
        return self.files.read(path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        self._called("export")
        return self.files.export(target)

    def evict(self) -> None:
        self.evicted.set()

    def seconds_for(self, command: Command) -> float:
        """The time limit that holds for this command: the nearer of its own and the room's."""
        return min(command.timeout or self.spec.limits.time, self.spec.limits.time)

    def _called(self, operation: str) -> None:
        if self.evicted.is_set():
            raise Evicted(f"room {self.id} was evicted")
        if self.closed:
            raise SandboxLost(f"room {self.id} is closed")
        self._provider.called(operation)


def done(
    exit_code: int = 0, stdout: str | bytes = b"", stderr: str | bytes = b"", seconds: float = 0.0
) -> Done:
    """A command that exited by itself: what most scripts answer."""
    return Done("exited", exit_code, None, _output(stdout), _output(stderr), seconds)


def ended(end: EndWord, stdout: str | bytes = b"", signal: int | None = None, seconds: float = 0.0) -> Done:
    """A command that came to another end: a limit ("limit_hit:time"), a signal, a missing binary."""
    code = 128 + signal if signal is not None and end == "signalled" else None
    return Done(end, code, signal, _output(stdout), Output(), seconds)


def _output(data: str | bytes) -> Output:
    data = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    return Output(head=data, total=len(data))


def _replay(answer: Done, sink: Sink) -> None:
    if answer.stdout.total:
        sink("stdout", answer.stdout.data)
    if answer.stderr.total:
        sink("stderr", answer.stderr.data)
