"""A trial record as one line of JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from orchestrator.documents.record import SCHEMA_VERSION, TrialRecord


def to_line(record: TrialRecord) -> bytes:
    """One line of pure ASCII without its end; text that is not Unicode (lone surrogates) is escaped.

    Strict JSON: numbers that are not finite become text ("NaN"), bytes are read as UTF-8.
    """
    data = record.model_dump(mode="python")
    try:
        line = json.dumps(data, default=_plain, allow_nan=False)
    except ValueError:
        line = json.dumps(_finite(data), default=_plain, allow_nan=False)
    return line.encode("ascii")


def from_line(line: bytes) -> TrialRecord:
    """Raises ValueError with one sentence for anything that is not a record of this schema version."""
    data = plain(line)
    try:
        return TrialRecord.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"the line is not a trial record: {place}: {first['msg']}") from None


def plain(line: bytes) -> dict[str, Any]:
    """A line's values, not yet looked at one by one. Raises ValueError with one sentence for anything that is
    no JSON object of this schema version."""
    try:
        data = _STRICT.decode(line.decode(json.detect_encoding(line), "surrogatepass"))
    except (ValueError, RecursionError):
        raise ValueError("the line is not JSON") from None
    if not isinstance(data, dict):
        raise ValueError("the line is not a trial record")
    version = data.get("schema_version", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise ValueError(f"the record has schema version {version!r}; this proctor reads {SCHEMA_VERSION!r}")
    return data


def refuse_foreign(trial: str, of: tuple[str, str], planned: Mapping[str, tuple[str, str]]) -> None:
    """Raises ValueError for a record under a planned trial's name that is of another benchmark or task.
    `planned` has (benchmark, task) of each trial."""
    wanted = planned.get(trial, of)
    if wanted != of:
        is_of, ought = (f"the task {task} of {benchmark}" for benchmark, task in (of, wanted))
        raise ValueError(f"the record is of {is_of}, but {trial} is {ought}")


def _no_json(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


_STRICT = json.JSONDecoder(parse_constant=_no_json)
"""Made once: `json.loads` makes one a line where it is told more than the line."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
