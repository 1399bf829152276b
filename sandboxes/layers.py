"""Layers, held once by digest on this machine's disk and shared by every room that asks for them.

A layer is a small root file system of its own: it holds nothing but its target folder, so that it can
be a lower folder of an overlay over the whole root. Many threads and processes may fill the same one:
each writes its own draft, the first to finish wins.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from sandboxes import listing, roomfs
from sandboxes.drafts import alone, draft
from sandboxes.errors import ProvisionFailed
from sandboxes.home import home
from sandboxes.spec import ROOM_UID, Layer


@dataclass(frozen=True)
class Held:
    """A layer on this machine's disk. Never write to it."""

    root: Path
    """Contains only the target and the folders above it: a lower folder for an overlay of the root."""
    tree: Path
    """The target folder itself: what appears at `Layer.target`."""


def hold(layer: Layer) -> Held:
    """The layer's files on disk, written first when they are not there yet.

    Owned by the room's user when writable, else by root (for an ordinary user of this machine: by that
    user). The target hides what the image or an earlier layer has at the same place.
    Raises ProvisionFailed for entries whose path is absolute, empty or leads out, or when the disk is full.
    """
    held = _held(layer)
    if not _whole(held):
        _fill(layer, held)
    return held


def _held(layer: Layer) -> Held:
    parts = roomfs.parts_of(layer.target)
    if not parts:
        raise ProvisionFailed("a layer cannot take the place of the whole root: give it a target below /")
    place = hashlib.sha256(b"/".join(parts)).hexdigest()[:8]
    safe = hashlib.sha256(layer.digest.encode()).hexdigest()[:32]
    root = home() / "layers" / f"{safe}-{place}-{'w' if layer.writable else 'r'}" / "root"
    return Held(root, root.joinpath(*(os.fsdecode(part) for part in parts)))


def _whole(held: Held) -> bool:
    """The mark is written last, so that a layer cut short by a crash or a full disk is never taken for whole;
    one that lost its files afterwards, to an interrupted `rm -rf`, is none either."""
    try:
        told = _complete(held.root).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    if (held.root, told) in _checked:
        return held.tree.is_dir()
    listed = told.partition("\n")[2]
    if not listed or listed != listing.of(held.root):
        return False
    _checked.add((held.root, told))
    return True


def _complete(root: Path) -> Path:
    return root.parent / "complete"


_checked: set[tuple[Path, str]] = set()
"""Layers, with their marks, whose files this process has counted: once is enough, nobody writes to them."""


def _fill(layer: Layer, held: Held) -> None:
    shelf = home() / "layers"
    shelf.mkdir(exist_ok=True)
    try:
        with draft(shelf) as folder:
            _write(layer, folder / "root")
            mark = f"{layer.digest}\n{listing.of(folder / 'root')}"
            _complete(folder / "root").write_text(mark, encoding="utf-8")
            _keep(folder, held)
    except (OSError, ValueError) as error:
        raise ProvisionFailed(
            f"layer {layer.digest} for {layer.target} could not be kept: {error}"
        ) from error


def _write(layer: Layer, root: Path) -> None:
    target = root.joinpath(*(os.fsdecode(part) for part in roomfs.parts_of(layer.target)))
    target.mkdir(parents=True)
    for folder in (root, *target.relative_to(root).parents, target):
        (root / folder).chmod(0o755)
    user = (ROOM_UID, ROOM_UID) if layer.writable else (0, 0)
    owner = user if os.geteuid() == 0 else None
    if owner:
        os.chown(target, *owner)
    _hide_what_is_below(target)
    roomfs.write(root, layer.entries(), layer.target, owner)


def _hide_what_is_below(folder: Path) -> None:
    name = "trusted.overlay.opaque" if os.geteuid() == 0 else "user.overlay.opaque"
    try:
        os.setxattr(folder, name, b"y")
    except OSError:
        pass  # a file system without such attributes cannot carry an overlay's lower layer that needs one


def _keep(made: Path, held: Held) -> None:
    place = held.root.parent
    with alone(place.parent):
        if _whole(held):
            return  # another process was quicker
        with draft(place.parent) as broken:
            if place.exists():
                place.rename(broken / "layer")
            made.rename(place)
