"""What a container is told to be: one command, locked in. Pure values in, the engine's own words out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.docker.localfiles import Bind
from sandboxes.spec import DEFAULT_PATH, MIB, ROOM_HOME, ROOM_UID, Command, Limits, RoomSpec

SHM = 64 * MIB
SPARE_MEMORY = 64 * MIB
SPARE_PIDS = 32
"""How much looser a container's own limits are when the room's control group holds the real ones: were both
the same, the inner one would act first and take its counters with it."""
ROOT_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID")
"""What a root room keeps, to install things. What it writes beside its writable paths lasts one command."""


_NAMES = tuple(path for path in ("/etc/nsswitch.conf",) if Path(path).exists())
"""How this machine finds others; the rest of it comes with the host's network."""


@dataclass(frozen=True)
class Base:
    """An image as the engine holds it."""

    id: str
    env: tuple[str, ...] = ()
    """NAME=value, as the image sets them."""
    binds: tuple[Bind, ...] = ()
    """What this machine adds to it (the `host` kind)."""
    init: str = ""
    """Path of an init inside it; empty: the engine brings its own."""


@dataclass(frozen=True)
class Frame:
    """What all containers of a room have in common."""

    base: Base
    spec: RoomSpec
    labels: Mapping[str, str]
    cgroup_parent: str = ""
    """Path of the room's own control group, which then holds the real limits."""
    seccomp: str = ""
    """The filter of system calls as JSON; empty: the engine's own."""


def container(
    frame: Frame, command: Command, binds: Iterable[Bind], volumes: Iterable[str] = ()
) -> dict[str, Any]:
    """The body of a create call for one command.

    binds: folders of this machine. volumes: "name:target[:ro]" of the engine's own.
    """
    spec, base = frame.spec, frame.base
    shared = (*_NAMES, *spec.outside.folders) if spec.outside else ()
    of_the_machine = [Bind(Path(os.path.realpath(path)), path, read_only=True) for path in shared]
    words = ["/bin/sh", "-c", command.argv] if isinstance(command.argv, str) else list(command.argv)
    fed = bool(command.stdin)
    return {
        "Image": base.id,
        "Entrypoint": [base.init, "--", *words] if base.init else words,
        "Env": environment(base.env, {"HOME": ROOM_HOME}, spec.env, command.env),
        "WorkingDir": command.cwd or spec.workdir,
        "User": "0:0" if spec.user == "root" else f"{ROOM_UID}:{ROOM_UID}",
        "Hostname": "room",
        "Labels": dict(frame.labels),
        "AttachStdin": fed,
        "AttachStdout": True,
        "AttachStderr": True,
        "OpenStdin": fed,
        "StdinOnce": fed,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(frame, [*base.binds, *binds, *of_the_machine], list(volumes)),
    }


def environment(*sources: Iterable[str] | Mapping[str, str]) -> list[str]:
    """NAME=value lines: our defaults, then each source over the one before."""
    merged = {"PATH": DEFAULT_PATH, "LANG": "C.UTF-8", "TZ": "UTC"}
    for source in sources:
        pairs = (
            source.items()
            if isinstance(source, Mapping)
            else (line.split("=", 1) for line in source if "=" in line)
        )
        merged.update(dict(pairs))
    return [f"{name}={value}" for name, value in merged.items()]


def _host(frame: Frame, binds: list[Bind], volumes: list[str]) -> dict[str, Any]:
    return {
        "NetworkMode": "host" if frame.spec.outside else "none",
        "CapDrop": ["ALL"],
        "CapAdd": list(ROOT_CAPABILITIES) if frame.spec.user == "root" else [],
        "SecurityOpt": ["no-new-privileges", *([f"seccomp={frame.seccomp}"] if frame.seccomp else [])],
        "ReadonlyRootfs": frame.spec.user != "root",
        "Privileged": False,
        "Init": not frame.base.init,
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "ShmSize": SHM,
        "LogConfig": {"Type": "none"},
        "Mounts": [_mount(bind) for bind in binds],
        "Binds": volumes,
        "Ulimits": [
            {"Name": "nofile", "Soft": frame.spec.limits.open_files, "Hard": frame.spec.limits.open_files},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
        "RestartPolicy": {"Name": "no"},
        **_limits(frame.spec.limits, frame.cgroup_parent),
    }


def _limits(limits: Limits, parent: str) -> dict[str, Any]:
    if parent:
        memory = limits.memory + SPARE_MEMORY
        return {
            "CgroupParent": parent,
            "Memory": memory,
            "MemorySwap": memory,
            "PidsLimit": limits.pids + SPARE_PIDS,
        }
    return {
        "Memory": limits.memory,
        "MemorySwap": limits.memory,
        "PidsLimit": limits.pids,
        "NanoCpus": int(limits.cpus * 1_000_000_000),
    }


def _mount(bind: Bind) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(bind.source),
        "Target": bind.target,
        "ReadOnly": bind.read_only,
        "BindOptions": {"Propagation": "rprivate"},
    }
