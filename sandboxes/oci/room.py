"""One open room: an overlay over image and layers, and a container for each command."""

from __future__ import annotations

import errno
import logging
import os
import posixpath
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

from sandboxes import roomfs, scratch
from sandboxes.errors import Evicted, ProvisionFailed, RoomFull, SandboxLost, machine_trouble
from sandboxes.images import ImageDamaged, RootFs
from sandboxes.layers import Held
from sandboxes.oci.config import Surroundings
from sandboxes.oci.container import Container
from sandboxes.oci.keeper import Keeper, remove_tree
from sandboxes.oci.runtime import Runtime
from sandboxes.output import Collector
from sandboxes.protocol import Done, Sink
from sandboxes.scratch import Scratch
from sandboxes.spec import ROOM_HOME, ROOM_UID, Command, Entry, RoomSpec

_log = logging.getLogger(__name__)
_ROOM_USER = (ROOM_UID, ROOM_UID)


class OciRoom:
    """A `Sandbox`. Made open; give it back with `close`."""

    def __init__(
        self,
        folder: Path,
        spec: RoomSpec,
        image: RootFs,
        layers: tuple[Held, ...],
        *,
        runtime: Runtime,
        cgroup: str,
        enforced: frozenset[str],
        unenforced: tuple[str, ...],
    ) -> None:
        self.id = folder.name
        self.unenforced = unenforced
        self._folder, self._spec, self._runtime, self._cgroup = folder, spec, runtime, cgroup
        self._rootless = os.geteuid() != 0
        self._keeper: Keeper | None = None
        self._root = folder / "root"
        self._image = image
        self._count = 0
        self._evicted = threading.Event()
        self._closed = False
        self._lock = threading.Lock()
        with machine_trouble("the room could not be opened"):
            self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._around = replace(_surroundings(self._root, spec, image, enforced), rootless=self._rootless)
        try:
            with machine_trouble("the room could not be opened"):
                folder.mkdir()
                self._scratch = self._open_scratch(enforced)
                self._lowers = image.folders()
                self._stack(image, layers)
        except BaseException:
            self.close()
            raise

    def run(self, command: Command, sink: Sink | None = None) -> Done:
        self._check()
        place = command.cwd or self._spec.workdir
        if self._is_writable(place) and not roomfs.is_folder(self._root, place):
            return _no_such_folder(place)
        self._count += 1
        container = Container(
            name=f"{self.id}-{self._count}",
            folder=self._folder / f"run-{self._count}",
            around=self._around,
            runtime=self._runtime,
            scratch=self._scratch,
            cgroup_path=f"{self._cgroup}/{self.id}-{self._count}",
            wake=self._wake,
            inside=self._keeper.inside if self._keeper else (),
        )
        with machine_trouble("a command could not be run"):
            done = container.run(command, sink)
            if done.end == "missing_binary" and self._image.lost(self._lowers):
                raise ImageDamaged(f"{self._image.lowers[-1]} lost files while this room was open over it")
            return done

    def write(self, entries: Iterable[Entry], target: str, *, owner: Literal["candidate", "root"]) -> None:
        self._check()
        who = None if self._rootless else _ROOM_USER if owner == "candidate" else (0, 0)
        try:
            roomfs.write(self._root, entries, target, who)
        except OSError as error:
            limited = bool(self._scratch.device) and error.errno in (errno.ENOSPC, errno.EDQUOT)
            kind = RoomFull if limited else ProvisionFailed
            raise kind(f"could not write to {target} in the room: {error}") from error

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        self._check()
        with machine_trouble("files could not be removed"):
            roomfs.remove(self._root, paths, target)

    def read(self, path: str, limit: int) -> bytes | None:
        self._check()
        with machine_trouble("a file could not be read"):
            return roomfs.read(self._root, path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        self._check()
        return _told(roomfs.export(self._root, target))

    def evict(self) -> None:
        self._evicted.set()
        with self._lock:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Remove every trace of the room. Never raises: what resists is logged and left to `reap`."""
        with self._lock:
            self._closed = True
            if self._wake >= 0:
                os.close(self._wake)
            self._wake = -1
        if self._keeper is not None:
            self._keeper.close()
        else:
            scratch.unmount(self._folder / "root")
        if hasattr(self, "_scratch"):
            self._scratch.close()
        if _still_mounted(self._folder):
            _log.warning("room %s is still mounted; `proctor reap` removes it later", self.id)
            return
        remove_tree(self._folder)

    def _check(self) -> None:
        if self._evicted.is_set():
            raise Evicted(f"room {self.id} was evicted")
        if self._closed:
            raise SandboxLost(f"room {self.id} is closed")

    def _open_scratch(self, enforced: frozenset[str]) -> Scratch:
        if "disk" in enforced:
            return Scratch.open(self._folder, self._spec.limits.disk)
        return Scratch.plain(self._folder)

    def _stack(self, image: RootFs, layers: tuple[Held, ...]) -> None:
        upper = self._scratch.path / "upper"
        upper.mkdir()
        upper.chmod(0o755)
        for place in self._around.writable:
            shared = place in ("/tmp", "/var/tmp")
            owner = None if self._rootless else (0, 0) if shared else _ROOM_USER
            _make_place(upper, place, 0o1777 if shared else 0o755, owner)
        lowers = [held.root for held in reversed(layers)] + list(image.lowers)
        work = self._scratch.path / "work"
        if self._rootless:
            self._keeper = Keeper.open(lowers, upper, work, self._root)
            self._root = self._keeper.seen(self._root)
        else:
            scratch.overlay(lowers, upper, work, self._root)

    def _is_writable(self, place: str) -> bool:
        return any(_is_below(place, top) for top in self._around.writable)


def _surroundings(root: Path, spec: RoomSpec, image: RootFs, enforced: frozenset[str]) -> Surroundings:
    for layer in spec.layers:
        if any(_is_below(layer.target, bind) or _is_below(bind, layer.target) for bind in image.binds):
            raise ProvisionFailed(
                f"no layer can be put at {layer.target}: this image shows the machine's own there"
            )
        top = "/" + layer.target.strip("/").split("/")[0]
        if (image.lowers[-1] / top[1:]).is_symlink():
            raise ProvisionFailed(f"no layer can be put at {layer.target}: {top} is a link in this image")
    places = [spec.workdir, "/tmp", "/var/tmp", ROOM_HOME, *(e.target for e in spec.layers if e.writable)]
    writable = _tops(posixpath.normpath(place) for place in places)
    if "/" in writable or not all(place.startswith("/") for place in writable):
        raise ProvisionFailed(f"the workdir must be an absolute path below /, not {spec.workdir!r}")
    fixed = [
        e.target for e in spec.layers if not e.writable and any(_is_below(e.target, w) for w in writable)
    ]
    return Surroundings(root, spec, writable, tuple(fixed), image.binds, enforced)


def _tops(places: Iterable[str]) -> tuple[str, ...]:
    """Without those that lie below another one."""
    kept: list[str] = []
    for place in sorted(set(places), key=lambda place: place.count("/")):
        if not any(_is_below(place, top) for top in kept):
            kept.append(place)
    return tuple(kept)


def _is_below(place: str, top: str) -> bool:
    return place == top or place.startswith(top.rstrip("/") + "/")


def _make_place(upper: Path, place: str, mode: int, owner: tuple[int, int] | None) -> None:
    folder = upper
    for part in place.strip("/").split("/"):
        folder = folder / part
        if not folder.is_dir():
            folder.mkdir()
            folder.chmod(0o755)
    folder.chmod(mode)
    if owner is not None:
        os.chown(folder, *owner)


def _told(entries: Iterator[Entry]) -> Iterator[Entry]:
    with machine_trouble("the room's files could not be read"):
        yield from entries


def _still_mounted(folder: Path) -> bool:
    return (folder / "root").is_mount() or (folder / "scratch").is_mount()


def _no_such_folder(place: str) -> Done:
    words = Collector(1024)
    words.feed(f"cannot enter {place}: there is no such folder in the room\n".encode())
    return Done("missing_binary", None, None, Collector(0).output(), words.output(), 0.0)
