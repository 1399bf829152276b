"""Base images, made known to the engine once: present, pulled, built from a folder, or imported from here."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sandboxes.docker.config import Base
from sandboxes.docker.engine import Engine
from sandboxes.docker.failure import PullRefused
from sandboxes.docker.localfiles import Bind
from sandboxes.errors import ImageUnavailable
from sandboxes.home import home
from sandboxes.images import RootFs, building
from sandboxes.images.debian import debian_image
from sandboxes.images.host import host_image
from sandboxes.images.rootfs import rootfs_image
from sandboxes.spec import Image

PULL_PAUSES = (2.0, 4.0, 8.0, 16.0)
"""Seconds before a registry that is asked too much is asked again."""
REFUSED_FOR = 60.0
"""Seconds in which an image that a registry refused to the last is refused here."""
INITS = ("docker-init", "tini", "catatonit", "tini-static")
"""Programs of this machine that can be PID 1 of a `host` room, best first."""


class Images:
    """Turns an `Image` into what the engine calls it. Thread-safe; each image is looked up once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._stopped = threading.Event()
        self._refused: dict[str, tuple[float, PullRefused]] = {}
        self._known: dict[Image, Base] = {}
        self._one_by_one: dict[Image, threading.Lock] = {}
        self._lock = threading.Lock()

    def base(self, image: Image) -> Base:
        """The image, made available first when need be. Raises ImageUnavailable, EngineGone."""
        with self._lock:
            turn = self._one_by_one.setdefault(image, threading.Lock())
        with turn:
            if image not in self._known:
                self._known[image] = self._find(image)
            return self._known[image]

    def forget(self, image: Image) -> None:
        """The engine says it has lost it: look again next time."""
        self._known.pop(image, None)

    def stop(self) -> None:
        """Wait for no registry any more. From any thread."""
        self._stopped.set()

    def _find(self, image: Image) -> Base:
        if image.kind == "host":
            return self._host()
        if image.kind == "debian":
            return self._imported(debian_image(image.ref, image.packages), "proctor-debian")
        if image.kind == "rootfs":
            return self._imported(rootfs_image(image.ref), "proctor-rootfs")
        if image.kind == "dockerfile":
            return self._built(Path(image.ref))
        return self._present_or_pulled(image.ref)

    def _host(self) -> Base:
        if not self._engine.on_this_machine:
            raise ImageUnavailable("the host image needs an engine on this machine; name another image")
        init = next((found for found in map(shutil.which, INITS) if found), None)
        if init is None or not Path(init).resolve().is_relative_to("/usr"):
            raise ImageUnavailable("the host image needs an init in /usr: install the package tini")
        rootfs = host_image()
        found = self._imported(rootfs, "proctor-host")
        binds = tuple(Bind(Path(path), path, read_only=True) for path in rootfs.binds)
        return Base(found.id, found.env, binds, init)

    def _imported(self, rootfs: RootFs, name: str) -> Base:
        ref = f"{name}:{hashlib.sha256(rootfs.digest.encode()).hexdigest()[:24]}"
        with building(ref.replace(":", "-")):
            found = self._held(ref)
            if found is None:
                self._import(rootfs, ref)
                found = self._held(ref)
        if found is None:
            raise ImageUnavailable(f"the engine took {ref} and does not have it")
        return found

    def _import(self, rootfs: RootFs, ref: str) -> None:
        with tempfile.TemporaryFile(dir=home()) as file:
            with tarfile.open(fileobj=file, mode="w", errors="surrogateescape") as tar:
                for name, source in merged(rootfs.lowers):
                    tar.add(source, name, recursive=False)
            file.seek(0)
            self._engine.import_image(file, ref, changes=["LABEL proctor.image=1"])

    def _built(self, folder: Path) -> Base:
        if not (folder / "Dockerfile").is_file():
            raise ImageUnavailable(f"{folder}: there is no Dockerfile in it")
        ref = f"proctor-built:{_content(folder)[:24]}"
        with building(ref.replace(":", "-")):
            found = self._held(ref)
            if found is None:
                self._engine.build(folder, ref, {"proctor.image": "1"})
                found = self._held(ref)
        if found is None:
            raise ImageUnavailable(f"the engine built {folder} and does not have it")
        return found

    def _present_or_pulled(self, ref: str) -> Base:
        found = self._held(ref)
        if found is None:
            self._pull(ref)
            found = self._held(ref)
        if found is None:
            raise ImageUnavailable(f"the engine pulled {ref} and does not have it")
        return found

    def _pull(self, ref: str) -> None:
        """Pull, and again after each of PULL_PAUSES when the registry is asked too much. What it refused to
        the last is not asked again for REFUSED_FOR seconds, however many trials want it."""
        until, refusal = self._refused.get(ref, (0.0, None))
        if refusal is not None and time.monotonic() < until:
            raise refusal
        for pause in (*PULL_PAUSES, None):
            try:
                self._engine.pull(ref)
                return
            except PullRefused as error:
                if pause is None or self._stopped.wait(pause):
                    self._refused[ref] = (time.monotonic() + REFUSED_FOR, error)
                    raise

    def _held(self, ref: str) -> Base | None:
        seen = self._engine.image(ref)
        if seen is None:
            return None
        return Base(str(seen["Id"]), tuple((seen.get("Config") or {}).get("Env") or ()))


def merged(lowers: Sequence[Path]) -> list[tuple[str, str]]:
    """What stacked folders (topmost first) show together: (name, place on this machine), parents first.

    Folders that a running system fills itself are taken empty.
    """
    found: dict[str, str] = {}
    for lower in reversed(lowers):
        for top, folders, files in os.walk(lower):
            below = os.path.relpath(top, lower)
            if below in _FILLED_BY_THE_KERNEL:
                folders.clear()
                continue
            for name in (*folders, *files):
                found[os.path.normpath(os.path.join(below, name))] = os.path.join(top, name)  # noqa: PTH118
    return sorted(found.items())


_FILLED_BY_THE_KERNEL = ("dev", "proc", "sys")


def _content(folder: Path) -> str:
    """A digest of a build folder: names, modes and bytes."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            content = os.fsencode(path.readlink())
        else:
            content = path.read_bytes() if path.is_file() else b""
        seen.update(b"%d %o %d " % (len(name), path.lstat().st_mode, len(content)) + name + content)
    return seen.hexdigest()
