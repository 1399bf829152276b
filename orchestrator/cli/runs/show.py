"""proctor runs show: what is known of one run, and its trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.runs import places

if TYPE_CHECKING:
    from orchestrator.history.rows import Page, RunRow, TrialRow

NAME = "show"
SUMMARY = "What is known of one run, and its trials."


def command(
    run: places.Run,
    root: places.Root = places.DEFAULT,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Only this task.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only this agent.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="WORD", help="passed, failed, errored, invalid, ...")
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="WORDS", help="Occurs in the task's id or the reason.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many trials.")] = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave out so many.")] = 0,
    as_json: options.Json = False,
) -> int:
    """Show where a run took place, with which versions, and how its trials ended.

    \b
    Examples:
      proctor runs show LATEST
      proctor runs show 20260101T1200 --status failed
      proctor runs show nightly:main --text timeout --json
    """
    from pathlib import Path

    from orchestrator.history.index import TrialFilter
    from orchestrator.store import HEADER

    with places.opened(root) as index:
        if (Path(run) / HEADER).is_file():
            places.tell(index.add(iter([Path(run)])))
            run = str(Path(run).absolute())
        row = index.find(run)
        page = index.trials(
            row.run_id, TrialFilter(task, agent, status, text=text), offset=offset, limit=limit
        )
    if as_json:
        from orchestrator.cli.printing import json_out
        from orchestrator.cli.runs.list import plain

        trials = [_plain(trial) for trial in page.rows]
        json_out({**plain(row), "trials": {"total": page.total, "offset": offset, "rows": trials}})
    else:
        _print(row, page)
    return 0


def _plain(row: TrialRow) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row.facts)


def _print(row: RunRow, page: Page[TrialRow]) -> None:
    from orchestrator.cli.printing import console, draw, table
    from orchestrator.cli.tables import status
    from orchestrator.words import brief, safe, score, seconds, short_names

    out = console()
    out.print(safe(f"{row.run_id}: {row.benchmark} {row.benchmark_version}"), markup=False)
    for name, value in _facts(row):
        out.print(f"  {name:<10} {safe(value)}", markup=False, soft_wrap=True)
    made = table("task", "agent", "repeat", "status", "score", "time", "reason", terminal=out.is_terminal)
    called = short_names(row.agents)
    for trial in page.rows:
        t = trial.facts
        agent = called.get(t.agent, safe(t.agent))
        facts = (score(t.score), seconds(t.seconds), safe(brief(t.reason)))
        made.add_row(safe(t.task), agent, str(t.repeat), status(t.status), *facts)
    draw(out, made)
    left = page.total - len(page.rows) - page.offset
    if left > 0:
        out.print(f"{left} more trials with --limit and --offset", markup=False)


def _facts(row: RunRow) -> list[tuple[str, str]]:
    """Name and value of what is known."""
    git, machine = row.header.get("git", {}), row.header.get("machine", {})
    versions = row.header.get("versions", {})
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in row.counts.items() if count)
    system = ", ".join(str(machine[name]) for name in ("name", "system") if machine.get(name))
    told = [
        ("started", row.started),
        ("folder", str(row.folder)),
        ("trials", f"{row.planned} planned: {counts or 'none'}"),
        ("tags", " ".join(row.tags)),
        ("git", f"{git.get('revision', '')} {git.get('branch', '')} {git.get('state', '')}".strip()),
        ("machine", system + (f", {machine['cores']} cores" if machine.get("cores") else "")),
        ("sandbox", row.provider),
        ("versions", ", ".join(f"{name} {value}" for name, value in versions.items() if value)),
        ("command", " ".join(row.header.get("argv", ()))),
    ]
    return [(name, value) for name, value in told if value]
