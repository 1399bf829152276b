"""predictions: finished changes from a file or a folder, graded byte for byte.

A file holds SWE-bench's objects, {"instance_id", "model_name_or_path", "model_patch"} and, if wanted,
"response" and "trajectory": one per line, or as one JSON list, or as one JSON object by instance id. A row
with a response needs no model_patch, and may be named by "id". A folder holds
<task>.patch or <task>.diff, and <task>.txt for the response; a task id with "/" means a subfolder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.agents import Brought, State, shown, text_or_bytes
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError, Problem
from orchestrator.words import many

_SHOWN = 10
_PATCH_SUFFIXES = (".patch", ".diff")


class Predictions:
    """Predictions by task id. `warnings` has a sentence for what is odd but stops nothing."""

    def __init__(self, source: Path, found: Mapping[str, Brought], benchmark: Benchmark) -> None:
        self.name = f"predictions:{source}"
        self._source = source
        self._found = found
        self.warnings = tuple(self._oddities([task.id for task in benchmark.tasks]))

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> Predictions:
        """Raises AuthoringError with every line that cannot be used, or when no task is predicted."""
        if not arg:
            raise AuthoringError("agent predictions needs a file or a folder; write --agent predictions:FILE")
        source = Path(arg)
        if source.is_char_device() or source.is_block_device():
            raise AuthoringError(f"{shown(arg)} is a device; name a file or a folder of predictions")
        try:
            found = _from_folder(source) if source.is_dir() else _from_file(source, source.read_bytes())
        except OSError as error:
            raise AuthoringError(f"{shown(arg)}: {(error.strerror or str(error)).lower()}") from None
        ids = {task.id for task in benchmark.tasks}
        if not ids & found.keys():
            theirs = _some(found) or "nothing"
            said = f"predicts no task of {benchmark.id}; it has {theirs}, the tasks are {_some(ids)}"
            raise AuthoringError(f"{shown(arg)} {said}")
        return cls(source, found, benchmark)

    def fingerprint(self, task: Task) -> str:
        found = self._found.get(task.id)
        if found is None:
            return "none"
        response = found.response if isinstance(found.response, bytes) else _bytes(found.response)
        parts: tuple[bytes, ...] = (found.change, response, _bytes(found.model or ""))
        if found.trajectory is not None:
            parts += (json.dumps(found.trajectory, sort_keys=True).encode(),)
        return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()

    def brings(self, task: Task, state: State | None) -> Brought:
        """The prediction; an empty change with a note when there is none for this task."""
        missing = Brought(note=f"{self._source} has no prediction for this task")
        return self._found.get(task.id, missing)

    def _oddities(self, ids: list[str]) -> Iterator[str]:
        unknown = [i for i in self._found if i not in set(ids)]
        if unknown:
            yield f"{self._source}: {many(len(unknown), 'id')} of no task of the benchmark: {_some(unknown)}"
        missing = [i for i in ids if i not in self._found]
        if missing:
            yield (
                f"{self._source}: no prediction, which counts as an empty change, for "
                f"{many(len(missing), 'task')}: {_some(missing)}"
            )


@dataclass(frozen=True)
class _Row:
    """One object as found: where, and under which id when that stands outside of it."""

    place: str
    line: int
    data: Any
    key: str | None = None


def _from_file(source: Path, raw: bytes) -> dict[str, Brought]:
    # surrogateescape keeps bytes that are not UTF-8 as they are, through JSON and back.
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    problems: list[Problem] = []
    found: dict[str, Brought] = {}
    places: dict[str, str] = {}
    for row in _rows(str(source), text, problems):
        try:
            task, brought = _read(row)
        except ValueError as error:
            problems.append(Problem(str(source), row.line, row.place, str(error)))
            continue
        here = row.place or f"line {row.line}"
        if task in found:
            said = f"a second prediction for {task}; the first is at {places[task]}"
            problems.append(Problem(str(source), row.line, row.place, said, "keep one of them"))
        found.setdefault(task, brought)
        places.setdefault(task, here)
    if problems:
        problems.sort(key=lambda problem: problem.line)
        rest = [
            Problem(str(source), next_one.line, "", f"and {len(problems) - _SHOWN} more")
            for next_one in problems[_SHOWN : _SHOWN + 1]
        ]
        raise AuthoringError([*problems[:_SHOWN], *rest])
    return found


def _rows(name: str, text: str, problems: list[Problem]) -> Iterable[_Row]:
    try:
        whole = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith("["):
            problems.append(Problem(name, getattr(error, "lineno", 0), "", f"not JSON: {error}"))
            return ()
        return _lines(name, text, problems)
    if isinstance(whole, list):
        return [_Row(f"[{n}]", 0, item) for n, item in enumerate(whole)]
    if isinstance(whole, _Pairs) and not isinstance(whole.get("instance_id", whole.get("id")), str):
        return [_Row(f"[{json.dumps(key)}]", 0, value, key) for key, value in whole.pairs]
    return [_Row("", 1, whole)]


def _lines(name: str, text: str, problems: list[Problem]) -> Iterator[_Row]:
    # Only "\n" ends a line: U+2028 may stand inside a string (B127).
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _Row("", number, json.loads(line, object_pairs_hook=_Pairs))
        except (ValueError, RecursionError) as error:
            said = f"not JSON: {error}"
            problems.append(Problem(name, number, "", said, "one prediction per line is wanted"))


class _Pairs(dict[str, Any]):
    """A JSON object that still knows the keys it was written with twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _read(row: _Row) -> tuple[str, Brought]:
    """Raises ValueError with what is wrong."""
    data = row.data
    if not isinstance(data, dict):
        raise ValueError(f"an object is wanted, not {_kind(data)}")
    task = data.get("instance_id", data.get("id", row.key))
    if not isinstance(task, str) or not task:
        raise ValueError('"instance_id" is missing; it names the task')
    if row.key is not None and task != row.key:
        raise ValueError(f'it stands under "{row.key}" but says it is for "{task}"')
    if "model_patch" not in data and "response" not in data:
        raise ValueError('"model_patch" is missing; write null or "" for an empty change')
    change = _text(data, "model_patch")
    response = _text(data, "response")
    model = data.get("model_name_or_path")
    try:
        whole_response = text_or_bytes(_bytes(response))
        named = model if isinstance(model, str) else None
        return task, Brought(_bytes(change), whole_response, named, trajectory=data.get("trajectory"))
    except UnicodeEncodeError:
        raise ValueError("the text holds half of a surrogate pair, which no bytes stand for") from None


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f'"{key}" must be text or null, not {_kind(value)}')
    return value


def _from_folder(folder: Path) -> dict[str, Brought]:
    found: dict[str, Brought] = {}
    problems = []
    files = {file for file in folder.rglob("*") if file.is_file()}
    for file in sorted(file for file in files if file.suffix in _PATCH_SUFFIXES):
        task = file.relative_to(folder).as_posix().removesuffix(file.suffix)
        if task in found:
            problems.append(Problem(str(file), 0, "", f"a second patch for {task}", "keep one of them"))
        answer = file.with_name(file.name.removesuffix(file.suffix) + ".txt")
        response = text_or_bytes(answer.read_bytes()) if answer in files else ""
        found.setdefault(task, Brought(file.read_bytes(), response))
    if problems:
        raise AuthoringError(problems)
    return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _kind(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "text", bool: "true or false", type(None): "null"}
    return next((word for kind, word in names.items() if isinstance(value, kind)), "a number")


def _some(ids: Iterable[str]) -> str:
    listed = sorted(ids)
    return ", ".join(listed[:_SHOWN]) + (f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
