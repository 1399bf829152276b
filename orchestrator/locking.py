"""Who may write to a run folder: one proctor at a time. Readers never ask."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from orchestrator.errors import AuthoringError
from orchestrator.regular import NotRegular, open_regular

LOCK = "lock"


def take(folder: Path) -> int:
    """The lock of a run folder, with our process number in it.

    Raises AuthoringError when another process holds it. The kernel gives it back when its holder dies.
    """
    lock = hold(folder / LOCK, folder)
    try:
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    except OSError as error:
        os.close(lock)
        raise theirs(error, folder / LOCK) from None
    return lock


def hold(file: Path, folder: Path) -> int:
    """A file of a run folder (made when missing), locked until its descriptor is closed. Raises as `take`."""
    try:
        lock = open_regular(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise theirs(error, file) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = _holder(lock) if file.name == LOCK else "its lock file was removed"
        os.close(lock)
        raise AuthoringError(
            f"{folder} is in use by another proctor ({who}); let it end, or choose another --out"
        ) from None
    except OSError as error:
        os.close(lock)
        raise AuthoringError(
            f"{folder} cannot be locked: {error.strerror}; choose another --out, on a local disk"
        ) from None
    return lock


def theirs(error: OSError, place: Path, done: str = "written") -> Exception:
    """Whoever chose the folder can choose another; a full or broken disk is the machine's."""
    place = Path(os.fsdecode(error.filename)) if error.filename is not None else place
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return OSError(error.errno, error.strerror, str(place))
    if isinstance(error, NotRegular):
        return AuthoringError(f"{place} {error.strerror}; move it away, or choose another --out")
    return AuthoringError(f"{place} cannot be {done}: {error.strerror}; choose another --out")


def _holder(lock: int) -> str:
    told = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
    return f"process {told or 'unknown'}"
