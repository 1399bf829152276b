"""What a dead or ended run could have left on this machine: looked for, never removed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sandboxes.cgroups import hierarchies
from sandboxes.errors import SandboxError
from sandboxes.home import owner_of


def left(home: Path, temporary: Path, pids: Iterable[int] = (), *, engine: str = "") -> list[str]:
    """Mounts, rooms, control groups, processes, temporary files and what an engine lists, in words.

    `home` and `temporary` are the PROCTOR_HOME and TMPDIR that only the runs in question had, `pids` their
    processes, all dead by now. `engine` is the address of a container engine to be asked too.
    """
    ours = {str(pid) for pid in pids}
    found = [f"mount {point}" for point in _mounts(home) + _mounts(temporary)]
    found += [f"room {room}" for shelf in ("rooms", "docker") for room in _rooms(home / shelf)]
    found += [f"temporary {item.name}" for item in temporary.iterdir()]
    found += [f"draft {item}" for pattern in (".draft-*", "*/.draft-*") for item in home.glob(pattern)]
    found += [f"process {pid}" for pid in _processes(home)]
    found += [f"control group {group}" for group in _groups(ours)]
    return found + (_on_engine(engine, ours) if engine else [])


def _mounts(below: Path) -> list[str]:
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = (line.split(" ")[4] for line in lines)
    return [point for point in points if point.startswith(f"{below}/")]


def _rooms(shelf: Path) -> list[str]:
    owners = [folder for folder in shelf.glob("*") if folder.is_dir() and owner_of(folder) is not None]
    return [str(folder) for folder in owners]


def _processes(home: Path) -> list[int]:
    """Processes that were started with this PROCTOR_HOME, ours left out."""
    mark, found = f"PROCTOR_HOME={home}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _groups(pids: set[str]) -> list[str]:
    found = set()
    for _, top in hierarchies():
        for folder in top.glob("proctor-*-*"):
            pid = folder.name.removeprefix("proctor-").removeprefix("engine-").partition("-")[0]
            if pid in pids:
                found.add(folder.name)
    return sorted(found)


def _on_engine(address: str, pids: set[str]) -> list[str]:
    from sandboxes.docker.engine import Engine
    from sandboxes.spec import Owner

    engine, found = Engine(address), []
    try:
        for kind, listed in (("container", engine.containers), ("volume", engine.volumes)):
            for seen in listed("proctor.pid"):
                owner = Owner.from_labels(seen.get("Labels") or {})
                if owner is not None and str(owner.pid) in pids:
                    found.append(f"{kind} {seen.get('Id') or seen.get('Name')} (run {owner.run_id})")
    except SandboxError as error:
        found.append(f"the engine could not be asked: {error}")
    finally:
        engine.close()
    return found
