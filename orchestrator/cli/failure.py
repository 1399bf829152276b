"""From an exception to a sentence and an exit code, by who can mend it."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

from orchestrator.errors import (
    EXIT_AUTHOR,
    EXIT_HARNESS,
    EXIT_INFRASTRUCTURE,
    EXIT_INTERRUPTED,
    AuthoringError,
    InfrastructureError,
    Problem,
    TaskInvalid,
)
from orchestrator.journal import JournalFailed, JournalGone
from orchestrator.regular import NotRegular
from orchestrator.words import place, safe
from sandboxes.errors import SandboxError

USERS_FILES = frozenset(
    (
        errno.ENOENT,
        errno.EACCES,
        errno.EPERM,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EROFS,
        errno.ELOOP,
    )
)
"""A file error that whoever typed the command can mend; others (a full disk) are the machine's."""
EXIT_PIPE = 141
"""What a shell calls a program that SIGPIPE ended: no verdict, so none of the owners' codes."""
MACHINES = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE))
"""Trouble of the machine even where no file is named."""


def tell(error: BaseException) -> int:
    """Print what went wrong on stderr and return the exit code of its owner (see orchestrator.errors)."""
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return quiet_pipe()
    if isinstance(error, AuthoringError):
        for problem in error.problems:
            say(str(problem).removeprefix(": "))
        return EXIT_AUTHOR
    if isinstance(error, TaskInvalid):
        say(f"the task is not valid: {error}")
        return EXIT_AUTHOR
    if isinstance(error, SandboxError):
        say(f"{error} ({error.end}). `proctor doctor` tells what this machine has and what is missing.")
        return EXIT_INFRASTRUCTURE
    if isinstance(error, InfrastructureError):
        say(str(error))
        return EXIT_INFRASTRUCTURE
    if isinstance(error, JournalFailed):
        said = str(error.strerror)
        told = f" {said}" if isinstance(error, JournalGone) else f": {said.lower()}"
        say(f"{os.fsdecode(error.filename)}{told}; {error.advice}")
        return EXIT_INFRASTRUCTURE
    if isinstance(error, FileNotFoundError) and error.filename is None and not _standing():
        say("the current folder is gone; go to another one")
        return EXIT_AUTHOR
    if isinstance(error, OSError) and (error.filename is not None or error.errno in MACHINES):
        return file_trouble(error)
    return our_own(error)


def say(text: str) -> None:
    """One message on stderr, as `proctor: ...`; what it names does not steer the terminal."""
    try:
        print(f"proctor: {safe(text)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def left_out(problem: Problem) -> None:
    """One line on stderr about what counts for nothing, such as a line that is no record."""
    say(place(f"left out: {problem}").replace(": : ", ": "))


def quiet_pipe() -> int:
    """The reader of our output has gone (`proctor ... | head`): no noise, and no second error at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    return EXIT_PIPE


def file_trouble(error: OSError) -> int:
    name = _stream() if error.filename is None else os.fsdecode(error.filename)
    said = f"{name}: {(error.strerror or str(error)).lower()}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        said += "; free some space, or choose another place"
    if error.filename is not None and error.errno in USERS_FILES and _of_home(Path(name)):
        say(f"{said}; set PROCTOR_HOME to a folder you may write")
        return EXIT_INFRASTRUCTURE
    say(said)
    theirs = error.errno in USERS_FILES or isinstance(error, NotRegular)
    return EXIT_AUTHOR if theirs else EXIT_INFRASTRUCTURE


def _stream() -> str:
    """Where a write failed that names no file: on stdout, if that still takes nothing, or keeps nothing to
    be tried again (PYTHONUNBUFFERED)."""
    try:
        sys.stdout.flush()
    except OSError:
        return "stdout"
    return "stdout" if getattr(sys.stdout, "write_through", False) else "cannot write"


def _standing() -> bool:
    """Whether the current folder is still there."""
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False


def _of_home(path: Path) -> bool:
    """Whether `path` is proctor's home, lies in it, or stands in its way."""
    from sandboxes.home import chosen

    try:
        home = chosen()
    except FileNotFoundError:  # nobody knows where it would be: that is what is told
        return not path.is_absolute()
    return path.is_absolute() and (path.is_relative_to(home) or home.is_relative_to(path))


def our_own(error: BaseException) -> int:
    """A bug of proctor's: keep the traceback where it can be sent from."""
    kept = keep("".join(traceback.format_exception(error)))
    say(
        f"this is a fault of proctor itself, not of your files: {type(error).__name__}: {error}. "
        f"Please report it with {kept}"
    )
    return EXIT_HARNESS


def keep(trace: str) -> Path:
    """Write a traceback into proctor's home, or a temporary file when that cannot be written."""
    from sandboxes.home import home

    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + f"-{os.getpid()}.txt"
    try:
        folder = home() / "crashes"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(trace, encoding="utf-8", errors="backslashreplace")
        return folder / name
    except OSError:
        with tempfile.NamedTemporaryFile("w", prefix="proctor-", suffix=".txt", delete=False) as file:
            file.write(trace)
        return Path(file.name)
