"""Rooms on a Docker-compatible engine: see `sandboxes.protocol.Provider` for what each method promises."""

from __future__ import annotations

import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from sandboxes import layers as held
from sandboxes.cgroups import Cgroup
from sandboxes.docker import reaper
from sandboxes.docker.config import Base, Frame
from sandboxes.docker.counting import GROUPS, LooseCounters, RoomGroup, can_hold_groups
from sandboxes.docker.engine import Engine
from sandboxes.docker.images import Images
from sandboxes.docker.init import with_our_init
from sandboxes.docker.localfiles import LocalFiles
from sandboxes.docker.probe import shares_our_disk
from sandboxes.docker.room import Counting, DockerRoom, Files
from sandboxes.docker.volumefiles import VolumeFiles
from sandboxes.errors import Evicted, LimitUnenforceable, SandboxError
from sandboxes.home import home
from sandboxes.protocol import Capabilities, Reaped
from sandboxes.seccomp import call_filter
from sandboxes.spec import Image, Layer, Owner, RoomSpec

MAKER = "proctor.maker"
"""Label: which provider made a thing. By it the end finds what a call whose answer was lost has left."""
SWEEPS = 3
"""How often it is tried: an engine that said no once may do it the next time."""
LAST_LOOK = 0.5
"""Seconds for an engine that did not answer last: what it holds is removed if it does now."""
FILES_SWITCH = "PROCTOR_DOCKER_FILES"
"""Environment variable: "volumes" keeps rooms in volumes of the engine even where its disk is ours."""


class DockerProvider:
    """Rooms on the engine at `address` (default: $DOCKER_HOST, else the usual socket; Podman's works too)."""

    name = "docker"

    def __init__(self, owner: Owner, *, allow_unlimited: bool = False, address: str | None = None) -> None:
        self._owner = owner
        self._allow_unlimited = allow_unlimited
        self._engine = Engine(address)
        self._images = Images(self._engine)
        self._rooms: set[DockerRoom] = set()
        self._token = secrets.token_hex(6)
        self._used = False
        self._stopping = False
        self._lock = threading.Lock()

    def capabilities(self) -> Capabilities:
        try:
            info = self._engine.info
        except SandboxError as error:
            return Capabilities(self.name, False, problem=f"{error}; {reaper.how_to_start()}")
        version = f"{info.get('ServerVersion', '?')} at {self._engine.address}"
        where = "this machine's disk" if self._could_share else "volumes of the engine"
        return Capabilities(
            self.name,
            True,
            version,
            unenforced=self._unenforced(self._could_share),
            notes=(f"files in {where}",),
            outside=self._could_share,
        )

    def prepare(self, image: Image, layers: tuple[Layer, ...] = ()) -> str:
        base = self._images.base(image)
        if self._on_our_disk(base):
            for layer in layers:
                held.hold(layer)
        return base.id

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[DockerRoom]:
        room_id = secrets.token_hex(6)
        with ExitStack() as stack:
            room = self._open(room_id, spec, stack)
            with self._lock:
                if self._stopping:
                    raise Evicted("the provider is stopping: no new rooms")
                self._rooms.add(room)
            stack.callback(self._rooms.discard, room)
            yield room

    def reap(self) -> Reaped:
        return reaper.reap(self._engine)

    def evict_all(self) -> None:
        with self._lock:
            self._stopping = True
            rooms = list(self._rooms)
        self._images.stop()
        for room in rooms:
            room.evict()

    def close(self) -> None:
        there = self._used and (self._engine.answering or self._engine.answers_within(LAST_LOOK))
        for _ in range(SWEEPS if there else 0):
            try:
                if not reaper.remove_labelled(self._engine, f"{MAKER}={self._token}"):
                    break
            except SandboxError:
                continue  # what resists is left to the next start
        self._engine.close()
        Cgroup.at(f"/{self._groups}").remove(patience=0.2)
        with suppress(OSError):
            self._folder.rmdir()

    @property
    def _groups(self) -> str:
        return f"{GROUPS}{self._owner.pid}-{self._owner.started}"

    @property
    def _labels(self) -> dict[str, str]:
        return {**self._owner.labels(), MAKER: self._token}

    def _open(self, room_id: str, spec: RoomSpec, stack: ExitStack) -> DockerRoom:
        self._used = True
        base = self._images.base(spec.image)
        local = self._on_our_disk(base)
        unenforced = self._unenforced(local)
        self._refuse(spec, unenforced)
        labels = {**self._labels, "proctor.room": room_id, "proctor.label": spec.label}
        name = f"proctor-{_plain(self._owner.run_id)}-{room_id}"
        files: Files
        if local:
            files = LocalFiles(self._folder / room_id, spec)
        else:
            files = VolumeFiles(self._engine, name, labels, base, spec)
        stack.callback(files.close)
        grouped = local and can_hold_groups(self._engine.info)
        group = f"/{self._groups}/{room_id}" if grouped else ""
        counting: Counting = (
            RoomGroup(group, spec.limits) if grouped else LooseCounters(self._engine.on_this_machine)
        )
        inside = with_our_init(base) if local else base
        filtered = call_filter(self._engine.info, tracing=spec.user != "root")
        frame = Frame(inside, spec, labels, cgroup_parent=group, seccomp=filtered)
        lost = partial(self._images.forget, spec.image)
        room = DockerRoom(room_id, name, self._engine, frame, files, counting, unenforced, lost)
        stack.pop_all()
        stack.callback(room.close)
        return room

    def _refuse(self, spec: RoomSpec, unenforced: tuple[str, ...]) -> None:
        if spec.network.allow:
            raise LimitUnenforceable(
                "this provider cannot open the network for named hosts: leave network.allow empty"
            )
        asked = sorted(spec.limits.asked & set(unenforced))
        if asked and not self._allow_unlimited:
            raise LimitUnenforceable(
                f"this engine cannot enforce the limits that were asked for: {', '.join(asked)}"
                " (--allow-unlimited goes on without)"
            )

    def _unenforced(self, local: bool) -> tuple[str, ...]:
        info = self._engine.info
        able = {
            "cpus": info.get("CpuCfsQuota"),
            "memory": info.get("MemoryLimit"),
            "pids": info.get("PidsLimit"),
            "disk": local,
        }
        return tuple(name for name, can in able.items() if not can)

    @property
    def _folder(self) -> Path:
        owner = self._owner
        return home() / "docker" / f"{owner.pid}-{owner.started}-{_plain(owner.run_id)}"

    @property
    def _could_share(self) -> bool:
        return (
            os.geteuid() == 0 and self._engine.on_this_machine and os.environ.get(FILES_SWITCH) != "volumes"
        )

    def _on_our_disk(self, base: Base) -> bool:
        """Whether this engine sees our mounts. Tried once: a socket here may lead to an engine elsewhere."""
        if not self._could_share:
            return False
        with self._lock:
            if self._shares is None:
                self._used = True
                self._shares = shares_our_disk(self._engine, base, self._labels, self._folder)
            return self._shares

    _shares: bool | None = None


def _plain(text: str) -> str:
    """A run id as container and folder names take it."""
    return re.sub(r"[^a-zA-Z0-9_.-]", "_", text)[:60] or "run"
