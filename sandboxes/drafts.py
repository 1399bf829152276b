"""Files and folders in the making: under a name of their own until they are whole, swept when abandoned."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxes.spec import process_start

ASIDE = "-damaged"
"""What is added to the name of something that was put aside."""


def prefix() -> str:
    """How the name of everything begins that this process has not finished yet."""
    pid = os.getpid()
    return f".draft-{pid}-{process_start(pid)}-"


@contextmanager
def draft(shelf: Path) -> Iterator[Path]:
    """A new folder on `shelf`, readable by all; what is left of it at the end is removed."""
    folder = Path(tempfile.mkdtemp(dir=shelf, prefix=prefix()))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def alone(shelf: Path) -> Iterator[None]:
    """One thread of one process at a time, for what takes the place of something else on `shelf`."""
    handle = os.open(shelf, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def whole(place: Path) -> Iterator[Path]:
    """A new empty file (0600) beside `place`, which takes its name at the end of the block; removed when the
    block raises. Whoever reads `place` sees the old file or the new one."""
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=prefix())
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def put_aside(place: Path) -> Path:
    """Rename what is damaged, beside its place; its new name. An earlier one goes: one is enough to look
    into, and a disk has an end."""
    aside = place.with_name(place.name + ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    place.rename(aside)
    return aside


def sweep(shelf: Path) -> list[str]:
    """Remove the drafts of dead processes of this machine; what was removed, in words."""
    removed = []
    for item in shelf.glob(".draft-*"):
        pid, _, rest = item.name.removeprefix(".draft-").partition("-")
        if pid.isdigit() and str(process_start(int(pid))) != rest.partition("-")[0]:
            if item.is_dir() and not item.is_symlink():
                shutil.rmtree(item, ignore_errors=True)
            else:
                item.unlink(missing_ok=True)
            removed.append(f"unfinished {shelf.name} {item.name}")
    return removed


def sweep_below(top: Path) -> list[str]:
    """The same for a folder and the shelves in it."""
    shelves = [top, *(item for item in top.iterdir() if item.is_dir())]
    return [said for shelf in shelves for said in sweep(shelf)]
