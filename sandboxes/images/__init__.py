"""Base file systems that need no engine: the machine's own /usr, Debian recipes, unpacked folders.

Every provider turns an `Image` into a `RootFs` and then shows it to its rooms in its own way.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandboxes.home import home


@dataclass(frozen=True)
class RootFs:
    """A base file system on this machine's disk. Never write to it."""

    digest: str
    """Changes whenever the content may have changed."""
    lowers: tuple[Path, ...]
    """Folders to be stacked, topmost first; the last one is the root file system proper."""
    binds: tuple[str, ...] = ()
    """Folders of this machine that must appear read-only at the same place."""


@contextmanager
def building(name: str) -> Iterator[Path]:
    """The folder `<home>/images/<name>`, while no other thread or process builds the same one.

    The folder may be missing or whole; a builder fills a draft and renames it.
    """
    shelf = home() / "images"
    shelf.mkdir(exist_ok=True)
    handle = os.open(shelf / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield shelf / name
    finally:
        os.close(handle)
