"""proctor report: what a run found, rebuilt from its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.report import Report

NAME = "report"
SUMMARY = "Show a run's table, from its records."


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or still growing.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Show a run's table again, from its records alone.

    Exits 0 whatever the run found; the run's own exit code is in the JSON.

    \b
    Examples:
      proctor report runs/LATEST      the newest below runs/
      proctor report runs/20260101T120000Z-quickstart-1a2b3c4d
    """
    report = read(run)
    if as_json:
        from orchestrator.cli.printing import json_out
        from orchestrator.report import as_json as plain

        json_out({"run": str(run), **plain(report)})
    else:
        from orchestrator.cli.tables import print_report

        print_report(report, str(run))
    return 0


def read(run: Path) -> Report:
    """The report of the run in a folder; lines that are no records are named on stderr.

    Raises AuthoringError when there is no run.
    """
    from orchestrator.cli.failure import say
    from orchestrator.errors import AuthoringError
    from orchestrator.plan import Plan
    from orchestrator.report import summarise
    from orchestrator.store import RunFolder

    folder = RunFolder(run)
    try:
        plan = Plan.from_json(folder.header.plan)
    except (KeyError, TypeError, ValueError):
        raise AuthoringError(f"{run}/run.json holds no plan this version of proctor can read") from None
    return summarise(folder.records(lambda problem: say(f"left out: {problem}")), plan)
