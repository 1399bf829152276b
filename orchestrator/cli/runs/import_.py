"""proctor runs import: runs that lie elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.runs import places

NAME = "import"
SUMMARY = "Take runs that lie elsewhere into the index."


def command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Run folders, or folders that hold some.")
    ],
    root: places.Root = places.DEFAULT,
) -> int:
    """Take run folders into the index where they are. Nothing is copied or changed.

    \b
    Examples:
      proctor runs import /mnt/archive/2025
      PROCTOR_STORE=postgresql://db/proctor proctor runs import runs
    """
    from orchestrator.errors import AuthoringError
    from orchestrator.history.folders import run_folders
    from orchestrator.store import HEADER

    found: list[Path] = []
    for folder in folders:
        inside = [folder] if (folder / HEADER).is_file() else list(run_folders(folder.absolute()))
        if not inside:
            raise AuthoringError(f"{folder}: there is no run in it")
        found += inside
    with places.opened(root) as index:
        done = index.add(iter(found))
        total = index.runs(limit=1).total
    places.tell(done)
    print(f"{done.read} of {len(found)} runs taken in; {total} are known now")
    return 0
