"""Where a dot-path of a check leads: one resolver for every kind with a reference (rule 86, C-32)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

ROOTS = ("expected", "metadata")
"""What a path may begin with (rule 72)."""


class PathError(Exception):
    """The path is malformed, leads nowhere, or leads to what is no text. The message is for authors."""


def resolve(row: Mapping[str, Any], path: Any) -> Any:
    """The value `path` names in the question row.

    Segments are literal names; in a list a segment of digits is an index, counted from 0.
    Raises PathError, naming the path and the segment that failed.

    >>> resolve({"expected": {"answers": ["a", "b"]}}, "expected.answers.1")
    'b'
    """
    segments = _segments(path)
    value: Any = row
    for position, segment in enumerate(segments):
        found, value = _step(value, segment)
        if not found:
            done = ".".join(segments[:position]) or "the question"
            raise PathError(f"reference path {path!r} leads nowhere: {done} has no {segment!r}")
    return value


def texts(row: Mapping[str, Any], path: Any) -> tuple[str, ...]:
    """What `path` names, as one or several texts, never none and never blank.

    Numbers and booleans count as their JSON text. Raises PathError for null, empty, blank, nested or
    non-scalar values and for text that is not valid UTF-8, also when only one of several is so.

    >>> texts({"metadata": {"year": 2024}}, "metadata.year")
    ('2024',)
    """
    value = resolve(row, path)
    if not _is_list(value):
        return (_text(value, path),)
    if not value:
        raise PathError(f"reference {path!r} is an empty list")
    return tuple(_text(item, f"{path}.{index}") for index, item in enumerate(value))


def _segments(path: Any) -> list[str]:
    if not isinstance(path, str):
        raise PathError(f"reference path must be text, not {type(path).__name__}")
    segments = path.split(".")
    if segments[0] not in ROOTS or len(segments) < 2:
        raise PathError(f"reference path {path!r} must begin with 'expected.' or 'metadata.'")
    if not all(segments):
        raise PathError(f"reference path {path!r} has an empty segment")
    return segments


def _step(value: Any, segment: str) -> tuple[bool, Any]:
    if isinstance(value, Mapping):
        return (True, value[segment]) if segment in value else (False, None)
    if _is_list(value) and segment.isascii() and segment.isdecimal():
        # A very long run of digits is no index (and int() would refuse it).
        index = int(segment) if len(segment) < 10 else len(value)
        return (True, value[index]) if index < len(value) else (False, None)
    return False, None


def _text(value: Any, path: str) -> str:
    if value is None:
        raise PathError(f"reference {path!r} is empty (null)")
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise PathError(f"reference {path!r} is not valid UTF-8: {error.reason}") from None
    if isinstance(value, str):
        return _checked(value, path)
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        return json.dumps(value)
    raise PathError(f"reference {path!r} is not a single text or number but {type(value).__name__}")


def _checked(value: str, path: str) -> str:
    if not value.strip():
        raise PathError(f"reference {path!r} is empty")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PathError(f"reference {path!r} is not valid UTF-8: {error.reason}") from None
    return value


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
