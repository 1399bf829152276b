"""What a room is made of: plain frozen values that every provider understands.

A room is a *file system* (image + layers + scratch space). Each `Command` is one container over that
file system: when it returns, none of its processes is left, and the files it wrote are still there.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

ROOM_UID = 1000
"""uid and gid of the unprivileged user inside every room (named `candidate`)."""
ROOM_HOME = "/home/candidate"
"""Home folder inside a room: writable, empty at start."""
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

MIB = 1 << 20
LIMIT_NAMES = ("cpus", "memory", "pids", "disk", "time", "output")


@dataclass(frozen=True)
class Limits:
    """What a room may use. `asked` names those the task or the user set; the others are defaults.

    A limit in `asked` that a machine cannot enforce stops the start (`LimitUnenforceable`) unless the
    provider was told `allow_unlimited`; a default that cannot be enforced is only reported
    (`Sandbox.unenforced`).
    """

    cpus: float = 1.0
    """CPU share, in cores."""
    memory: int = 1024 * MIB
    """Bytes of memory, swap not added."""
    pids: int = 512
    """Processes and threads at once."""
    disk: int = 2048 * MIB
    """Bytes that may be written, over all writable paths together."""
    time: float = 600.0
    """Seconds one command may take (monotonic clock)."""
    output: int = 10 * MIB
    """Bytes kept of each stream: half from the head, half from the tail. At 100 times this
    (`OUTPUT_FLOOD`) the command is ended with limit_hit:output."""
    open_files: int = 4096
    asked: frozenset[str] = frozenset()


OUTPUT_FLOOD = 100
"""A stream that writes more than `Limits.output` times this number ends the command."""


@dataclass(frozen=True)
class Image:
    """The base file system.

    kind "host": the machine's own /usr, read-only, with a synthetic /etc (ref is ignored).
    kind "image": ref names an image of the engine ("debian:12", a digest, ...).
    kind "dockerfile": ref is the path of a Dockerfile's folder.
    kind "debian": ref is a suite ("bookworm"), packages are installed into it.
    kind "rootfs": ref is the path of an unpacked root file system.
    """

    kind: Literal["host", "image", "dockerfile", "debian", "rootfs"] = "host"
    ref: str = ""
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One file, link or folder. `path` is relative, as raw bytes, never absolute, no "..".

    mode is git's: 0o100644, 0o100755, 0o120000 (link; data is its target) or 0o040000 (folder).
    """

    path: bytes
    mode: int
    data: bytes = b""


@dataclass(frozen=True)
class Layer:
    """Files that appear at `target` (absolute path in the room), held by the provider under `digest`.

    writable: belongs to the room's user and can be changed by it; the changes are the room's own
    (copy on write). Otherwise it belongs to root and is mounted read-only.
    `entries` is called only when the provider does not hold the digest yet.
    """

    digest: str
    target: str
    entries: Callable[[], Iterable[Entry]] = field(compare=False, repr=False)
    writable: bool = False


@dataclass(frozen=True)
class Network:
    """Which hosts a room may reach. Empty (the default): none, not even the machine itself."""

    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outside:
    """What a room shares with the machine so that registries' clients can work in it.

    Only proctor's own fetching asks for it. Nothing in a benchmark becomes an Outside, so no task, agent or
    oracle ever sees one.
    """

    folders: tuple[str, ...] = ()
    """Folders and files of the machine (absolute paths), read-only at the same place: mirrors on disk."""


@dataclass(frozen=True)
class RoomSpec:
    """Everything needed to open a room."""

    image: Image = Image()
    layers: tuple[Layer, ...] = ()
    workdir: str = "/workspace"
    env: Mapping[str, str] = field(default_factory=dict)
    """Given to every command of the room. PATH, HOME, LANG and TZ have defaults."""
    limits: Limits = Limits()
    network: Network = Network()
    outside: Outside | None = None
    """Set: the room has the machine's own network and names. None, as for every task: it has neither."""
    user: Literal["candidate", "root"] = "candidate"
    label: str = ""
    """Free text for people (the trial's id); also put on what the engine lists."""


@dataclass(frozen=True)
class Command:
    """One command. `argv` as a string is given to the room's `/bin/sh -c`; as a tuple it is executed."""

    argv: str | tuple[str, ...]
    timeout: float | None = None
    """Seconds; None means the room's `limits.time`; the nearer of the two wins."""
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    """None means the room's workdir."""


@dataclass(frozen=True)
class Owner:
    """Who made a thing: enough to tell later whether its maker still lives."""

    run_id: str
    pid: int
    started: int
    """Start time of `pid` in clock ticks since boot (field 22 of /proc/PID/stat)."""
    host: str

    @classmethod
    def current(cls, run_id: str) -> Owner:
        """This very process."""
        pid = os.getpid()
        return cls(run_id, pid, process_start(pid) or 0, socket.gethostname())

    def alive(self) -> bool:
        """Whether the maker is still running on this host. Another host's makers count as alive."""
        if self.host != socket.gethostname():
            return True
        return process_start(self.pid) == self.started

    def labels(self) -> dict[str, str]:
        """As engine labels; `from_labels` reads them back."""
        return {
            "proctor.run": self.run_id,
            "proctor.pid": str(self.pid),
            "proctor.started": str(self.started),
            "proctor.host": self.host,
        }

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Owner | None:
        """None when the labels are not (all) ours."""
        try:
            return cls(
                labels["proctor.run"],
                int(labels["proctor.pid"]),
                int(labels["proctor.started"]),
                labels["proctor.host"],
            )
        except (KeyError, ValueError):
            return None


def process_start(pid: int) -> int | None:
    """Start time of a live process in clock ticks since boot; None when there is none (or a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def parent_of(pid: int) -> int | None:
    """The parent of a process, also of one that only waits to be reaped; None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])
