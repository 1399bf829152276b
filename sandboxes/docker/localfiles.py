"""A room's files when the engine shares this machine's disk: a sized scratch, bound into every container.

The scratch holds a `view`, the room's writable paths and layers as they appear inside; containers get its
folders as binds, and reading and writing happen right here, without asking the engine.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandboxes import layers, roomfs, scratch
from sandboxes.errors import ProvisionFailed, RoomFull, SandboxLost
from sandboxes.spec import ROOM_HOME, ROOM_UID, Entry, Layer, RoomSpec

SHARED = 0o1777
WRITABLE = {"/tmp": SHARED, "/var/tmp": SHARED, ROOM_HOME: 0o755}
"""Paths a room may always write, with their modes; its workdir comes on top."""


@dataclass(frozen=True)
class Bind:
    """A folder or file of this machine, as a container sees it."""

    source: Path
    target: str
    read_only: bool = False


class LocalFiles:
    """The files of one room, below `folder` on this machine. Raises ProvisionFailed when made in vain."""

    def __init__(self, folder: Path, spec: RoomSpec) -> None:
        self._folder = folder
        self._mounted: list[Path] = []
        self._tops: dict[str, bool] = {}
        self._read_only: dict[str, Path] = {}
        self._overlays = 0
        folder.mkdir(parents=True)
        try:
            self._scratch = scratch.Scratch.open(folder, spec.limits.disk)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            self._furnish(spec)
        except OSError as error:
            self.close()
            raise ProvisionFailed(f"the room's files could not be laid out: {error}") from error
        except BaseException:
            self.close()
            raise

    def binds(self) -> list[Bind]:
        """What every container of this room gets, in an order that mounts outer paths first."""
        return [Bind(self._at(top), top, read_only) for top, read_only in sorted(self._tops.items())]

    def volumes(self) -> list[str]:
        """None: these are folders of this machine."""
        return []

    def write(self, entries: Iterable[Entry], target: str, owner: Literal["candidate", "root"]) -> None:
        user = (ROOM_UID, ROOM_UID) if owner == "candidate" else (0, 0)
        self._open_up(target)
        if self._top_of(target) is None:
            entries = list(entries)
            firsts = {os.fsdecode(roomfs.plain(entry.path)[0]) for entry in entries}
            for first in firsts:
                self._tops.setdefault(f"{target.rstrip('/')}/{first}", False)
        with _told_as_lost("written"):
            roomfs.write(self._view, entries, target, user)

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        self._open_up(target)
        with _told_as_lost("removed"):
            roomfs.remove(self._view, paths, target)

    def read(self, path: str, limit: int) -> bytes | None:
        return roomfs.read(self._view, path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        return roomfs.export(self._view, target)

    def holds(self, path: str) -> bool:
        """Whether `path` lies in what this room has laid out itself (and not in its image)."""
        return self._top_of(path) is not None

    def has_folder(self, path: str) -> bool:
        """Whether a command can start in `path`; what lies in the image is taken to be there."""
        return self._top_of(path) is None or roomfs.is_folder(self._view, path)

    def full(self) -> bool:
        """Whether the room has used up its disk limit."""
        return self._scratch.full()

    def machine_full(self) -> bool:
        """Whether this machine's own disk is: then what failed in the room is not its own doing."""
        return scratch.host_full(self._folder)

    def close(self) -> None:
        """Give back mounts and space. Idempotent."""
        for point in reversed(self._mounted):
            scratch.unmount(point)
        self._mounted.clear()
        self._scratch.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _view(self) -> Path:
        return self._scratch.path / "view"

    def _at(self, path: str) -> Path:
        return self._view / path.strip("/")

    def _furnish(self, spec: RoomSpec) -> None:
        self._view.mkdir()
        places = {layer.target.rstrip("/"): layer for layer in spec.layers}
        for path, mode in {**WRITABLE, spec.workdir.rstrip("/"): 0o755}.items():
            if path not in places:
                self._folder_for_user(self._at(path), mode)
                self._tops[path] = False
        for path in sorted(places):
            self._lay(path, places[path])
        self._tops = {path: ro for path, ro in self._tops.items() if self._top_of(path) == path}

    def _lay(self, path: str, layer: Layer) -> None:
        tree = layers.hold(layer).tree
        outer = self._top_of(path)
        if outer is not None:
            self._open_up(outer)
        self._at(path).mkdir(parents=True, exist_ok=True)
        if layer.writable:
            self._overlay(tree, path)
        else:
            scratch.bind(tree, self._at(path), read_only=True)
            self._mounted.append(self._at(path))
            self._read_only[path] = tree
        self._tops[path] = not layer.writable

    def _overlay(self, tree: Path, path: str) -> None:
        upper = self._scratch.path / f"upper{self._overlays}"
        work = self._scratch.path / f"work{self._overlays}"
        self._overlays += 1
        owner = tree.stat()
        upper.mkdir(mode=0o755)
        os.chown(upper, owner.st_uid, owner.st_gid)
        scratch.overlay([tree], upper, work, self._at(path))
        self._mounted.append(self._at(path))

    def _open_up(self, path: str) -> None:
        """Make a read-only layer around `path` changeable by us: the room's own copy, on write."""
        for place in [p for p in self._read_only if path == p or path.startswith(p + "/")]:
            scratch.unmount(self._at(place))
            self._mounted.remove(self._at(place))
            self._overlay(self._read_only.pop(place), place)

    def _top_of(self, path: str) -> str | None:
        """The outermost of our places that `path` lies in."""
        around = [top for top in self._tops if path == top or path.startswith(top + "/")]
        return min(around, key=len, default=None)

    def _folder_for_user(self, folder: Path, mode: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)
        if mode != SHARED:
            os.chown(folder, ROOM_UID, ROOM_UID)


class _told_as_lost:
    """A disk error under our own hands is trouble of this machine, or of what does not fit: not a bug. The
    scratch is sized, so a full one is the room's own limit (a full machine shows as an i/o error)."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RoomFull(f"the room's files could not be {self._doing}: {error}") from error
        if isinstance(error, OSError):
            raise SandboxLost(f"the room's files could not be {self._doing}: {error}") from error
