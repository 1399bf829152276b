"""From a rubric's file to a `Rubric`: every mistake in it is named at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from orchestrator.documents.rubric import Rubric
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.accepted import Accepted
from orchestrator.loading.explain import explain, missing_kind, unknown_kind
from orchestrator.loading.lint import unknown_weights
from orchestrator.loading.located import Located
from orchestrator.loading.texts import parse_document, read_document
from orchestrator.schemas import RubricSchema, core

_BREAKS = "\x85\u2028\u2029"
"""Line breaks of YAML 1.1 that PyYAML writes unescaped and reads back as a space: escape everything then."""

_WRITTEN = (
    "id",
    "version",
    "label",
    "description",
    "applicable_bundles",
    "enabled",
    "metadata",
    "checks",
    "scoring",
)
"""The order in which a rubric's fields are written."""


def load_rubric(path: Path | str, schemas: RubricSchema | None = None) -> Rubric:
    """The rubric in a YAML or JSON file.

    `schemas` knows the check kinds; None means the fourteen core kinds. A weight for a check that is not
    there does not stop the loading by itself (C-24): see `lint`.
    Raises AuthoringError with every problem of the document.
    """
    return rubric_of(read_document(Path(path)), schemas)


def parse_rubric(text: str | bytes, name: str = "rubric", schemas: RubricSchema | None = None) -> Rubric:
    """The rubric in `text`; `name` stands in messages. Otherwise as `load_rubric`."""
    return rubric_of(parse_document(text, name), schemas)


def rubric_of(doc: Located, schemas: RubricSchema | None = None, accepted: Accepted | None = None) -> Rubric:
    """The rubric in a document already read; `accepted` remembers those that were in order. Otherwise as
    `load_rubric`."""
    schemas = schemas or core()
    accepted = accepted or Accepted()
    known = accepted.knows(schemas.whole, doc)
    refused = [] if known else list(_refused(doc, schemas))
    if not known and not refused:
        accepted.remember(schemas.whole, doc)
    found = doc.everything([*refused, *_double_ids(doc)])
    if found:
        raise AuthoringError(doc.everything([*found, *_dangling_weights(doc)]))
    return Rubric.model_validate(doc.data)


def dump_rubric(rubric: Rubric) -> str:
    """The rubric as YAML that loads to an equal one; the data of its checks is not touched (rule 172)."""
    held = rubric.model_dump(mode="python", exclude_defaults=True)
    data = {name: held[name] for name in sorted(held, key=_WRITTEN.index)}
    data["checks"] = [dict(check) for check in data["checks"]]
    if bundles := data.get("applicable_bundles"):
        data["applicable_bundles"] = list(bundles)
    text = json.dumps(data, ensure_ascii=False)
    readable = not any(c in text for c in _BREAKS)
    written: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=readable, width=100)
    return written


def _refused(doc: Located, schemas: RubricSchema) -> Iterator[Problem]:
    yield from explain(schemas.document, doc, doc.data)
    for number, check in _checks(doc):
        yield from _check_problems(doc, schemas, number, check)


def _checks(doc: Located) -> Iterator[tuple[int, dict[str, Any]]]:
    checks = doc.data.get("checks") if isinstance(doc.data, dict) else None
    for number, check in enumerate(checks if isinstance(checks, list) else ()):
        if isinstance(check, dict):
            yield number, check


def _check_problems(
    doc: Located, schemas: RubricSchema, number: int, check: dict[str, Any]
) -> Iterator[Problem]:
    """Judged by the definition of its own kind, never by all of them (C-40)."""
    path = ("checks", number)
    kind = check.get("kind")
    if "kind" not in check:
        yield missing_kind(schemas.kinds, doc, path)
    elif isinstance(kind, str) and kind in schemas.kinds:
        yield from explain(schemas.kinds[kind], doc, check, path)
    else:
        yield unknown_kind(kind, schemas.kinds, doc, (*path, "kind"))


def _double_ids(doc: Located) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for number, check in _checks(doc):
        name = check.get("id")
        if not isinstance(name, str):
            continue
        path = ("checks", number, "id")
        if name in first:
            line = doc.line(("checks", first[name], "id"))
            message = f'the id "{name}" is already that of checks[{first[name]}] on line {line}'
            yield doc.problem(path, message, "weights and reports need one id per check")
        first.setdefault(name, number)


def _dangling_weights(doc: Located) -> Iterator[Problem]:
    """Weights for ids that no check has: refused by validate, named by check and run (C-24)."""
    scoring = doc.data.get("scoring") if isinstance(doc.data, dict) else None
    weights = scoring.get("weights") if isinstance(scoring, dict) else None
    if not isinstance(weights, dict):
        return
    ids = {check["id"] for _, check in _checks(doc) if isinstance(check.get("id"), str)}
    for name, message, hint in unknown_weights(weights, ids):
        yield doc.problem(("scoring", "weights", name), message, hint, key=True)
