"""The limits of a room and what the kernel counted, when the engine runs on this machine.

An engine removes a container's control group the moment it has ended, and its counters with it. So a room
gets a group of its own above its containers: it holds the limits and outlives them. Version 1 does not
hand two of the counters upwards: memory kills are learnt through an event there, refused forks by looking
at the container's own group while it runs, and at the highest count the room's group has seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from sandboxes.cgroups import Cgroup, Counters, hierarchies
from sandboxes.errors import ProvisionFailed, SandboxError
from sandboxes.spec import Limits

GROUPS = "proctor-engine-"
"""One owner's rooms have their control groups below /proctor-engine-PID-START."""
CPU_PERIOD = 100_000
_V2_CONTROLLERS = ("cpu", "memory", "pids")


class RoomGroup:
    """The control group above a room's containers. `path` is what the engine takes as cgroup parent."""

    def __init__(self, path: str, limits: Limits) -> None:
        """Make it and set its limits. Raises ProvisionFailed; nothing is left then."""
        self.path = path
        self._limits = limits
        self._group = Cgroup.at(path)
        self._folders = dict(self._group.folders)
        self._leaf: Cgroup | None = None
        self._kills = -1
        self._before = Counters()
        self._seen = Counters()
        self._was_at_limit = False
        try:
            self._make()
            self._kills = self._listen_for_kills()
        except OSError as error:
            self.close()
            raise ProvisionFailed(f"the room's control group could not be made: {error}") from error

    def begin(self, container: str) -> None:
        """A container is about to start: count from here."""
        self._leaf = Cgroup.at(f"{self.path}/{container}")
        self._seen = Counters()
        self._taken_kills()
        _put(self._folders.get("memory"), "memory.max_usage_in_bytes", "0")
        self._before = self._group.counters()
        self._was_at_limit = self._at_pids_limit()

    def started(self, pid: Callable[[], int]) -> None:
        """It runs. (Its number is not needed: its group's path is known.)"""

    def look(self) -> None:
        """Keep the counters of the running container: they vanish with it."""
        if self._leaf is not None:
            now = self._leaf.counters()
            self._seen = replace(
                self._seen,
                memory_kills=max(now.memory_kills, self._seen.memory_kills),
                refused_forks=max(now.refused_forks, self._seen.refused_forks),
            )

    def end(self) -> Counters:
        """What the container that began last has used and run into."""
        now, before = self._group.counters(), self._before
        reached = self._at_pids_limit() and not self._was_at_limit
        return Counters(
            memory_kills=max(
                self._seen.memory_kills, now.memory_kills - before.memory_kills, self._taken_kills()
            ),
            refused_forks=max(
                self._seen.refused_forks, now.refused_forks - before.refused_forks, int(reached)
            ),
            peak_memory=now.peak_memory,
            cpu_seconds=_difference(now.cpu_seconds, before.cpu_seconds),
            throttled_seconds=_difference(now.throttled_seconds, before.throttled_seconds),
        )

    def close(self) -> None:
        """Remove the group; the provider removes its owner's. Idempotent."""
        if self._kills >= 0:
            os.close(self._kills)
            self._kills = -1
        self._group.remove(patience=0.5)

    def _make(self) -> None:
        unified = self._folders.get("")
        missing = [name for name in _V2_CONTROLLERS if name not in self._folders]
        if unified is not None and missing:
            _open_downwards(unified, missing)
        for name in ("memory", "pids", "cpu", "cpuacct"):
            if name in self._folders:
                self._folders[name].mkdir(parents=True, exist_ok=True)
        limits = self._limits
        if "memory" in self._folders:
            _must_put(self._folders["memory"], "memory.limit_in_bytes", str(limits.memory))
            _put(self._folders["memory"], "memory.memsw.limit_in_bytes", str(limits.memory))
        elif unified is not None:
            _must_put(unified, "memory.max", str(limits.memory))
            _put(unified, "memory.swap.max", "0")
        _must_put(self._folders.get("pids", unified), "pids.max", str(limits.pids))
        quota = max(1000, int(limits.cpus * CPU_PERIOD))
        if "cpu" in self._folders:
            _must_put(self._folders["cpu"], "cpu.cfs_period_us", str(CPU_PERIOD))
            _must_put(self._folders["cpu"], "cpu.cfs_quota_us", str(quota))
        else:
            _must_put(unified, "cpu.max", f"{quota} {CPU_PERIOD}")

    def _listen_for_kills(self) -> int:
        memory = self._folders.get("memory")
        if memory is None:
            return -1  # version 2 counts upwards by itself
        events = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        control = os.open(memory / "memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _must_put(memory, "cgroup.event_control", f"{events} {control}")
        except OSError:
            os.close(events)
            raise
        finally:
            os.close(control)
        return events

    def _taken_kills(self) -> int:
        if self._kills < 0:
            return 0
        try:
            return os.eventfd_read(self._kills)
        except BlockingIOError:
            return 0

    def _at_pids_limit(self) -> bool:
        folder = self._folders.get("pids")
        if folder is None:
            return False
        try:
            return int((folder / "pids.peak").read_text(encoding="ascii")) >= self._limits.pids
        except (OSError, ValueError):  # kernels before 6.12 do not keep it
            return False


class LooseCounters:
    """Counters of containers that have no group of ours above them.

    here: the engine listens on this machine, so the container's own group can perhaps be read while it is
    there (an engine that hands its groups to systemd, a user without root). Elsewhere, and in an engine that
    lives in a virtual machine, nothing is counted but what the engine tells.
    """

    def __init__(self, here: bool) -> None:
        self._here = here
        self._container = ""
        self._leaf: Cgroup | None = None
        self._seen = Counters()

    def begin(self, container: str) -> None:
        self._container = container
        self._leaf, self._seen = None, Counters()

    def started(self, pid: Callable[[], int]) -> None:
        if self._here:
            try:
                leaf = Cgroup.of(pid())
            except (OSError, SandboxError):
                return  # it has ended already, or the number is one of another machine
            if any(self._container in str(folder) for _, folder in leaf.folders):
                self._leaf = leaf

    def look(self) -> None:
        now = self._leaf.counters() if self._leaf is not None else Counters()
        if now.cpu_seconds is not None or now.peak_memory is not None:
            self._seen = now

    def end(self) -> Counters:
        return self._seen

    def close(self) -> None:
        return


def can_hold_groups(info: Mapping[str, object]) -> bool:
    """Whether rooms can have groups of their own: hierarchies we can write, an engine that uses them."""
    tops = [path for _, path in hierarchies()]
    writable = bool(tops) and all(os.access(top, os.W_OK) for top in tops)
    return writable and info.get("CgroupDriver") == "cgroupfs"


def _open_downwards(group: Path, controllers: list[str]) -> None:
    """Version 2: let the groups down to `group` (two levels below the top) use the controllers."""
    for folder in (group.parents[1], group.parents[0]):
        folder.mkdir(exist_ok=True)
        for name in controllers:
            _put(folder, "cgroup.subtree_control", f"+{name}")
    group.mkdir(exist_ok=True)


def _difference(now: float | None, before: float | None) -> float | None:
    return None if now is None else now - (before or 0.0)


def _put(folder: Path | None, name: str, value: str) -> None:
    try:
        _must_put(folder, name, value)
    except OSError:
        pass


def _must_put(folder: Path | None, name: str, value: str) -> None:
    if folder is not None:
        with (folder / name).open("w", encoding="ascii") as file:
            file.write(value)
