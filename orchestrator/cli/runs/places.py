"""Where runs are looked for, and which run a word on the command line means."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.history.index import Index, Refreshed
    from orchestrator.history.pairing import Subject

DEFAULT = Path("runs")

Root = Annotated[
    Path, typer.Option("--runs", metavar="DIR", help="The folder that runs are kept in; by default runs.")
]
Run = Annotated[
    str, typer.Argument(metavar="RUN", help="A run folder, an id or how it begins, a tag, or LATEST.")
]


def opened(root: Path, *, follow: bool = True) -> Index:
    """The index of `root`, following its folders. Close it; what could not be read is told on stderr.

    Raises AuthoringError when there is no such folder, InfrastructureError when its database is not there.
    """
    import os

    from orchestrator.errors import AuthoringError
    from orchestrator.history.database import VARIABLE
    from orchestrator.history.index import Index

    if not root.is_dir() and not os.environ.get(VARIABLE):
        raise AuthoringError(f"{root}: there is no such folder of runs; name one with --runs")
    index = Index(root)
    if follow:
        tell(index.refresh())
    return index


def subject_of(word: str, root: Path) -> Subject:
    """The run that a word means, to be compared. A run folder needs no index. Raises AuthoringError."""
    from orchestrator.cli.failure import left_out
    from orchestrator.errors import AuthoringError
    from orchestrator.history.facts import read_run
    from orchestrator.history.pairing import Subject
    from orchestrator.store import HEADER

    if (Path(word) / HEADER).is_file():
        return Subject.of(read_run(Path(word), left_out), word)
    if Path(word).is_dir():
        raise AuthoringError(f"{word} is not a run folder: it has no {HEADER}")
    try:
        with opened(root) as index:
            return index.subject(index.find(word))
    except AuthoringError as error:
        if root.is_dir():
            raise
        raise AuthoringError(f"{word} is not a run folder, and {error}") from None


def tell(found: Refreshed) -> None:
    """What could not be read, a line each on stderr."""
    from orchestrator.cli.failure import left_out

    for problem in found.problems:
        left_out(problem)
