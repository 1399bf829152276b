"""What dead runs left on the engine and on this machine, found by its labels and removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandboxes import drafts, scratch
from sandboxes.cgroups import sweep
from sandboxes.docker.counting import GROUPS
from sandboxes.docker.engine import Engine
from sandboxes.errors import SandboxError
from sandboxes.home import home, owner_of
from sandboxes.protocol import Reaped
from sandboxes.spec import Owner

LABEL = "proctor.pid"


def reap(engine: Engine) -> Reaped:
    """Remove what dead owners of this host left, containers first: they hold the rest. Raises EngineGone."""
    removed = []
    for seen in engine.containers(LABEL):
        if owner := _dead(seen):
            engine.remove(seen["Id"])
            removed.append(f"container {seen['Id'][:12]} (run {owner.run_id})")
    for seen in engine.volumes(LABEL):
        if owner := _dead(seen):
            with suppress(SandboxError):  # in use by a container nobody labelled: not ours to judge
                engine.remove_volume(seen["Name"])
                removed.append(f"volume {seen['Name']} (run {owner.run_id})")
    for seen in engine.networks(LABEL):
        if owner := _dead(seen):
            with suppress(SandboxError):
                engine.remove_network(seen["Id"])
                removed.append(f"network {seen['Name']} (run {owner.run_id})")
    return Reaped((*removed, *_rooms(), *drafts.sweep_below(home()), *sweep(GROUPS)))


def remove_labelled(engine: Engine, label: str) -> bool:
    """Remove every container and volume with this label, which is one maker's alone; whether there were any:
    look again then, as an engine may say that something is gone which is not. Raises SandboxError."""
    containers = engine.containers(label)
    for seen in containers:
        engine.remove(seen["Id"])
    volumes = engine.volumes(label)
    for seen in volumes:
        engine.remove_volume(seen["Name"])
    return bool(containers or volumes)


def how_to_start() -> str:
    """What to do about a missing engine, for people."""
    socket = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    if os.path.exists(socket) and not os.access(socket, os.W_OK):  # noqa: PTH110 no path when it is an address
        return f"this user may not use {socket}: ask to be put into the group docker, or set DOCKER_HOST"
    if shutil.which("dockerd") or shutil.which("podman"):
        return "start it (systemctl start docker, or podman system service) or set DOCKER_HOST"
    return "install the package docker.io, or set DOCKER_HOST"


def _dead(seen: Mapping[str, Any]) -> Owner | None:
    owner = Owner.from_labels(seen.get("Labels") or {})
    return owner if owner is not None and not owner.alive() else None


def _rooms() -> list[str]:
    removed = []
    for folder in sorted(_listed(home() / "docker")):
        owner = owner_of(folder)
        if owner is None or owner.alive():
            continue
        for point in scratch.mounts_below(folder):
            scratch.unmount(point)
            removed.append(f"mount {point} (run {owner.run_id})")
        removed += [f"room {room.name} (run {owner.run_id})" for room in _listed(folder)]
        shutil.rmtree(folder, ignore_errors=True)
    return removed


def _listed(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return []
