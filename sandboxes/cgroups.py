"""What the kernel counted for one command: memory kills, refused forks, peak memory, processor time.

Reads control groups of version 1, version 2 and the mixture of both, and removes those we made.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sandboxes.spec import process_start


@dataclass(frozen=True)
class Counters:
    """None or 0 where this machine does not count."""

    memory_kills: int = 0
    """Processes the kernel killed because the group's memory limit was reached."""
    refused_forks: int = 0
    """Processes or threads not started because the group's limit was reached."""
    peak_memory: int | None = None
    """Bytes."""
    cpu_seconds: float | None = None
    throttled_seconds: float | None = None


@dataclass(frozen=True)
class Cgroup:
    """One control group over all hierarchies: controller name ("" for version 2) to its folder."""

    folders: tuple[tuple[str, Path], ...]

    @classmethod
    def at(cls, path: str) -> Cgroup:
        """The group of this absolute path in every hierarchy ("/proctor/...")."""
        return cls(tuple((name, top / path.strip("/")) for name, top in hierarchies()))

    @classmethod
    def of(cls, pid: int) -> Cgroup:
        """The group a live process is in. Raises OSError when it is gone."""
        paths = {}
        for line in Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
            _, names, path = line.split(":", 2)
            paths.update(dict.fromkeys(names.removeprefix("name=").split(","), path))
        tops = hierarchies()
        return cls(tuple((name, top / paths[name].strip("/")) for name, top in tops if name in paths))

    def counters(self) -> Counters:
        """Read the counters; call it when the processes are dead and the group still exists."""
        memory, pids = self._folder("memory"), self._folder("pids")
        cpu, account = self._folder("cpu"), self._folder("cpuacct")
        if self._is_v2("memory"):
            kills, peak = _keyed(memory, "memory.events", "oom_kill"), _number(memory, "memory.peak")
        else:
            kills = _keyed(memory, "memory.oom_control", "oom_kill")
            peak = _number(memory, "memory.max_usage_in_bytes")
        if self._is_v2("cpu"):
            used, throttled = _keyed(cpu, "cpu.stat", "usage_usec"), _keyed(cpu, "cpu.stat", "throttled_usec")
            unit = 1e6
        else:
            used, throttled = _number(account, "cpuacct.usage"), _keyed(cpu, "cpu.stat", "throttled_time")
            unit = 1e9
        return Counters(
            memory_kills=kills or 0,
            refused_forks=_keyed(pids, "pids.events", "max") or 0,
            peak_memory=peak,
            cpu_seconds=None if used is None else used / unit,
            throttled_seconds=None if throttled is None else throttled / unit,
        )

    def kill(self) -> None:
        """Kill every process of the group and of the groups below it."""
        for _, folder in self.folders:
            for procs in folder.glob("**/cgroup.procs"):
                for pid in _pids(procs):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass

    def remove(self, patience: float = 2.0) -> bool:
        """Remove the group and the groups below it; False when something still lives in one of them.

        A group stays busy for some milliseconds after its last process: `patience` is in seconds.
        """
        end = time.monotonic() + patience
        left = [folder for _, folder in self.folders]
        pause = 0.0005
        while True:
            left = [folder for folder in left if not _rmdir(folder)]
            if not left or time.monotonic() > end:
                return not left
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def _folder(self, controller: str) -> Path | None:
        found = dict(self.folders)
        return found.get(controller, found.get(""))

    def _is_v2(self, controller: str) -> bool:
        return controller not in dict(self.folders)


def sweep(prefix: str) -> list[str]:
    """Remove the groups /<prefix>PID-START whose maker is gone and that hold no process; what, in words.

    No folder need tell of them: also those go whose maker's home was removed.
    """
    removed = set()
    for _, top in hierarchies():
        for folder in top.glob(f"{prefix}*"):
            pid, _, started = folder.name.removeprefix(prefix).partition("-")
            if not (pid.isdigit() and started.isdigit()) or process_start(int(pid)) == int(started):
                continue
            group = Cgroup.at(f"/{folder.name}")
            if not _busy(group) and group.remove(patience=0.2):
                removed.add(f"control group {folder.name}")
    return sorted(removed)


def _busy(group: Cgroup) -> bool:
    try:
        return any(procs.read_text() for _, top in group.folders for procs in top.glob("**/cgroup.procs"))
    except OSError:  # it changed under our eyes: somebody is at work there
        return True


@cache
def hierarchies() -> tuple[tuple[str, Path], ...]:
    """Every mounted hierarchy as (controller, top folder); version 2 is ("", folder)."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        top = Path(before.split(" ")[4])
        if kind == "cgroup2":
            found.append(("", top))
        elif kind == "cgroup":
            words = options.split(" ")[-1].split(",")
            found += [(word.removeprefix("name="), top) for word in words if _is_controller(word)]
    return tuple(found)


def enforceable() -> frozenset[str]:
    """Which of "memory", "pids" and "cpus" the control groups of this machine can limit, for root."""
    tops = dict(hierarchies())
    able = set(tops) - {""}
    if "" in tops:
        able |= set((_text(tops[""], "cgroup.controllers") or "").split())
    names = {"memory": "memory", "pids": "pids", "cpu": "cpus"}
    return frozenset(limit for controller, limit in names.items() if controller in able)


def counts_swap() -> bool:
    """Whether swap can be limited together with memory."""
    top = dict(hierarchies()).get("memory")
    return True if top is None else (top / "memory.memsw.limit_in_bytes").exists()


_NOT_CONTROLLERS = {"rw", "ro", "xattr", "noprefix", "clone_children", "nsdelegate", "all", "none"}


def _is_controller(word: str) -> bool:
    return word not in _NOT_CONTROLLERS and not word.startswith("release_agent")


def _rmdir(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        try:
            for below in [item for item in folder.iterdir() if item.is_dir()]:
                _rmdir(below)
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
    return True


def _pids(procs: Path) -> list[int]:
    try:
        return [int(word) for word in procs.read_text(encoding="ascii").split()]
    except OSError:
        return []


def _text(folder: Path | None, name: str) -> str | None:
    if folder is None:
        return None
    try:
        return (folder / name).read_text(encoding="ascii")
    except OSError:
        return None


def _number(folder: Path | None, name: str) -> int | None:
    text = _text(folder, name)
    return int(text) if text and text.strip().isdigit() else None


def _keyed(folder: Path | None, name: str, key: str) -> int | None:
    for line in (_text(folder, name) or "").splitlines():
        word, _, value = line.partition(" ")
        if word == key:
            return int(value)
    return None
