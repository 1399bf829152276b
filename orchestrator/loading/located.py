"""A document's plain data, and the line every piece of it was written on.

Both readers (YAML and JSON) feed a `Builder`; what comes out is a `Located`. Faults that do not stop the
reading (a key given twice, a number that is not finite) are kept, so that one pass can name them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from orchestrator.errors import AuthoringError, Problem

MAX_DEPTH = 100
"""Containers inside each other; deeper documents are refused."""
MAX_COPIES = 100_000
"""Values that aliases may add to a document, all together ("billion laughs")."""

Path = tuple[str | int, ...]
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*\Z")


class Mark:
    """Where one value stands: its 1-based line, and how it was written when that is not its own text."""

    __slots__ = ("items", "keys", "line", "written")

    def __init__(self, line: int, written: str | None = None) -> None:
        self.line = line
        self.written = written
        self.items: dict[str, Mark | int] | list[Mark | int] | None = None
        self.keys: dict[str, int] = {}


@dataclass(frozen=True)
class Located:
    """One document: `data` is plain dict, list, str, int, float, bool and None."""

    file: str
    data: Any
    mark: Mark | int
    faults: tuple[Problem, ...] = ()
    """Found while reading, whatever the document is for."""
    doubts: tuple[Problem, ...] = ()
    """Scalars that YAML reads as something an author seldom means (no, 12:30, 1_000, a date)."""

    def plain(self) -> Any:
        """The data, when nothing was wrong with the writing. Raises AuthoringError otherwise."""
        if self.faults or self.doubts:
            raise AuthoringError(self.everything(()))
        return self.data

    def problem(self, path: Iterable[str | int], message: str, hint: str = "", key: bool = False) -> Problem:
        """A Problem at `path`; with `key`, at the line of the field's name rather than of its value."""
        path = tuple(path)
        line = self.key_line(path) if key else self.line(path)
        return Problem(self.file, line, show_path(path), message, hint)

    def everything(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """`problems` and what was found while reading; one place is named once."""
        faulty = {p.path for p in self.faults}
        found = [p for p in problems if p.path not in faulty]
        named = {p.path for p in found} | faulty
        return tuple(sorted({*self.faults, *found, *(d for d in self.doubts if d.path not in named)}))

    def line(self, path: Path) -> int:
        """Line of the value at `path`, or of the nearest thing around it."""
        mark = self._marks(path)[-1]
        return mark if isinstance(mark, int) else mark.line

    def key_line(self, path: Path) -> int:
        """Line of the name of the field at `path`."""
        parent = self._marks(path[:-1])[-1]
        known = parent.keys.get(str(path[-1])) if path and isinstance(parent, Mark) else None
        return known or self.line(path)

    def written(self, path: Path) -> str | None:
        """How the scalar at `path` was written, when that is not its own text. None for text."""
        marks = self._marks(path)
        mark = marks[-1]
        return mark.written if len(marks) == len(path) + 1 and isinstance(mark, Mark) else None

    def _marks(self, path: Path) -> list[Mark | int]:
        marks = [self.mark]
        for step in path:
            items = marks[-1].items if isinstance(marks[-1], Mark) else None
            try:
                marks.append(items[step])  # type: ignore[index]
            except (KeyError, IndexError, TypeError):
                break
        return marks


def show_path(path: Iterable[str | int]) -> str:
    """As authors read it.

    >>> show_path(("checks", 0, "values", 1)), show_path(("env", "a b"))
    ('checks[0].values[1]', 'env["a b"]')
    """
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        elif _PLAIN_KEY.match(step):
            shown += f".{step}" if shown else step
        else:
            shown += f'["{shorten(step)}"]'
    return shown


def shorten(text: str, limit: int = 60) -> str:
    """`text` on one line, cut in the middle when it is long."""
    text = "".join(c if c.isprintable() else " " for c in text)
    return text if len(text) <= limit else f"{text[: limit // 2]}...{text[-limit // 4 :]}"


@dataclass(frozen=True)
class Scalar:
    """One scalar as a reader understood it."""

    value: Any
    written: str | None = None
    """None for text."""
    fault: str = ""
    doubt: str = ""
    hint: str = ""
    merge: bool = False
    """An unquoted `<<`: as a key it merges other mappings."""


@dataclass
class _Frame:
    value: Any
    mark: Mark
    anchor: str | None
    size: int = 1
    key: str | None = None
    duplicate: bool = False
    merging: bool = False
    as_key: bool = False
    columns: dict[str, int] = field(default_factory=dict)
    """Where in its line each key begins, for keys that share a line."""
    merged: list[tuple[dict[str, Any], Mark]] = field(default_factory=list)


class Builder:
    """Puts values and marks together from a reader's events, without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.faults: list[Problem] = []
        self.doubts: list[Problem] = []
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, Mark | int, int]] = {}
        self._root: tuple[Any, Mark | int] | None = None
        self._copies = 0

    def done(self) -> Located:
        """The finished document; an empty one is None."""
        data, mark = self._root or (None, Mark(1, ""))
        return Located(self.file, data, mark, tuple(self.faults), tuple(self.doubts))

    def open(self, value: dict[str, Any] | list[Any], line: int, anchor: str | None = None) -> None:
        """A mapping or list begins."""
        as_key = self._expects_key()
        if as_key:
            self._set_key(Scalar("", "(a list or mapping)"), line)
        if len(self._frames) >= MAX_DEPTH:
            raise AuthoringError(
                Problem(self.file, line, "", f"nested more than {MAX_DEPTH} levels deep", "flatten it")
            )
        mark = Mark(line)
        mark.items = {} if isinstance(value, dict) else []
        self._frames.append(_Frame(value, mark, anchor, as_key=as_key))

    def close(self) -> None:
        """The innermost mapping or list ends."""
        frame = self._frames.pop()
        for value, mark in frame.merged:
            _merge(frame, value, mark)
        if not frame.as_key:
            self._add(frame.value, frame.mark, frame.size, frame.anchor)

    def scalar(self, scalar: Scalar, line: int, anchor: str | None = None, column: int = 0) -> None:
        """A scalar: a key where a mapping waits for one, a value otherwise. `column` counts from 1."""
        if self._expects_key():
            self._set_key(scalar, line, column)
            if anchor is not None:
                self._anchors[anchor] = (scalar.value, line, 1)
            return
        if scalar.fault:
            self._fault(line, scalar.fault, scalar.hint)
        if scalar.doubt:
            self.doubts.append(Problem(self.file, line, show_path(self.path()), scalar.doubt, scalar.hint))
        mark = line if scalar.written is None else Mark(line, scalar.written)
        self._add(scalar.value, mark, 1, anchor)

    def alias(self, anchor: str, line: int) -> None:
        """The value of an anchor once more. The copy shares its memory; its size is bounded all the same."""
        if anchor not in self._anchors:
            raise AuthoringError(
                Problem(
                    self.file,
                    line,
                    show_path(self.path()),
                    f"*{anchor} has no finished anchor &{anchor} above it",
                    "write the value out; a value cannot contain itself",
                )
            )
        value, mark, size = self._anchors[anchor]
        self._copies += size
        if self._copies > MAX_COPIES:
            message = f"aliases expand to more than {MAX_COPIES} values"
            raise AuthoringError(Problem(self.file, line, show_path(self.path()), message, "write fewer"))
        if self._expects_key():
            self._set_key(Scalar(value if isinstance(value, str) else f"*{anchor}"), line)
        else:
            self._add(value, mark, size, None)

    def path(self) -> Path:
        """Path of the value that comes next."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[str | int]:
        for frame in self._frames:
            yield len(frame.value) if isinstance(frame.value, list) else frame.key or ""

    def _fault(self, line: int, message: str, hint: str) -> None:
        self.faults.append(Problem(self.file, line, show_path(self.path()), message, hint))

    def _expects_key(self) -> bool:
        return (
            bool(self._frames) and isinstance(self._frames[-1].value, dict) and self._frames[-1].key is None
        )

    def _set_key(self, scalar: Scalar, line: int, column: int = 0) -> None:
        frame = self._frames[-1]
        key = scalar.value if scalar.written is None else scalar.written
        frame.key = key
        frame.merging = scalar.merge
        frame.duplicate = key in frame.value and not scalar.merge
        if frame.duplicate:
            first, where = frame.mark.keys.get(key, line), frame.columns.get(key, column)
            places = f"on line {first} and on line {line}"
            if first == line and where != column:
                places = f"on line {line} in columns {where} and {column}"
            self._fault(line, f'key "{shorten(key)}" is given twice, {places}', "keep one of them")
        elif scalar.written is not None:
            message = f"the key {shorten(key)} is not text to YAML"
            self._fault(line, message, f'quote it: "{shorten(key)}"')
        if not frame.duplicate and not frame.merging:
            frame.mark.keys[key] = line
            frame.columns[key] = column

    def _add(self, value: Any, mark: Mark | int, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, mark, size)
        if not self._frames:
            self._root = (value, mark)
            return
        frame = self._frames[-1]
        frame.size += size
        if isinstance(frame.value, list):
            frame.value.append(value)
            frame.mark.items.append(mark)  # type: ignore[union-attr]
            return
        key, frame.key = frame.key, None
        assert key is not None
        if frame.merging:
            self._remember_merge(frame, value, mark)
        elif not frame.duplicate:
            frame.value[key] = value
            frame.mark.items[key] = mark  # type: ignore[index,call-overload]

    def _remember_merge(self, frame: _Frame, value: Any, mark: Mark | int) -> None:
        values = value if isinstance(value, list) else [value]
        marks = mark.items if isinstance(value, list) and isinstance(mark, Mark) else [mark]
        for each, place in zip(values, marks or (), strict=False):
            if isinstance(each, dict) and isinstance(place, Mark):
                frame.merged.append((each, place))
            else:
                line = place if isinstance(place, int) else getattr(place, "line", 0)
                path = show_path((*self.path()[:-1], "<<"))
                self.faults.append(Problem(self.file, line, path, "<< merges mappings only", "name one"))


def _merge(frame: _Frame, value: dict[str, Any], mark: Mark) -> None:
    """Keys written in the mapping itself win; of several merged mappings, the first."""
    for key, item in value.items():
        if key not in frame.value:
            frame.value[key] = item
            frame.mark.items[key] = mark.items[key]  # type: ignore[index,call-overload]
            frame.mark.keys[key] = mark.keys[key]
