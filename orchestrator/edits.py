"""One field of a rubric's file changed, and every other byte kept: comments, order, unknown kinds, line ends.

Nothing is loaded and written again (rules 170 to 173): the place of the field's value is looked up in the
text, and the text around it is copied. What comes out is read back and compared before it is believed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_document
from orchestrator.loading.texts import read_bytes

AFTER = "version"
"""A new field goes below this one."""


def switch(data: bytes, name: str, enabled: bool) -> bytes:
    """The rubric in `data` with `enabled` set; the same bytes when it says so already. `name` is its file's.

    Raises AuthoringError when the document has a form in which no place for the field can be found.

    >>> switch(b'id: a  # mine\\nversion: "1.0"\\n', "a.yaml", enabled=False)
    b'id: a  # mine\\nversion: "1.0"\\nenabled: false\\n'
    """
    held = parse_document(data, name).data
    if isinstance(held, dict) and held.get("enabled", True) is enabled:
        return data
    return set_field(data, name, "enabled", enabled)


def set_field(data: bytes, name: str, field: str, value: bool | str) -> bytes:
    """The document in `data` with one top-level field set. Raises AuthoringError as `switch` does.

    A text `value` must need no escapes (ids and versions do not); it is quoted where it has to be.
    """
    text = data.decode("utf-8")
    wanted = {**parse_document(data, name).data, field: value}
    written = [value, f'"{value}"'] if isinstance(value, str) else [str(value).lower()]
    for form in written:
        try:
            edited = _edited(text, field, form)
        except (yaml.YAMLError, LookupError):
            break
        if _reads_as(edited, name, wanted):
            return edited.encode("utf-8")
    raise AuthoringError(f"{name}: no place for {field!r} was found; write `{field}: {written[-1]}` by hand")


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` in place of a file's content in one step, keeping its rights; links are followed."""
    path = path.resolve()
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(data)
        shutil.copymode(path, draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def switch_file(path: Path, enabled: bool) -> bool:
    """Enable or disable the rubric in a file; whether anything was to do. Raises AuthoringError, OSError."""
    data = read_bytes(path)
    edited = switch(data, str(path), enabled)
    if edited == data:
        return False
    replace_file(path, edited)
    return True


@dataclass(frozen=True)
class _Field:
    """One field of the top mapping: where its key begins, and from where to where its value stands."""

    column: int
    start: int
    end: int


def _edited(text: str, field: str, written: str) -> str:
    fields, flow = _fields(text)
    if field in fields:
        place = fields[field]
        return text[: place.start] + written + text[place.end :]
    after = fields[AFTER]
    if flow:
        return f'{text[: after.end]}, "{field}": {written}{text[after.end :]}'
    line_end = text.find("\n", after.end)
    cut = len(text) if line_end < 0 else line_end + 1
    ending = "\r\n" if text[:cut].endswith("\r\n") else "\n"
    gap = ending if line_end < 0 else ""
    return f"{text[:cut]}{gap}{' ' * after.column}{field}: {written}{ending}{text[cut:]}"


def _fields(text: str) -> tuple[dict[str, _Field], bool]:
    """The top mapping's fields, and whether it is written with braces. Positions are those of `text`.

    The Python scanner, not libyaml: its marks count characters of the text it was given.
    """
    events = yaml.parse(text, Loader=yaml.SafeLoader)
    top = next(e for e in events if not isinstance(e, yaml.StreamStartEvent | yaml.DocumentStartEvent))
    if not isinstance(top, yaml.MappingStartEvent):
        raise LookupError("no mapping")
    found: dict[str, _Field] = {}
    while not isinstance(key := next(events), yaml.MappingEndEvent):
        _skip(key, events)
        value = next(events)
        last = _skip(value, events)
        begin, start, end = key.start_mark, value.start_mark, last.end_mark
        if isinstance(key, yaml.ScalarEvent) and begin and start and end:
            found.setdefault(key.value, _Field(begin.column, start.index, end.index))
    return found, bool(top.flow_style)


def _skip(event: Any, events: Iterator[Any]) -> Any:
    """Go to the end of the value that begins with `event`; its last event."""
    depth = 0
    while True:
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth == 0:
            return event
        event = next(events)


def _reads_as(text: str, name: str, wanted: dict[str, Any]) -> bool:
    try:
        return bool(parse_document(text, name).data == wanted)
    except AuthoringError:
        return False
