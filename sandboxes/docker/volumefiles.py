"""A room's files on an engine whose disk is not ours: volumes, reached through its archive calls.

A container that is made and never started holds the volumes, so that files can be put and taken while
nothing runs. Slower than `localfiles`, and the disk limit cannot be enforced; otherwise the same room.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import Literal

from sandboxes.docker import archive, remotefs
from sandboxes.docker.archive import Packed
from sandboxes.docker.config import ROOT_CAPABILITIES, Base
from sandboxes.docker.engine import Engine
from sandboxes.docker.localfiles import SHARED, WRITABLE, Bind
from sandboxes.docker.remotefs import is_folder
from sandboxes.errors import ProvisionFailed, SandboxError, SandboxLost
from sandboxes.roomfs import FOLDER
from sandboxes.spec import ROOM_UID, Entry, RoomSpec

_REMOVE_WITHIN = 120.0
_LIST = b"/.proctor-remove"
_REMOVE = "xargs -0 rm -rf -- < /.proctor-remove"


class VolumeFiles:
    """The files of one room, in volumes named after it. Raises ProvisionFailed when made in vain."""

    def __init__(
        self, engine: Engine, name: str, labels: Mapping[str, str], base: Base, spec: RoomSpec
    ) -> None:
        self._engine = engine
        self._name = name
        self._labels = labels
        self._base = base
        self._volumes: dict[str, str] = {}
        self._read_only = {layer.target.rstrip("/") for layer in spec.layers if not layer.writable}
        self._helpers = count(1)
        self._keeper = ""
        try:
            self._furnish(spec)
        except ValueError as error:
            self.close()
            raise ProvisionFailed(f"a layer cannot be laid out: {error}") from error
        except BaseException:
            self.close()
            raise

    def binds(self) -> list[Bind]:
        """None: this machine's folders mean nothing there."""
        return []

    def volumes(self) -> list[str]:
        return [
            f"{name}:{path}:{'ro' if path in self._read_only else 'rw'},nocopy"
            for path, name in sorted(self._volumes.items())
        ]

    def write(self, entries: Iterable[Entry], target: str, owner: Literal["candidate", "root"]) -> None:
        user = ROOM_UID if owner == "candidate" else 0
        if self._place_of(target) is None:
            self._add_volume(target.rstrip("/"))
        self._put(self._packed(entries, target, user))

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        look = remotefs.looker(self._engine, self._keeper)
        doomed = [
            path
            for path in (archive.absolute(target, path) for path in paths)
            if remotefs.reached(look, path)
        ]
        if doomed:
            self._as_root(_REMOVE, b"\0".join(doomed) + b"\0")

    def read(self, path: str, limit: int) -> bytes | None:
        return remotefs.read(self._engine, self._keeper, path, limit)

    def export(self, target: str) -> Iterator[Entry]:
        return remotefs.export(self._engine, self._keeper, target)

    def holds(self, path: str) -> bool:
        return True  # the keeper shows the image as well

    def has_folder(self, path: str) -> bool:
        return self._place_of(path) is None or is_folder(
            remotefs.looker(self._engine, self._keeper)(path.encode())
        )

    def full(self) -> bool:
        return False

    def machine_full(self) -> bool:
        return False

    def close(self) -> None:
        """Remove the volumes and what holds them. Idempotent; what fails is left to `reap`."""
        if self._keeper:
            with suppress(SandboxError):
                self._engine.remove(self._keeper)
        for volume in self._volumes.values():
            with suppress(SandboxError):
                self._engine.remove_volume(volume)
        self._volumes.clear()

    def _furnish(self, spec: RoomSpec) -> None:
        layers = {layer.target.rstrip("/"): layer for layer in spec.layers}
        modes = {**WRITABLE, spec.workdir.rstrip("/"): 0o755}
        for path in sorted({*modes, *layers}):
            self._make_volume(path)
        self._keeper = self._container("keeper0", ["/never-started"])
        tops = [
            Packed(path.encode(), FOLDER | mode, 0 if mode == SHARED else ROOM_UID)
            for path, mode in modes.items()
        ]
        self._put(tops)
        for path, layer in layers.items():
            user = ROOM_UID if layer.writable else 0
            top = Packed(path.encode(), FOLDER | modes.get(path, 0o755), user)
            self._put([top, *self._packed(layer.entries(), path, user)])

    def _make_volume(self, path: str) -> None:
        volume = f"{self._name}-v{len(self._volumes)}"
        self._engine.create_volume(volume, self._labels)
        self._volumes[path] = volume

    def _add_volume(self, path: str) -> None:
        """Make `path`, a place in the image, one of ours; it hides what the image has there."""
        self._make_volume(path)
        keeper = self._container(f"keeper{len(self._volumes)}", ["/never-started"])
        self._engine.remove(self._keeper)
        self._keeper = keeper

    def _packed(self, entries: Iterable[Entry], target: str, user: int) -> Iterator[Packed]:
        """The entries, after a folder for each parent that is missing or is something else, such as a link:
        the engine's unpacking replaces what has the wrong kind, and follows what is left in the way."""
        look, made = remotefs.looker(self._engine, self._keeper), set[bytes]()
        for entry in entries:
            path = archive.absolute(target, entry.path)
            for parent in remotefs.parents(path):
                if parent not in made and (_under(parent, made) or not is_folder(look(parent))):
                    made.add(parent)
                    yield Packed(parent, FOLDER | 0o755, user)
            if entry.mode != FOLDER or not is_folder(look(path)):
                yield Packed(path, entry.mode, user, entry.data)

    def _put(self, entries: Iterable[Packed]) -> None:
        with archive.pack(entries) as tar:
            self._engine.put_archive(self._keeper, "/", tar)

    def _place_of(self, path: str) -> str | None:
        return next((p for p in self._volumes if path == p or path.startswith(p + "/")), None)

    def _container(self, kind: str, argv: list[str]) -> str:
        return self._engine.create(
            f"{self._name}-{kind}",
            {
                "Image": self._base.id,
                "Entrypoint": argv,
                "User": "0:0",
                "Labels": dict(self._labels),
                "HostConfig": {
                    "NetworkMode": "none",
                    "CapDrop": ["ALL"],
                    "CapAdd": list(ROOT_CAPABILITIES),
                    "SecurityOpt": ["no-new-privileges"],
                    "Mounts": [
                        {"Type": "bind", "Source": str(bind.source), "Target": bind.target, "ReadOnly": True}
                        for bind in self._base.binds
                    ],
                    "Binds": [f"{name}:{path}:rw,nocopy" for path, name in sorted(self._volumes.items())],
                },
            },
        )

    def _as_root(self, script: str, names: bytes) -> None:
        """Run a few lines of shell over the volumes, in a container of their own."""
        helper = self._container(f"helper{next(self._helpers)}", ["/bin/sh", "-c", script])
        try:
            with archive.pack([Packed(_LIST, 0o100644, 0, names)]) as tar:
                self._engine.put_archive(helper, "/", tar)
            self._engine.start(helper)
            end = monotonic() + _REMOVE_WITHIN
            while (state := self._engine.inspect(helper)["State"])["Running"]:
                if monotonic() > end:
                    raise SandboxLost("removing files took too long")
                time.sleep(0.02)
            if state["ExitCode"] != 0:
                raise SandboxLost(
                    f"files could not be removed (exit {state['ExitCode']}): is there an xargs?"
                )
        finally:
            self._engine.remove(helper)


def _under(path: bytes, made: set[bytes]) -> bool:
    return any(parent in made for parent in remotefs.parents(path))
