"""Opening what ought to be a regular file, without waiting for the other end of a pipe."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


class NotRegular(OSError):
    """A folder, a pipe, a device stands where a file is meant. errno, strerror and filename are set."""


def open_regular(path: Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A descriptor of the regular file at `path`; what is looked at is what was opened.

    Raises NotRegular, and OSError as os.open does.
    """
    try:
        found = os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, mode)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO):  # to be written; a socket, a pipe without a reader
            raise _refused(path, error.errno == errno.EISDIR) from None
        raise
    kind = os.fstat(found).st_mode
    if not stat.S_ISREG(kind):
        os.close(found)
        raise _refused(path, stat.S_ISDIR(kind))
    return found


def read_regular(path: Path) -> bytes:
    """The bytes of the regular file at `path`. Raises as `open_regular` does."""
    with open(open_regular(path), "rb") as file:
        return file.read()


def _refused(path: Path, folder: bool) -> NotRegular:
    if folder:
        return NotRegular(errno.EISDIR, "is a folder, not a file", str(path))
    return NotRegular(errno.EINVAL, "is not a regular file", str(path))
