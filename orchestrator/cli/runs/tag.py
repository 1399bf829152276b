"""proctor runs tag: words to find a run by."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.runs import places

NAME = "tag"
SUMMARY = "Give a run words to find it by, and keep it from being pruned."


def command(
    run: places.Run,
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD...", help="Tags to add.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="WORD", help="A tag to take away; repeatable.")
    ] = None,
    root: places.Root = places.DEFAULT,
) -> int:
    """Add tags to a run, or take them away. They are kept in the run's folder.

    \b
    Examples:
      proctor runs tag LATEST release-2.1
      proctor runs tag release-2.1 baseline --remove candidate
    """
    from pathlib import Path

    from orchestrator.store import HEADER
    from orchestrator.words import safe

    with places.opened(root) as index:
        if (Path(run) / HEADER).is_file():
            places.tell(index.add(iter([Path(run)])))
            run = str(Path(run).absolute())
        row = index.find(run)
        tags = index.tag(row, set(words or ()), set(remove or ()))
    print(safe(f"{row.run_id}: {' '.join(tags) or 'no tags'}"))
    return 0
