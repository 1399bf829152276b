"""proctor rubric new: a rubric to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.rubric import places

NAME = "new"
SUMMARY = "Start a rubric of your own."
TEMPLATE = """\
# {id}: write here what it is for. `proctor rubric lint FILE` tells what seldom means what it says.
id: {id}
version: "1.0"            # a new major number says: scores cannot be compared with the old ones
label: {label}
description: What a good answer has, and what it must not have.
checks:
  - kind: must_contain_any
    id: names_the_cause
    description: names the cause     # judges read this line
    values: ["off by one", "rounding"]

  - kind: must_not_contain
    id: no_excuses
    description: no excuses
    values: ["as an AI", "I was unable to"]

  # Others: regex, target_match, json_schema, markdown_structure, format, fact_match, composite, and with a
  # sandbox command and score_delta. `proctor schema rubric` prints each with its fields.
scoring:
  combine: weighted_avg   # or all_pass, any_pass, min, max, median
  threshold: 0.7
  weights:                # shares of 1; the check that matters most must not be outvoted
    names_the_cause: 0.7
    no_excuses: 0.3
"""


def command(
    name: Annotated[str, typer.Argument(metavar="ID", help="Its id: small letters, digits and _.")],
    origin: Annotated[
        str | None, typer.Option("--from", metavar="RUBRIC", help="Copy this one instead of the template.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="By default rubrics/ID.yaml, or ID.yaml without ./rubrics."
        ),
    ] = None,
    folders: places.Folders = None,
) -> int:
    """Write a commented rubric that loads, or a copy of another under a new id, comments and all.

    \b
    Examples:
      proctor rubric new support_tone
      proctor rubric new my_fix --from bug_fix --out rubrics/my_fix.yaml
    """
    file = write(name, origin, out, folders)
    print(f"made {file}: edit it, then")
    print(f"  proctor rubric lint {file}")
    print(f"  proctor check {file} --response answer.txt")
    return 0


def write(name: str, origin: str | None, out: Path | None, folders: list[Path] | None) -> Path:
    """The new file. Raises AuthoringError for an id that is none and for a file that is there already."""
    from orchestrator.errors import AuthoringError
    from orchestrator.rubrics import FOLDER

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        from orchestrator.convert import slug

        raise AuthoringError(f"{name}: an id has small letters, digits and _; write {slug(name)}")
    file = out or Path(FOLDER if Path(FOLDER).is_dir() else ".", f"{name}.yaml")
    data = TEMPLATE.format(id=name, label=name.replace("_", " ").capitalize()).encode()
    if origin is not None:
        from orchestrator.edits import set_field
        from orchestrator.loading.texts import read_bytes

        place = places.locate(origin, folders)
        data = set_field(read_bytes(place.path), str(place.path), "id", name)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("xb") as stream:
            stream.write(data)
    except FileExistsError:
        raise AuthoringError(f"{file} is there already; name another with --out") from None
    return file
