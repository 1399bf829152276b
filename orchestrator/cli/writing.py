"""A file at a place that somebody named: whole or not at all, and never in place of a device."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from pathlib import Path

from orchestrator.cli.failure import USERS_FILES
from orchestrator.errors import AuthoringError

_OPENED = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Another name of a file that the shell has opened already, and may have written to."""


def write_file(path: Path, data: bytes) -> None:
    """Replace a file's content in one step, keeping its rights; links are followed. Devices and pipes
    (`/dev/null`, `/dev/stdout`, `>(...)`) are written to, not replaced: root would be left without them. What
    the shell appends to (`/dev/stdout` with `>> file`) is added to.

    Raises AuthoringError where nothing can be written, and OSError, with the file's name, for trouble of the
    machine such as a full disk. What was there before is left as it was.
    """
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{os.getpid()}.draft")
    try:
        if takes_a_stream(path):
            with path.open("ab" if _OPENED.fullmatch(str(path.absolute())) else "wb") as stream:
                stream.write(data)
            return
        draft.write_bytes(data)
        if place.exists():
            shutil.copymode(place, draft)
        draft.replace(place)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        if error.errno in USERS_FILES:
            raise AuthoringError(
                f"{path} cannot be written: {error.strerror}; choose another place"
            ) from None
        raise OSError(error.errno, error.strerror, str(path)) from None


def may_write(path: Path) -> None:
    """Before long work: raise AuthoringError when its result could not be written to `path` afterwards."""
    folder = path.absolute().parent
    problem = ""
    if path.is_dir():
        problem = os.strerror(errno.EISDIR)
    elif not folder.is_dir():
        problem = f"{folder} is no folder"
    elif not os.access(path if takes_a_stream(path) else folder, os.W_OK):
        problem = "nothing may be written there"
    if problem:
        raise AuthoringError(f"{path} cannot be written: {problem}; choose another place")


def takes_a_stream(path: Path) -> bool:
    """Whether there is a device or a pipe, or what the shell has opened: no file that may be replaced."""
    named = path.absolute().is_relative_to("/dev") or path.absolute().is_relative_to("/proc")
    return path.exists() and not path.is_dir() and (named or not path.is_file())
