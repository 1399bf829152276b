"""The OCI configuration of one command's container: what it sees, what it may do, what it may use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxes.cgroups import counts_swap
from sandboxes.images.identity import HOSTNAME
from sandboxes.seccomp import profile
from sandboxes.spec import DEFAULT_PATH, MIB, ROOM_HOME, ROOM_UID, Command, Limits, RoomSpec

SHM_SIZE = 64 * MIB
_ROOT_CAPABILITIES = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETGID", "CAP_SETUID"]
"""What root needs to install things into a room of its own. Never CAP_KILL: the room's PID 1 is not its."""
_MASKED = (
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
    "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/proc/interrupts", "/proc/cmdline",
    "/proc/1/cgroup", "/sys/firmware", "/sys/devices/virtual/powercap", "/sys/devices/virtual/dmi",
)  # fmt: skip
_OWN_NAMESPACES = ("mount", "network", "ipc", "uts", "cgroup")
_NAMES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


@dataclass(frozen=True)
class Surroundings:
    """What every command of one room has in common."""

    root: Path
    """The room's merged file system on this machine."""
    spec: RoomSpec
    writable: tuple[str, ...]
    """Absolute paths that the room's user may write to."""
    fixed: tuple[str, ...]
    """Absolute paths inside writable ones that stay read-only (layers)."""
    binds: tuple[str, ...]
    """Folders of the machine, read-only at the same place."""
    enforced: frozenset[str]
    """Which limits the control groups can hold."""
    rootless: bool = False
    """The runtime is not root: its rooms know one user only, whose number inside is 0, without any right."""


def config(around: Surroundings, command: Command, *, pid_namespace: str, cgroup: str) -> dict[str, Any]:
    """The whole `config.json` of one command."""
    linux: dict[str, Any] = {
        "namespaces": [
            {"type": "pid", "path": pid_namespace},
            *({"type": kind} for kind in _OWN_NAMESPACES if kind != "network" or not around.spec.outside),
        ],
        "seccomp": profile(),
        "maskedPaths": list(_MASKED),
        "readonlyPaths": list(_READ_ONLY),
    }
    if not around.rootless:
        linux["cgroupsPath"] = cgroup
        linux["resources"] = _resources(around.spec.limits, around.enforced)
    return {
        "ociVersion": "1.0.2",
        "process": _process(around, command),
        "root": {"path": str(around.root), "readonly": around.spec.user != "root"},
        "hostname": HOSTNAME,
        "mounts": [*_mounts(), *_own_mounts(around)],
        "linux": linux,
    }


def environment(spec: RoomSpec, command: Command) -> Mapping[str, str]:
    """The variables of a command: our defaults, then the room's, then its own."""
    home = ROOM_HOME if spec.user == "candidate" else "/root"
    ours = {"PATH": DEFAULT_PATH, "HOME": home, "USER": spec.user, "LANG": "C.UTF-8", "TZ": "UTC"}
    return {**ours, **spec.env, **command.env}


def _process(around: Surroundings, command: Command) -> dict[str, Any]:
    spec = around.spec
    number = 0 if spec.user == "root" or around.rootless else ROOM_UID
    words = ["/bin/sh", "-c", command.argv] if isinstance(command.argv, str) else list(command.argv)
    allowed = _ROOT_CAPABILITIES if spec.user == "root" and not around.rootless else []
    kinds = ("bounding", "effective", "permitted") if allowed else ()
    files = spec.limits.open_files
    return {
        "user": {"uid": number, "gid": number, "umask": 0o022},
        "args": words,
        "env": [f"{name}={value}" for name, value in environment(spec, command).items()],
        "cwd": command.cwd or spec.workdir,
        "noNewPrivileges": True,
        "capabilities": dict.fromkeys(kinds, allowed),
        "rlimits": [
            {"type": "RLIMIT_NOFILE", "soft": files, "hard": files},
            {"type": "RLIMIT_CORE", "soft": 0, "hard": 0},
        ],
    }


def _mounts() -> list[dict[str, Any]]:
    quiet = ["nosuid", "noexec", "nodev"]
    return [
        _mount("/proc", "proc", quiet),
        _mount("/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
        _mount("/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"]),
        _mount("/dev/shm", "tmpfs", [*quiet, "mode=1777", f"size={SHM_SIZE}"]),
        _mount("/sys", "sysfs", [*quiet, "ro"]),
    ]


def _own_mounts(around: Surroundings) -> list[dict[str, Any]]:
    found = [_bind(path, path, "ro") for path in around.binds]
    if around.spec.user == "candidate":
        found += [_bind(f"{around.root}{path}", path, "rw") for path in around.writable]
    found += [_bind(os.path.realpath(path), path, "ro") for path in _of_the_machine(around.spec)]
    return found + [_bind(f"{around.root}{path}", path, "ro") for path in around.fixed]


def _of_the_machine(spec: RoomSpec) -> tuple[str, ...]:
    """Of the machine: how it finds other machines, and the folders that were asked for."""
    if spec.outside is None:
        return ()
    return (*(path for path in _NAMES if Path(path).exists()), *spec.outside.folders)


def _mount(place: str, kind: str, options: list[str]) -> dict[str, Any]:
    return {"destination": place, "type": kind, "source": kind, "options": options}


def _bind(source: str, place: str, access: str) -> dict[str, Any]:
    options = ["bind", "private", "nosuid", "nodev", access]
    return {"destination": place, "type": "bind", "source": source, "options": options}


def _resources(limits: Limits, enforced: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"devices": [{"allow": False, "access": "rwm"}]}
    if "memory" in enforced:
        found["memory"] = {"limit": limits.memory}
        if counts_swap():
            found["memory"]["swap"] = limits.memory
    if "pids" in enforced:
        found["pids"] = {"limit": limits.pids}
    if "cpus" in enforced:
        found["cpu"] = {"quota": max(1000, int(limits.cpus * 100_000)), "period": 100_000}
    return found
