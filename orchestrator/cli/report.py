"""proctor report: what a run found, rebuilt from its records, in every form people and tools read."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.dossier import Dossier
    from orchestrator.report import Report

NAME = "report"
STDOUT = Path("/dev/stdout")
SUMMARY = "Show a run's table, or write it as HTML, JUnit, SARIF, Markdown, CSV."


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or still growing.")],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="One page with everything, for a browser; no network.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML, for pipelines.")] = None,
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="SARIF 2.1.0 for code scanning.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Markdown that fits a step summary (1 MiB).")
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV, a line per trial.")] = None,
    eee: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Every Eval Ever; with several agents FILE.<agent>.json each."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Show a run's table again, from its records alone, or write it in other forms; several at once.

    Exits 0 whatever the run found; the run's own exit code is in the JSON.

    \b
    Examples:
      proctor report runs/LATEST      the newest below runs/
      proctor report runs/LATEST --html report.html
      proctor report runs/LATEST --junit junit.xml --sarif proctor.sarif
      proctor report runs/LATEST --markdown - >> "$GITHUB_STEP_SUMMARY"
    """
    asked = {"html": html, "junit": junit, "sarif": sarif, "markdown": markdown, "csv": csv, "eee": eee}
    chosen = {form: STDOUT if file == Path("-") else file for form, file in asked.items() if file is not None}
    with _uncollected():
        _all_differ(chosen)
        dossier = _dossier(run)
        _write(chosen, dossier)
    if as_json:
        from orchestrator.cli.printing import json_out
        from orchestrator.report import as_json as plain

        json_out({"run": str(run), **plain(dossier.report)})
    elif not chosen:
        from orchestrator.cli.tables import print_report

        print_report(dossier.report, str(run))
    return 0


def _all_differ(chosen: dict[str, Path]) -> None:
    """Raises AuthoringError where one form would take another's place."""
    from orchestrator.errors import AuthoringError

    met: dict[str, str] = {}
    for form, file in chosen.items():
        place = os.path.realpath(file)
        first = met.setdefault(place, form)
        if first != form and (Path(place).is_file() or not Path(place).exists()):
            raise AuthoringError(f"--{first} and --{form} both name {file}; give each a file of its own")


def _write(chosen: dict[str, Path], dossier: Dossier) -> None:
    if chosen:
        from orchestrator.cli import exports

        for form, file in chosen.items():
            exports.write(form, file, dossier)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Everything that is read here stays until the end: looking for garbage would only take time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def read(run: Path) -> Report:
    """The report of the run in a folder; lines that are no records are named on stderr.

    Raises AuthoringError when there is no run.
    """
    return _dossier(run).report


def _dossier(run: Path) -> Dossier:
    from orchestrator.cli.failure import left_out
    from orchestrator.dossier import Dossier
    from orchestrator.errors import AuthoringError

    try:
        return Dossier.read(run, left_out)
    except (KeyError, TypeError, ValueError):
        raise AuthoringError(f"{run}/run.json holds no plan this version of proctor can read") from None
