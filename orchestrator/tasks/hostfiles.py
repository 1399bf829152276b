"""A folder of this machine as entries. Links are read, never followed; `.git` is left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from orchestrator.worktree.trees import EXECUTABLE, FILE, LINK
from sandboxes.spec import Entry


def folder_entries(folder: Path) -> Iterator[Entry]:
    """Files and links below `folder`, in byte order within each folder. Pipes, sockets and devices are left
    out. Raises OSError."""
    yield from _walk(os.fsencode(folder), b"")


def _walk(folder: bytes, prefix: bytes) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        items = sorted(found, key=lambda item: item.name)
    for item in items:
        path = prefix + item.name
        if item.name == b".git":
            continue
        if item.is_symlink():
            yield Entry(path, LINK, os.readlink(item.path))  # noqa: PTH115 bytes, which Path does not keep
        elif item.is_dir(follow_symlinks=False):
            yield from _walk(item.path, path + b"/")
        elif item.is_file(follow_symlinks=False):
            executable = item.stat(follow_symlinks=False).st_mode & stat.S_IXUSR
            yield Entry(path, EXECUTABLE if executable else FILE, _content(item.path))


def _content(path: bytes) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(handle, "rb") as file:  # noqa: PTH123 an open descriptor
        return file.read()
