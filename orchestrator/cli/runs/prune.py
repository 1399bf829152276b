"""proctor runs prune: take old runs away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.runs import places

if TYPE_CHECKING:
    from orchestrator.history.rows import RunRow

NAME = "prune"
SUMMARY = "Delete old runs; tagged ones stay."


def command(
    root: places.Root = places.DEFAULT,
    keep: Annotated[
        int, typer.Option("--keep", metavar="N", min=0, help="The newest N of each benchmark stay.")
    ] = 10,
    older_than: Annotated[
        float | None,
        typer.Option(
            "--older-than",
            metavar="DAYS",
            min=0,
            callback=options.finite,
            help="Only runs that are older than this.",
        ),
    ] = None,
    tagged: Annotated[bool, typer.Option("--tagged", help="Tagged runs may go, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete them; without it they are only named.")] = False,
) -> int:
    """Delete the folders of old runs. Runs with a tag, runs that are being written, the newest ones and those
    that a nightly is held against stay; runs outside --runs are never touched.

    \b
    Examples:
      proctor runs prune --keep 20                       what would go
      proctor runs prune --keep 20 --older-than 90 --yes
    """
    from datetime import UTC, datetime

    from orchestrator.history.nightly.ledger import held_against
    from orchestrator.history.pruning import Retention, spare, sweep
    from orchestrator.words import many, place

    with places.opened(root) as index:
        needed = held_against(index.root)
        kept = Retention(newest=keep, days=older_than, tagged=not tagged, needed=needed)
        inside = [
            row
            for row in index.runs(limit=1_000_000).rows
            if row.host == index.host and row.folder.is_relative_to(index.root)
        ]
        rows = spare(inside, kept, datetime.now(UTC))
        if yes:
            sweep(index.root)
            gone = _remove(rows)
            index.refresh()
    if yes:
        print(f"{many(gone, 'run')} deleted")
        return 0
    for row in rows:
        print(place(f"{row.run_id}  {row.started}  {row.folder}"))
    print(f"{many(len(rows), 'run')} would be deleted; add --yes to do it")
    return 0


def _remove(rows: tuple[RunRow, ...]) -> int:
    from orchestrator.cli.failure import say
    from orchestrator.history.pruning import remove

    gone = 0
    for row in rows:
        if remove(row.folder):
            gone += 1
        else:
            say(f"{row.folder} is being written; it stays")
    return gone
