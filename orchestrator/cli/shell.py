"""proctor shell: a prompt inside a task's prepared room."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from sandboxes.protocol import Done, Sandbox

NAME = "shell"
WHERE = "/tmp/.proctor-shell-cwd"
"""Each line leaves the folder it ended in here, for the next."""


def prompt(room: Sandbox, workdir: str) -> None:
    """Read lines until the end of input, "exit" or Ctrl-D; each is one command in the room."""
    import readline  # noqa: F401  # line editing and history for input()

    cwd = workdir
    while True:
        try:
            line = input(f"{cwd} $ " if sys.stdin.isatty() else "")
        except EOFError:
            print()
            return
        if line.strip() in ("exit", "logout"):
            return
        if line.strip():
            cwd = enter(room, line, cwd)


def enter(room: Sandbox, line: str, cwd: str) -> str:
    """Run one line in `cwd` and show what it prints. Returns the folder it ended in."""
    from sandboxes.spec import Command

    script = f'cd -- {shlex.quote(cwd)} || exit; eval "$1"; code=$?; pwd > {WHERE}; exit $code'
    try:
        done = room.run(Command(("/bin/sh", "-c", script, "sh", line)), show)
    except KeyboardInterrupt:
        print()
        raise
    told = ending(done)
    if told:
        print(told, file=sys.stderr)
    left = room.read(WHERE, 1 << 16)
    return left.decode("utf-8", "surrogateescape").rstrip("\n") if left else cwd


def show(stream: Literal["stdout", "stderr"], data: bytes) -> None:
    """Pass output on as it comes."""
    out = sys.stdout if stream == "stdout" else sys.stderr
    out.flush()
    out.buffer.write(data)
    out.flush()


def ending(done: Done) -> str:
    """What a shell would not have told: an exit code that is not 0, a signal, a limit."""
    if done.ok:
        return ""
    if done.end == "exited":
        return f"[exit {done.exit_code}]"
    return f"[{done.end}]"
