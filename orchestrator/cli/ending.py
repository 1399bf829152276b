"""How a command ends: its own code, a usage error, or an exception told by its owner."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from orchestrator.errors import EXIT_OK


def finish(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run `app` and return the exit code. Raises nothing; prints what went wrong."""
    try:
        result = _plain(typer.main.get_command(app)).main(
            args=None if arguments is None else list(arguments), prog_name="proctor", standalone_mode=False
        )
        sys.stdout.flush()
    except typer.Exit as leave:
        return leave.exit_code
    except SystemExit as leave:
        if isinstance(leave.__context__, BrokenPipeError):  # the libraries below turn it into a bare 1
            return _told(leave.__context__)
        return leave.code if isinstance(leave.code, int) else EXIT_OK
    except BaseException as error:
        return _told(error)
    return result if isinstance(result, int) else EXIT_OK


def _plain(command: Any) -> Any:
    """Arguments without the names of Python types beside their own, which newer typers add to the help."""
    for parameter in command.params:
        if parameter.param_type_name == "argument" and parameter.metavar:
            parameter.display_type_rich = lambda ctx: None
    for inner in getattr(command, "commands", {}).values():
        _plain(inner)
    return command


def _told(error: BaseException) -> int:
    show = getattr(error, "show", None)
    if callable(show):  # a usage error: an unknown option, a missing argument
        if isinstance(getattr(error, "message", None), str):
            error.message = error.message.replace("Value error, ", "")  # type: ignore[attr-defined]
        show()
        return int(getattr(error, "exit_code", 2))
    from orchestrator.cli.failure import tell

    cause = error.__cause__ or error.__context__
    if isinstance(error, typer.Abort) and isinstance(cause, KeyboardInterrupt | EOFError):
        error = KeyboardInterrupt()
    return tell(error)
