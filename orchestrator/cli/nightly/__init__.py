"""proctor nightly: a run every night, held against a baseline. One module per sub-command."""

from __future__ import annotations

from importlib import import_module

import typer

NAME = "nightly"
SUMMARY = "Run benchmarks every night and tell a regression from chance."
COMMANDS = ("run", "install", "status", "trend")
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""


def group() -> typer.Typer:
    """The sub-commands, assembled."""
    app = typer.Typer(
        name=NAME,
        help="Run benchmarks every night and tell a regression from chance.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    for name in COMMANDS:
        module = import_module(f"orchestrator.cli.nightly.{name}")
        app.command(module.NAME, short_help=module.SUMMARY)(module.command)
    return app
