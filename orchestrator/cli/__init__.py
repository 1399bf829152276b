"""The `proctor` command: which commands there are. The only package that prints and exits.

Command modules import nothing heavy at their top, so that `proctor --help` answers at once.
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Annotated

import typer

COMMANDS = (
    *("demo", "run", "report", "show", "validate", "check", "delta"),
    *("shell", "init", "doctor", "reap", "schema"),
)
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""
EPILOG = (
    "Begin with `proctor demo`, then `proctor init my-benchmark`. Exit codes: 0 passed, 1 failed, "
    "2 a document to mend, 3 the machine, 4 a fault of proctor, 130 interrupted."
)


def build() -> typer.Typer:
    """The command line, assembled."""
    app = typer.Typer(
        name="proctor",
        help="Grade coding agents on repository tasks in real sandboxes, with verdicts you can trust.",
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(proctor)
    for name in COMMANDS:
        module = import_module(f"orchestrator.cli.{name}")
        app.command(module.NAME, short_help=module.SUMMARY)(module.command)
    rubric = import_module("orchestrator.cli.rubric")
    app.add_typer(rubric.group(), name=rubric.NAME, short_help=rubric.SUMMARY)
    return app


def version(asked: bool) -> None:
    """Print the version and leave."""
    if asked:
        from importlib.metadata import version as installed

        print(f"proctor {installed('proctor')}")
        raise typer.Exit


def proctor(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Grade coding agents on repository tasks in real sandboxes, with verdicts you can trust."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console script: run one command and exit with its code."""
    from orchestrator.cli.ending import finish

    _fill_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    sys.exit(finish(build(), arguments))


def _fill_streams() -> None:
    """Where somebody closed standard input, output or error (`>&-`), put nothing there: else the next file
    that is opened gets its number, and what is printed lands in it."""
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(spare)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 kept open
