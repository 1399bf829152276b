"""proctor runs list: which runs there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.runs import places

if TYPE_CHECKING:
    from orchestrator.history.rows import Page, RunRow

NAME = "list"
SUMMARY = "Which runs there are, the newest first."


def command(
    root: places.Root = places.DEFAULT,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", metavar="ID", help="Only of this benchmark.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Only with this agent, or of this kind.")
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", metavar="WORD", help="Only with this tag.")] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="NAME", help="Only those that ran on this machine.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="COMMIT", help="Only of a commit that begins so.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DAY", help="Started on this day (2026-01-31) or later.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DAY", help="Started before.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 50,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Leave out so many.")] = 0,
    as_json: options.Json = False,
) -> int:
    """List the runs below a folder, from an index that follows it.

    The index lies in the folder (.index.sqlite) and may be deleted at any time; PROCTOR_STORE=postgresql://...
    keeps it in a database that several machines share.

    \b
    Examples:
      proctor runs list
      proctor runs list --benchmark quickstart --agent command --since 2026-01-01
      proctor runs list --tag nightly --json
    """
    from orchestrator.history.index import RunFilter

    wanted = RunFilter(benchmark, agent, tag, machine, revision, since, until)
    with places.opened(root) as index:
        page = index.runs(wanted, offset=offset, limit=limit)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out({"total": page.total, "offset": offset, "runs": [plain(row) for row in page.rows]})
    else:
        _print(page)
    return 0


def plain(row: RunRow) -> dict[str, Any]:
    """For --json."""
    from dataclasses import asdict

    facts = asdict(row)
    return {**facts, "folder": str(row.folder), "pass_rate": row.pass_rate}


def _print(page: Page[RunRow]) -> None:
    from orchestrator.cli.printing import console, draw, table
    from orchestrator.words import many, safe, score, short_names

    out = console()
    columns = ("run", "started", "benchmark", "agents", "passed", "of", "score", "revision", "tags")
    made = table(*columns, terminal=out.is_terminal, right=frozenset(("passed", "of", "score")))
    for row in page.rows:
        cells = (
            row.run_id,
            row.started[:16].replace("T", " "),
            f"{row.benchmark} {row.benchmark_version}",
            ", ".join(short_names(row.agents).values()),
            str(row.counts["passed"]),
            str(row.planned),
            score(row.mean_score),
            row.revision[:10],
            " ".join(row.tags),
        )
        made.add_row(*map(_cell, map(safe, cells)))
    draw(out, made)
    left = page.total - len(page.rows)
    more = f"; {left} more with --limit and --offset" if left else ""
    out.print(f"{many(page.total, 'run')}{more}", markup=False)


def _cell(text: str) -> Any:
    from rich.text import Text

    return Text(text)
