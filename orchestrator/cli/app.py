"""The command line, assembled from its commands."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Annotated

import typer

from orchestrator.cli import COMMANDS, EPILOG, GROUPS

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def build(asked: str = "") -> typer.Typer:
    """The command line, assembled. Where `asked` is the name of a command, only that one is loaded."""
    app = typer.Typer(
        name="proctor",
        help="Grade coding agents on repository tasks in real sandboxes, with verdicts you can trust.",
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings=HELP,
    )
    app.callback()(proctor)
    alone = asked in COMMANDS or asked in GROUPS
    for name in (n for n in COMMANDS if not alone or n == asked):
        module = import_module(f"orchestrator.cli.{name}")
        app.command(module.NAME, short_help=module.SUMMARY)(module.command)
    for name in (n for n in GROUPS if not alone or n == asked):
        module = import_module(f"orchestrator.cli.{name}")
        app.add_typer(_group(module), name=module.NAME, short_help=module.SUMMARY)
    return app


def _group(package: ModuleType) -> typer.Typer:
    """The sub-commands of a package that has NAME, SUMMARY and COMMANDS, each a module of it."""
    app = typer.Typer(
        help=package.SUMMARY, no_args_is_help=True, rich_markup_mode=None, context_settings=HELP
    )
    for name in package.COMMANDS:
        module = import_module(f"{package.__name__}.{name}")
        app.command(module.NAME, short_help=module.SUMMARY)(module.command)
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
