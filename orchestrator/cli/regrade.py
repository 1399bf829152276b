"""proctor regrade: the kept work of a run, graded by today's tasks and rubrics."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.cli.wish import Result
    from orchestrator.dossier import Dossier
    from orchestrator.regrade import Shift

NAME = "regrade"
SUMMARY = "Grade a run's kept work again, without the agents."


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    benchmark: Annotated[
        Path | None,
        typer.Option("--benchmark", metavar="PATH", help="The tasks of today; by default those of the run."),
    ] = None,
    rubrics: options.Rubrics = None,
    config: options.Config = None,
    sandbox: options.Sandbox = None,
    slots: options.Slots = None,
    out: options.Out = None,
    retries: options.Retries = 2,
    allow_unlimited: options.AllowUnlimited = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> int:
    """Grade the changes and responses that a run kept again, and show what that changes, trial by trial.

    No agent works. Tasks, tests and rubrics are those of now; the result is a run of its own, for report,
    show and compare. Trials whose work was not kept are not graded, and say why. Exit codes are those of
    `proctor run`.

    \b
    Examples:
      proctor regrade runs/LATEST
      proctor regrade runs/monday --benchmark my-benchmark --rubrics stricter/ -j 4 --json
    """
    import sys

    from orchestrator import regrade
    from orchestrator.cli.wish import Wish
    from orchestrator.cli.work import carry_out
    from orchestrator.dossier import Dossier
    from orchestrator.store import RunFolder

    old = Dossier.read(run)
    given = old.header.given
    wish = Wish(
        benchmark=benchmark or _benchmark_of(old),
        agents=old.plan.agents,
        made=regrade.agents(old),
        only=frozenset(job.trial for job in old.plan.trials),
        regraded_from=old.header.run_id,
        benchmark_id=old.header.benchmark,
        repeats=old.plan.repeats,
        sandbox=sandbox or _provider_of(old),
        slots=slots or os.cpu_count() or 1,
        retries=retries,
        out=out,
        allow_unlimited=allow_unlimited,
        config=config or (Path(given["config"]) if given.get("config") and benchmark is None else None),
        rubrics=tuple(map(Path, given.get("rubrics", ())) if rubrics is None else rubrics),
        executors=given.get("executors", "all"),
        quiet=quiet,
        argv=tuple(sys.argv),
    )
    result = carry_out(wish, lambda tools: regrade.attempts(old, tools))
    found = list(regrade.shifts(old, RunFolder(result.folder).latest()))
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(document(old, result, found))
    else:
        _print(old, result, found)
    return result.exit_code


def document(old: Dossier, result: Result, found: list[Shift]) -> dict[str, Any]:
    """The document of `proctor run`, with the run that was graded again and how each trial moved."""
    from orchestrator.cli import run

    trials = [
        {
            "trial": shift.trial,
            "task": shift.task,
            "agent": shift.agent,
            "repeat": shift.repeat,
            "was": {"status": shift.was[0], "score": shift.was[1]},
            "now": {"status": shift.now[0], "score": shift.now[1]},
            "moved": shift.moved,
            "reason": shift.reason,
        }
        for shift in found
    ]
    facts = {"id": old.header.run_id, "folder": str(old.folder), "gone": _gone(old, found)}
    return {"regraded_from": facts, "shifts": trials, **run.document(result)}


def _benchmark_of(old: Dossier) -> Path:
    """Where the run's benchmark lay. Raises AuthoringError when that is not known, or nothing lies there."""
    from orchestrator.errors import AuthoringError

    place = old.header.given.get("benchmark")
    if not place:
        raise AuthoringError(f"{old.folder} does not say where its benchmark lay; add --benchmark PATH")
    if not Path(place).exists():
        raise AuthoringError(f"the run's benchmark is no longer at {place}; add --benchmark PATH")
    return Path(place)


def _provider_of(old: Dossier) -> str | None:
    """Where the run had its rooms; None where it needed none."""
    return old.header.provider if old.header.provider not in ("", "none") else None


def _gone(old: Dossier, found: list[Shift]) -> list[str]:
    """Trials whose task the benchmark of now does not have."""
    known = {shift.trial for shift in found}
    return [job.trial for job in old.plan.trials if job.trial not in known]


def _print(old: Dossier, result: Result, found: list[Shift]) -> None:
    from orchestrator.cli.printing import console, draw, table
    from orchestrator.cli.tables import print_report
    from orchestrator.words import safe, score, short_names, word

    out = console()

    def said(end: tuple[str, float | None]) -> str:
        return word(end[0]).text + ("" if end[1] is None else f" {score(end[1])}")

    moved = [shift for shift in found if shift.moved]
    print_report(result.report, str(result.folder))
    if moved:
        rows = table(
            "task", "agent", "repeat", "was", "now", "reason", terminal=out.is_terminal, folding="reason"
        )
        called = short_names(old.plan.agents)
        for shift in moved:
            cells = (
                safe(shift.task),
                called[shift.agent],
                str(shift.repeat),
                said(shift.was),
                said(shift.now),
            )
            rows.add_row(*cells, safe(shift.reason))
        draw(out, rows)
    gone = len(_gone(old, found))
    left = f"; {gone} not there any more" if gone else ""
    told = f"Graded again from {old.header.run_id}: {len(moved)} of {len(found)} trials moved{left}."
    out.print(told, markup=False, soft_wrap=True)
