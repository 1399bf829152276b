"""The `proctor` command: which commands there are. The only package that prints and exits.

Command modules import nothing heavy at their top, so that `proctor --help` answers at once; this one
imports next to nothing, so that an interrupt finds `main` listening from the start.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

COMMANDS = (
    *("demo", "run", "report", "show", "view", "compare", "regrade", "validate", "check", "delta"),
    *("shell", "init", "doctor", "reap", "schema"),
)
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""
GROUPS = ("rubric", "runs", "nightly")
"""The same for commands with sub-commands: each is a package with NAME, SUMMARY and group."""
EPILOG = (
    "Begin with `proctor demo`, then `proctor init my-benchmark`. Exit codes: 0 passed, 1 failed, "
    "2 a document to mend, 3 the machine, 4 a fault of proctor, 130 interrupted."
)


def build(asked: str = "") -> typer.Typer:
    """The command line, assembled; of the command `asked` alone, where there is one of that name."""
    from orchestrator.cli import app

    return app.build(asked)


def console() -> None:
    """Entry point of the console script, whose process is ours: when the command is done it ends at once."""
    leaving = _Leaving()
    atexit.register(leaving)  # the first to be registered is the last to be called
    try:
        main()
    except SystemExit as end:
        leaving.code = end.code if isinstance(end.code, int) else None
        raise


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its code."""
    try:
        code = _run(arguments)
        gc.freeze()  # the end of the process tidies up; Python need not look for garbage first
        sys.exit(code)
    except KeyboardInterrupt:  # while the first modules were imported: later ones are told by `ending`
        os.write(2, b"proctor: interrupted\n")
        os._exit(130)


class _Leaving:
    """The last thing of all: the process ends, and does not first take hundreds of modules apart."""

    code: int | None = None
    """None where something went so wrong that Python is to tell it."""

    def __call__(self) -> None:
        if self.code is not None:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):  # who would read it is gone
                    stream.flush()
            os._exit(self.code)


def _run(arguments: list[str] | None) -> int:
    gc.set_threshold(200_000, 10, 100)  # what is made at the start stays: looking for garbage is in vain
    _fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    from orchestrator.cli.ending import finish

    words = sys.argv[1:] if arguments is None else arguments
    return finish(build(words[0] if words else ""), arguments)


def _fill_streams() -> None:
    """Where somebody closed standard input, output or error (`>&-`), put nothing there: else the next file
    that is opened gets its number, and what is printed lands in it."""
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 kept open
