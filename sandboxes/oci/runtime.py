"""Which OCI runtime this machine has, how it is called, and what its last words mean."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sandboxes.errors import EngineGone
from sandboxes.protocol import Output

RUNTIMES = ("runc", "crun", "youki")
"""Tried in this order; $PROCTOR_RUNTIME names another, by name or path."""


@dataclass(frozen=True)
class Runtime:
    """An OCI runtime's program."""

    path: str

    @classmethod
    def find(cls) -> Runtime:
        """The one to use here. Raises EngineGone with what to install."""
        chosen = os.environ.get("PROCTOR_RUNTIME")
        extended = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
        for name in (chosen,) if chosen else RUNTIMES:
            found = shutil.which(name, path=extended)
            if found:
                return cls(found)
        if chosen:
            raise EngineGone(
                f"PROCTOR_RUNTIME is {chosen}, which is not here: install it or unset the variable"
            )
        raise EngineGone("no OCI runtime is here: install runc (apt-get install runc)")

    def version(self) -> str:
        return _version(self.path)

    def run(self, state: Path, bundle: Path, pid_file: Path, name: str) -> list[str]:
        """The argument list that starts a bundle detached, its standard streams those of the caller."""
        return [
            self.path,
            *("--root", str(state)),
            *("run", "--detach", "--bundle", str(bundle), "--pid-file", str(pid_file), name),
        ]


@cache
def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[0].replace(" version", "") if lines else ""


_NOT_EXECUTABLE = re.compile(
    r"executable file [^ ]* ?not found"
    r"|exec[^ ]*:? .*(executable file not found|permission denied|no such file|is a directory"
    r"|not a directory|exec format error)",
    re.IGNORECASE,
)


def says_missing_binary(words: str) -> bool:
    """Whether a runtime that could not start a container blames the command's own first word."""
    return _NOT_EXECUTABLE.search(words) is not None


def last_words(text: str) -> str:
    """A runtime's message as one line, without its decorations."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if not lines:
        return "it said nothing"
    found = re.search(r'msg="((?:[^"\\]|\\.)*)"', lines[-1])
    return found[1].replace('\\"', '"') if found else lines[-1]


def says_not_executed(out: Output, err: Output) -> bool:
    """Whether the only words of a container that exited 1 are the runtime's, about a file it could not
    execute (a script whose interpreter is missing, a file of another machine's kind)."""
    words = rb"exec [^\n]*: (exec format error|no such file or directory|permission denied)\n"
    return out.total == 0 and err.total < 5000 and re.fullmatch(words, err.data) is not None


def says_no_memory(words: str) -> bool:
    """Whether a start failed because the memory limit leaves no room for it."""
    return (
        "OOM-killed" in words or "out of memory" in words.lower() or "cannot allocate memory" in words.lower()
    )


def says_no_processes(words: str) -> bool:
    """Whether a start failed because the limit on processes leaves no room for it."""
    return "resource temporarily unavailable" in words.lower() or "pthread_create" in words
