"""Which folders hold a run, and whether what is in them is still what was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from orchestrator.history.facts import TAGS
from orchestrator.store import HEADER, RECORDS


def run_folders(root: Path) -> Iterator[Path]:
    """The folders below `root` that hold a run: those in it, and one level further down (nights)."""
    for folder in _folders(root):
        if _is_run(folder):
            yield folder
        else:
            yield from (inner for inner in _folders(folder) if _is_run(inner))


def stamp_of(folder: Path) -> str:
    """Sizes and times of the files that a run is read from."""
    told = []
    for name in (HEADER, RECORDS, TAGS):
        try:
            found = (folder / name).stat()
            told.append(f"{found.st_size}:{found.st_mtime_ns}")
        except OSError:
            told.append("-")
    return " ".join(told)


def _is_run(folder: Path) -> bool:
    try:
        return (folder / HEADER).is_file()
    except OSError:  # a folder that is not ours to look into
        return False


def _folders(root: Path) -> list[Path]:
    try:
        with os.scandir(root) as entries:
            inside = [e.name for e in entries if e.is_dir(follow_symlinks=False) and e.name[0] != "."]
    except OSError:
        return []
    return [root / name for name in sorted(inside)]
