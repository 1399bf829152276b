"""The `oci` provider: rooms of an OCI runtime, without any daemon."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from sandboxes import cgroups, layers, scratch
from sandboxes.errors import EngineGone, Evicted, LimitUnenforceable
from sandboxes.home import rooms
from sandboxes.images import ImageDamaged, RootFs
from sandboxes.oci import keeper, reaper
from sandboxes.oci.images import resolve
from sandboxes.oci.pidspace import adopt_orphans
from sandboxes.oci.room import OciRoom
from sandboxes.oci.runtime import Runtime
from sandboxes.protocol import Capabilities, Reaped
from sandboxes.spec import LIMIT_NAMES, MIB, Image, Layer, Owner, RoomSpec

_LEAST = {"cpus": 0.01, "memory": 6 * MIB, "pids": 1, "disk": 4 * MIB, "open_files": 16}
"""Below these no container can even be started."""


class OciProvider:
    """A `Provider`. Needs runc (or another OCI runtime); as root also e2fsprogs.

    For an ordinary user rooms open in user namespaces: the host image and unpacked root file systems work,
    memory, pids, cpus and disk are not limited (`unenforced`), and the room's user is numbered 0, but has
    no right of root.
    """

    name = "oci"

    def __init__(self, owner: Owner, *, allow_unlimited: bool = False) -> None:
        self._owner = owner
        self._allow_unlimited = allow_unlimited
        self._lock = threading.Lock()
        self._open: set[OciRoom] = set()
        self._images: dict[Image, RootFs] = {}
        self._closing = False
        self._runtime: Runtime | None = None

    def capabilities(self) -> Capabilities:
        try:
            runtime = Runtime.find()
        except EngineGone as error:
            return Capabilities(self.name, available=False, problem=str(error))
        problem = _problem()
        left = tuple(name for name in LIMIT_NAMES if name not in self._enforced)
        who = "root" if os.geteuid() == 0 else "an ordinary user, in user namespaces"
        if os.geteuid() == 0 and "disk" in left:
            who += " (no disk limit: install e2fsprogs and provide /dev/loop-control)"
        notes = (f"run by {who}", f"runtime {runtime.path}", f"control groups: {_hierarchy()}")
        root = os.geteuid() == 0
        return Capabilities(self.name, not problem, runtime.version(), problem, left, notes, outside=root)

    def prepare(self, image: Image, layers_: tuple[Layer, ...] = ()) -> str:
        digest = self._image(image).digest
        for layer in layers_:
            layers.hold(layer)
        return digest

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[OciRoom]:
        unenforced = self._refuse_or_name(spec)
        runtime = self._ready()
        image = self._image(spec.image)
        held = tuple(layers.hold(layer) for layer in spec.layers)
        room = OciRoom(
            rooms(self._owner) / secrets.token_hex(4),
            spec,
            image,
            held,
            runtime=runtime,
            cgroup=reaper.cgroup_of(self._owner),
            enforced=self._enforced,
            unenforced=unenforced,
        )
        try:
            with self._lock:
                if self._closing:
                    raise Evicted("no new rooms: everything is being closed")
                self._open.add(room)
            yield room
        except ImageDamaged:
            self._images.pop(spec.image, None)
            raise
        finally:
            with self._lock:
                self._open.discard(room)
            room.close()

    def reap(self) -> Reaped:
        return reaper.reap()

    def evict_all(self) -> None:
        with self._lock:
            self._closing = True
            present = list(self._open)
        for room in present:
            room.evict()

    def close(self) -> None:
        with self._lock:
            if self._open:
                return
        cgroups.Cgroup.at(reaper.cgroup_of(self._owner)).remove(patience=0.5)
        folder = rooms(self._owner)
        (folder / "owner.json").unlink(missing_ok=True)
        try:
            folder.rmdir()
        except OSError:
            pass  # something resisted: reap has another try

    def _ready(self) -> Runtime:
        with self._lock:
            if self._closing:
                raise Evicted("no new rooms: everything is being closed")
            if self._runtime is None:
                problem = _problem()
                if problem:
                    raise EngineGone(problem)
                adopt_orphans()
                self._runtime = Runtime.find()
            return self._runtime

    def _refuse_or_name(self, spec: RoomSpec) -> tuple[str, ...]:
        if spec.network.allow:
            raise LimitUnenforceable("network.allow is not yet supported by the oci provider: leave it empty")
        if spec.outside is not None and os.geteuid() != 0:
            raise LimitUnenforceable("rooms of an ordinary user cannot have the machine's network")
        limits = spec.limits
        for name, least in _LEAST.items():
            if getattr(limits, name) < least:
                raise LimitUnenforceable(
                    f"limits.{name}: {getattr(limits, name)} is less than the {least} a room needs"
                )
        left = tuple(name for name in LIMIT_NAMES if name not in self._enforced)
        asked = [name for name in left if name in limits.asked]
        if asked and not self._allow_unlimited:
            raise LimitUnenforceable(
                f"the limit on {', '.join(asked)} cannot be enforced on this machine: "
                "drop it or pass --allow-unlimited"
            )
        return left

    @cached_property
    def _enforced(self) -> frozenset[str]:
        return _enforceable()

    def _image(self, image: Image) -> RootFs:
        found = self._images.get(image)
        if found is None or not all(lower.is_dir() for lower in found.lowers):
            found = self._images[image] = resolve(image)
        return found


def _problem() -> str:
    return "" if os.geteuid() == 0 else keeper.problem()


def _enforceable() -> frozenset[str]:
    able = {"time", "output"}
    if os.geteuid() == 0:
        able |= cgroups.enforceable()
        able |= {"disk"} if scratch.sized_possible() else set()
    return frozenset(able)


def _hierarchy() -> str:
    names = [name for name, _ in cgroups.hierarchies()]
    if "" not in names:
        return "version 1"
    return "version 2" if set(names) <= {"", "systemd"} else "versions 1 and 2"
