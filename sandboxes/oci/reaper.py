"""Removes what dead owners left on this machine: processes, mounts, groups, folders."""

from __future__ import annotations

from pathlib import Path

from sandboxes import drafts
from sandboxes.cgroups import Cgroup, sweep
from sandboxes.home import home, owner_of
from sandboxes.oci.keeper import remove_tree
from sandboxes.protocol import Reaped
from sandboxes.scratch import mounts_below, unmount
from sandboxes.spec import Owner

GROUPS = "proctor-"
"""One owner's commands have their control groups below /proctor-PID-START."""


def cgroup_of(owner: Owner) -> str:
    """The control group above those of all of an owner's commands."""
    return f"/{GROUPS}{owner.pid}-{owner.started}"


def reap() -> Reaped:
    """Remove every trace of owners that live no more; never anything of one that lives."""
    removed: list[str] = []
    shelf = home() / "rooms"
    for folder in sorted(shelf.iterdir()) if shelf.is_dir() else []:
        owner = owner_of(folder)
        if owner is not None and not owner.alive():
            removed += _remove(folder, owner)
    removed += drafts.sweep_below(home())
    removed += sweep(GROUPS)
    return Reaped(tuple(removed))


def _remove(folder: Path, owner: Owner) -> list[str]:
    said: list[str] = []
    group = Cgroup.at(cgroup_of(owner))
    if any(place.exists() for _, place in group.folders):
        group.kill()
        if group.remove(patience=5.0):
            said.append(f"control group {cgroup_of(owner)} (run {owner.run_id})")
    for point in mounts_below(folder):
        if unmount(point):
            said.append(f"mount {point} (run {owner.run_id})")
    if not mounts_below(folder):
        rooms = [item.name for item in folder.iterdir() if item.is_dir()]
        remove_tree(folder)
        said += [f"room {name} (run {owner.run_id})" for name in rooms]
    return said
