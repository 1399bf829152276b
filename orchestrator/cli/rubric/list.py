"""proctor rubric list: which rubrics there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.rubrics import Stored

NAME = "list"
SUMMARY = "List the rubrics here and the built-in ones."
OTHERS = frozenset({"tasks", "questions", "profiles"})
"""A document with one of these is no rubric and was not meant as one."""


def command(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR|FILE...]", help="Where to look; by default ./rubrics, else here."),
    ] = None,
    as_json: options.Json = False,
) -> int:
    """List rubrics: those in the folders named, then the ones that come with proctor.

    Exits 2 when a file in the folders is no rubric that loads; the others are listed all the same.

    \b
    Examples:
      proctor rubric list
      proctor rubric list benchmarks/quickstart/rubrics --json
    """
    entries, bad = gather(places)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out({"rubrics": [row(entry, ours) for entry, ours in entries]})
    else:
        _draw(entries)
    return 2 if bad else 0


def gather(places: list[Path] | None) -> tuple[list[tuple[Stored, bool]], bool]:
    """(rubric, whether it is a built-in one), and whether a file did not load. Problems go to stderr."""
    from orchestrator.cli.failure import say
    from orchestrator.cli.given import schemas
    from orchestrator.cli.rubric.places import built_in, files
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import read_document, rubric_of
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import Stored

    schema = schemas(Registry.load())
    entries, bad = [], False
    looked = [(file, False) for file in files(places)] + [(place.path, True) for place in built_in()]
    for file, ours in looked:
        try:
            source = read_document(file)
            if isinstance(source.data, dict) and OTHERS & set(source.data):
                continue
            entries.append((Stored(rubric_of(source, schema), source), ours))
        except AuthoringError as error:
            bad = True
            for problem in error.problems:
                say(str(problem))
    return entries, bad


def row(entry: Stored, built_in: bool) -> dict[str, Any]:
    """One rubric in a list, as JSON has it."""
    rubric = entry.rubric
    return {
        "ref": rubric.ref,
        "label": rubric.label,
        "description": rubric.description,
        "enabled": rubric.enabled,
        "combine": rubric.scoring.combine,
        "threshold": rubric.scoring.threshold,
        "weights": dict(rubric.scoring.weights),
        "kinds": [check["kind"] for check in rubric.checks],
        "built_in": built_in,
        "file": entry.file,
    }


def _draw(entries: list[tuple[Stored, bool]]) -> None:
    from orchestrator.cli import words
    from orchestrator.cli.printing import console, draw, table

    out = console()
    columns = ("rubric", "combine", "threshold", "checks", "state", "from", "measures")
    made = table(
        *columns, terminal=out.is_terminal, folding="measures", right=frozenset(("threshold", "checks"))
    )
    for entry, built_in in entries:
        rubric = entry.rubric
        level = "-" if rubric.scoring.threshold is None else f"{rubric.scoring.threshold:g}"
        state = "enabled" if rubric.enabled else "disabled"
        origin = "proctor" if built_in else words.safe(entry.file)
        measures = words.safe(words.shorten(rubric.label or rubric.description, 60))
        name = rubric.ref.removeprefix("rubric/")
        made.add_row(name, rubric.scoring.combine, level, str(len(rubric.checks)), state, origin, measures)
    draw(out, made)
