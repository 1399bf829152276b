"""Base file systems that need no engine: the machine's own /usr, Debian recipes, unpacked folders.

Every provider turns an `Image` into a `RootFs` and then shows it to its rooms in its own way.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandboxes import drafts, listing
from sandboxes.errors import ProvisionFailed
from sandboxes.home import home

_log = logging.getLogger(__name__)


class ImageDamaged(ProvisionFailed):
    """A prepared base system lost files while a room was open over it. The next room has it made anew."""


@dataclass(frozen=True)
class RootFs:
    """A base file system on this machine's disk. Never write to it."""

    digest: str
    """Changes whenever the content may have changed."""
    lowers: tuple[Path, ...]
    """Folders to be stacked, topmost first; the last one is the root file system proper."""
    binds: tuple[str, ...] = ()
    """Folders of this machine that must appear read-only at the same place."""

    def folders(self) -> tuple[tuple[int, int], ...]:
        """Which folders on the disk the lowers are now. Raises ImageDamaged."""
        try:
            return tuple((found.st_dev, found.st_ino) for found in (lower.stat() for lower in self.lowers))
        except FileNotFoundError as gone:
            raise ImageDamaged(f"{self.lowers[-1]} is not there any more") from gone

    def lost(self, folders: tuple[tuple[int, int], ...]) -> bool:
        """Whether the lowers are other ones by now, or lost files."""
        try:
            return self.folders() != folders or not all(
                _as_listed(place) for lower in self.lowers for place in (lower, lower.parent)
            )
        except ImageDamaged:
            return True


@contextmanager
def building(name: str) -> Iterator[Path]:
    """The folder `<home>/images/<name>`, while no other thread or process builds the same one.

    The folder may be missing or whole (`kept`); a builder fills a draft and puts it there (`keep`).
    """
    shelf = home() / "images"
    shelf.mkdir(exist_ok=True)
    handle = os.open(shelf / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield shelf / name
    finally:
        os.close(handle)


def kept(place: Path) -> bool:
    """Whether the base system is there with all that was put into it. One that lost files is put aside, for a
    room of it would lack what a task's commands need. Call it inside `building`."""
    if not place.exists():
        return False
    if _as_listed(place):
        return True
    aside = drafts.put_aside(place)
    _log.warning("%s had lost files: it was put aside as %s and is made anew", place, aside.name)
    return False


def keep(made: Path, place: Path) -> None:
    """Put a finished draft at its place."""
    _list_of(place).write_text(listing.of(made), encoding="ascii")
    made.rename(place)


def _as_listed(place: Path) -> bool:
    try:
        told = _list_of(place).read_text(encoding="ascii")
    except (OSError, ValueError):
        return True  # nobody's list: made by an earlier version, or a folder of the user's
    return bool(told) and told == listing.of(place)


def _list_of(place: Path) -> Path:
    return place.with_name(f".{place.name}.list")
