"""Does the engine see this machine's disk and mounts as we do?

A socket under our hands may belong to an engine in another mount namespace, another container or a virtual
machine. Guessing wrong would grade empty folders, so it is tried: a marker on a mount of our own, looked for
from a container that is made and never started.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sandboxes import scratch
from sandboxes.docker.config import Base
from sandboxes.docker.engine import Engine
from sandboxes.errors import EngineGone, SandboxError


def shares_our_disk(engine: Engine, base: Base, labels: Mapping[str, str], shelf: Path) -> bool:
    """Whether containers see what we mount below `home()` when it is bound into them. Raises EngineGone.

    `shelf` is the folder of this run's rooms: what a killed process leaves mounted there is removed with it.
    """
    folder = shelf / "probe"
    folder.mkdir(parents=True)
    try:
        try:
            scratch.mount("tmpfs", folder, "tmpfs", scratch.MS_NOSUID | scratch.MS_NODEV, "size=64k")
        except OSError:
            return False  # without the right to mount, rooms cannot be laid out here either
        try:
            (folder / "marker").touch()
            return _seen(engine, base, folder, labels)
        finally:
            scratch.unmount(folder)
    finally:
        folder.rmdir()


def _seen(engine: Engine, base: Base, folder: Path, labels: Mapping[str, str]) -> bool:
    body = {
        "Image": base.id,
        "Entrypoint": ["/never-started"],
        "Labels": dict(labels),
        "HostConfig": {
            "NetworkMode": "none",
            "Mounts": [{"Type": "bind", "Source": str(folder), "Target": "/probe", "ReadOnly": True}],
        },
    }
    try:
        container = engine.create(f"proctor-probe-{secrets.token_hex(6)}", body)
    except EngineGone:
        raise
    except SandboxError:
        return False
    try:
        return engine.stat(container, "/probe/marker") is not None
    finally:
        with suppress(SandboxError):  # the provider removes what is left when it is closed
            engine.remove(container)
