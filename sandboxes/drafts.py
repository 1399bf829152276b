"""Folders in the making: filled under a name of their own, renamed when whole, swept when abandoned."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxes.spec import process_start


@contextmanager
def draft(shelf: Path) -> Iterator[Path]:
    """A new folder on `shelf`, readable by all; what is left of it at the end is removed."""
    pid = os.getpid()
    folder = Path(tempfile.mkdtemp(dir=shelf, prefix=f".draft-{pid}-{process_start(pid)}-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(shelf: Path) -> list[str]:
    """Remove the drafts of dead processes of this machine; what was removed, in words."""
    removed = []
    for folder in shelf.glob(".draft-*"):
        pid, _, rest = folder.name.removeprefix(".draft-").partition("-")
        if pid.isdigit() and str(process_start(int(pid))) != rest.partition("-")[0]:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(f"unfinished {shelf.name} {folder.name}")
    return removed
