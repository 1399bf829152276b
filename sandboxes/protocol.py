"""The contract between those who need a room and those who make one.

One suite, `tests/contract`, runs against the fake and every real provider.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from sandboxes.spec import Command, Entry, Image, Layer, RoomSpec

EndWord = Literal[
    "exited",
    "signalled",
    "missing_binary",
    "limit_hit:time",
    "limit_hit:memory",
    "limit_hit:pids",
    "limit_hit:disk",
    "limit_hit:output",
]
"""How a command that really ran came to its end.

exited: exit_code is set. signalled: signal is set (a kill of its own making, no limit involved);
exit_code is 128 + signal. missing_binary: the runtime could not execute argv[0] (a shell's own 127 is
"exited"). limit_hit:*: a limit ended it or made it fail; told by the kernel's counters, not by guess.
Order when several apply: memory, pids, disk, output, time. memory counts whenever the counter moved;
pids and disk only when the command did not exit 0.
"""

Sink = Callable[[Literal["stdout", "stderr"], bytes], None]
"""Receives output as it arrives, for live display. Must not block or raise."""


@dataclass(frozen=True)
class Output:
    """One stream, bounded: whole when `not truncated`, else the head and the tail of it."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0
    """Bytes the command wrote, kept or not."""

    @property
    def truncated(self) -> bool:
        return self.total > len(self.head) + len(self.tail)

    @property
    def data(self) -> bytes:
        """What was kept, with a line that says how much is missing when some is."""
        if not self.truncated:
            return self.head + self.tail
        missing = self.total - len(self.head) - len(self.tail)
        return self.head + b"\n[... %d bytes left out ...]\n" % missing + self.tail

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Usage:
    """What a command used; None where the machine does not tell."""

    peak_memory: int | None = None
    """Bytes."""
    cpu_seconds: float | None = None
    throttled_seconds: float | None = None


@dataclass(frozen=True)
class Done:
    """A command that ran to an end. Its processes are all gone; the room's files stay."""

    end: EndWord
    exit_code: int | None
    """Set for exited (0..255) and signalled (128 + signal); None when a limit or missing binary ended it
    before it could exit by itself."""
    signal: int | None
    stdout: Output
    stderr: Output
    seconds: float
    usage: Usage = Usage()

    @property
    def ok(self) -> bool:
        """Ran to its own end and said 0."""
        return self.end == "exited" and self.exit_code == 0

    @property
    def limit(self) -> str | None:
        """The limit's name ("time", "memory", ...) when one ended it."""
        return self.end.partition(":")[2] or None


class Sandbox(Protocol):
    """An open room. Belongs to one thread, except `evict`."""

    id: str
    unenforced: tuple[str, ...]
    """Names of default limits this machine cannot enforce ("disk", "memory", ...)."""

    def run(self, command: Command, sink: Sink | None = None) -> Done:
        """Run one command to its end and leave no process of it behind.

        Returns at the exit of the command itself; children that still hold its output are killed then.
        Raises SandboxLost, EngineGone, StreamBroken or Evicted (never a score).
        """
        ...

    def write(self, entries: Iterable[Entry], target: str, *, owner: Literal["candidate", "root"]) -> None:
        """Put files under the absolute path `target`. Replaces what is there, whatever its kind; never
        follows a link inside the room. root: readable by the room's user, not writable by it."""
        ...

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        """Remove files, links or whole folders given relative to `target`. Missing ones are no error."""
        ...

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's bytes; None when there is no regular file at exactly that path (links are not
        followed at any level). Raises ValueError when it is larger than `limit`."""
        ...

    def export(self, target: str) -> Iterator[Entry]:
        """Every file, link and empty folder below `target`, in byte order. Sockets, devices and pipes are
        left out. Holds at most one file in memory. Raises ValueError for what cannot be taken out: a file
        larger than any change may be, a path longer than any may be."""
        ...

    def evict(self) -> None:
        """Kill what runs here, from any thread: the blocked `run` raises Evicted at once; so do later
        ones."""
        ...


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do on this machine, for `proctor doctor` and the records."""

    provider: str
    available: bool
    version: str = ""
    problem: str = ""
    """One sentence: what is missing and what to install or start. Empty when available."""
    unenforced: tuple[str, ...] = ()
    """Names of limits that cannot be enforced here."""
    notes: tuple[str, ...] = ()
    outside: bool = False
    """Whether its rooms can have the machine's network (`RoomSpec.outside`)."""


@dataclass(frozen=True)
class Reaped:
    """What `reap` removed, in words for people ("container 3f2a (run 2026-..)", "mount /...")."""

    removed: tuple[str, ...] = ()


class Provider(Protocol):
    """Makes rooms. Constructed with (owner: Owner, *, allow_unlimited: bool = False). Thread-safe."""

    name: str

    def capabilities(self) -> Capabilities:
        """Quick look at the machine; starts nothing and raises nothing."""
        ...

    def prepare(self, image: Image, layers: tuple[Layer, ...] = ()) -> str:
        """Make sure image and layers are held here, so that `provision` is quick. Returns the image's
        digest. Safe to call from many threads and processes at once; done once per digest.
        Raises ImageUnavailable, EngineGone."""
        ...

    def provision(self, spec: RoomSpec) -> AbstractContextManager[Sandbox]:
        """Open a room; leaving the context removes every trace of it, whatever happened inside.
        Raises ProvisionFailed, ImageUnavailable, EngineGone, LimitUnenforceable."""
        ...

    def reap(self) -> Reaped:
        """Remove what dead owners left behind; never anything of a live one."""
        ...

    def evict_all(self) -> None:
        """Evict every open room, and refuse new ones (Evicted). For Ctrl-C; callable from any thread."""
        ...

    def close(self) -> None:
        """Give back clients and temp folders. Idempotent."""
        ...
