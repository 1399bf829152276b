"""The rubrics that a run applied, kept in its folder: what its scores mean, whatever becomes of the files.

rubrics/<id>@<version>.json     one each, as it was when the run was begun, or taken up again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from pydantic import ValidationError

from orchestrator.documents.rubric import Rubric
from orchestrator.regular import read_regular

FOLDER = "rubrics"

Resolve = Callable[[str], Rubric | None]
"""A rubric ref -> the rubric, or None when it names nothing."""


def keep(run: Path, refs: Iterable[str | None], resolve: Resolve) -> None:
    """Write the rubrics of `refs`, and those that their composites name, into the run's folder.

    A run that is taken up again keeps those of now: trials under others are run again. Raises OSError.
    """
    found: dict[str, Rubric | None] = {}
    for ref in refs:
        if ref is not None and ref not in found:
            found |= reached(ref, resolve)
    for rubric in found.values():
        if rubric is not None:
            (run / FOLDER).mkdir(exist_ok=True)
            _write(run / FOLDER / f"{rubric.id}@{rubric.version}.json", rubric)


def kept(run: Path) -> dict[str, Rubric]:
    """The rubrics that the run in `run` applied, by ref; none for a run of a proctor that kept none.

    What cannot be read is left out: it is there for people and statistics, and decides nothing.
    """
    found = {}
    for file in sorted((run / FOLDER).glob("*@*.json")):
        try:
            rubric = Rubric.model_validate(json.loads(read_regular(file)))
        except (OSError, ValueError, ValidationError, RecursionError):
            continue
        found[rubric.ref] = rubric
    return found


def reached(ref: str, resolve: Resolve) -> dict[str, Rubric | None]:
    """The rubric of `ref` and all that its checks refer to, by ref; None for what resolves to nothing."""
    found: dict[str, Rubric | None] = {}
    waiting = [ref]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        rubric = found[name] = resolve(name)
        if rubric is not None:
            waiting += (v for check in rubric.checks for v in check.values() if _is_ref(v))
    return found


def _is_ref(value: object) -> bool:
    return isinstance(value, str) and value.startswith("rubric/")


def _write(file: Path, rubric: Rubric) -> None:
    held = rubric.model_dump(mode="json", exclude_defaults=True)
    draft = file.with_name(f".{file.name}.draft")
    draft.write_text(json.dumps(held, indent=1) + "\n", encoding="ascii")
    draft.replace(file)
