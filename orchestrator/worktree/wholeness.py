"""Whether a repository of ours is still whole, and what becomes of one that is not.

All in it can be made again from the tasks' sources. So a damaged one (by a power cut, a half-done `rm -rf`, a
cleaner of old files) is put aside and a new one takes its place: nobody's work is judged by what it says.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandboxes import drafts
from sandboxes.errors import SandboxError

Identity = tuple[int, int]
"""Device and inode: another folder under the same name is another repository."""

_log = logging.getLogger(__name__)


class StoreDamaged(SandboxError):
    """The store of trees lost something that it held, or was made anew while it was in use. Preparing the
    task again fills it, so a fresh attempt helps."""


def identity(folder: Path) -> Identity | None:
    """None when the folder is not there."""
    try:
        found = folder.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def has_frame(folder: Path) -> bool:
    """Whether the folder has all that git wants to see before it takes it for a repository."""
    files = all(_size(folder / name) for name in ("config", "HEAD"))
    return files and all((folder / name).is_dir() for name in ("objects", "refs", "indexes"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def holds(wanted: Iterable[str], env: Mapping[str, str], timeout: float) -> bool:
    """Whether every object in the repository of `env` is sound, those of `wanted` are there with all below
    them, and the index that `env` names can be read. Reads all of it: for when git failed without a cause."""
    index = ["--cache"] if "GIT_INDEX_FILE" in env else []
    command = ["git", *_SILENT, "fsck", "--full", "--no-dangling", "--no-progress", *index, *wanted]
    try:
        done = subprocess.run(command, env=dict(env), capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode <= 0:
        return True  # sound, or ended from outside, which says nothing about it
    return all(line.startswith(_NO_DAMAGE) for line in (done.stderr + done.stdout).splitlines())


_QUOTING = ("Name", "Path", "Url", "Update")
_SILENT = [word for what in _QUOTING for word in ("-c", f"fsck.gitmodules{what}=ignore")]
"""Complaints in which fsck would quote what a candidate wrote."""
_NO_DAMAGE = (b"error in ", b"warning in ", b"notice: ", b"Checking ")
"""Complaints of an object's content, which is as it was put in."""


def put_aside(folder: Path, seen: Identity | None) -> bool:
    """Rename the repository, if it is still the one `seen`, beside its place."""
    with drafts.alone(folder.parent):
        if seen is None or identity(folder) != seen:
            return False
        aside = drafts.put_aside(folder)
    _log.warning("%s was damaged: it was put aside as %s and is made anew", folder, aside.name)
    return True
