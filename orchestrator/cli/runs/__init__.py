"""proctor runs: find, tag and clear away earlier runs. One module per sub-command."""

from __future__ import annotations

from importlib import import_module

import typer

NAME = "runs"
SUMMARY = "List, show, tag, import and prune earlier runs."
COMMANDS = ("list", "show", "tag", "import_", "rebuild", "prune")
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""


def group() -> typer.Typer:
    """The sub-commands, assembled."""
    app = typer.Typer(
        name=NAME,
        help="List, show, tag, import and prune earlier runs.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    for name in COMMANDS:
        module = import_module(f"orchestrator.cli.runs.{name}")
        app.command(module.NAME, short_help=module.SUMMARY)(module.command)
    return app
