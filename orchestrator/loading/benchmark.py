"""From a benchmark's folder to a `Benchmark`: defaults merged, units parsed, every named file there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.accepted import Accepted
from orchestrator.loading.beside import file_problems
from orchestrator.loading.limits import limit_problems, parsed_limits
from orchestrator.loading.located import Located, show_path
from orchestrator.loading.located import Path as Where
from orchestrator.loading.texts import read_document
from orchestrator.schemas import benchmark_checker

FILE_NAMES = ("benchmark.yaml", "benchmark.yml", "benchmark.json")
MERGED = frozenset({"expected", "metadata", "dependencies", "hidden_files", "env", "limits"})
"""Mappings of `defaults` that a task adds to, key by key. Everything else, lists too, is replaced whole."""
NEED_ENVIRONMENT = (
    "source", "dependencies", "workdir", "fix_patch", "setup_patch", "test_patch", "hidden_files",
    "protected", "unprotected", "env", "limits", "network",
)  # fmt: skip
"""Fields that say nothing without rooms (C-6)."""


def load_benchmark(path: Path | str, accepted: Accepted | None = None) -> Benchmark:
    """The benchmark in a folder, or in the file itself.

    `accepted` remembers documents that were in order; None examines each anew.
    Sizes become bytes and times seconds; relative paths are checked to be there, below the folder.
    Raises AuthoringError with every problem of the document.
    """
    file = benchmark_file(Path(path))
    doc = read_document(file)
    root = file.parent.resolve()
    problems = (accepted or Accepted()).problems(benchmark_checker(), doc)
    named = {p.path for p in problems}
    rows = list(_rows(doc))
    beyond = [
        *_double_ids(doc, rows),
        *_gate_problems(doc),
        *(p for r in rows for p in _row_problems(r, root)),
    ]
    for problem in beyond:
        if problem.path not in named:
            problems.append(problem)
    found = doc.everything(problems)
    if found:
        raise AuthoringError(found)
    fields = {k: v for k, v in doc.data.items() if k not in ("defaults", "tasks", "questions")}
    tasks = tuple(_task(row) for row in rows)
    return Benchmark.model_validate({**fields, "tasks": tasks, "root": root, "file": str(file)})


def load_task(path: Path | str) -> Task:
    """One task or question in a file of its own: the context of a text-only check.

    The files it names are not looked for. Raises AuthoringError with every problem of the document.
    """
    doc = read_document(Path(path))
    problems = Accepted().problems(benchmark_checker("task"), doc)
    found = doc.everything([*problems, *limit_problems(doc, (), doc.data)])
    if found:
        raise AuthoringError(found)
    return _task(Row(doc, (), doc.data, doc.data))


def benchmark_file(path: Path) -> Path:
    """The benchmark's file: `path` itself, or the one in the folder `path`. Raises AuthoringError."""
    if not path.is_dir():
        return path
    for name in FILE_NAMES:
        if (path / name).exists():
            return path / name
    message = f"there is no {FILE_NAMES[0]} in this folder"
    raise AuthoringError(Problem(str(path), 0, "", message, "write one, or name another folder"))


@dataclass(frozen=True)
class Row:
    """One task as written and with the defaults under it."""

    doc: Located
    at: Where
    written: dict[str, Any]
    merged: dict[str, Any]

    def place(self, *path: str | int) -> Where:
        """Where a merged value was written: in the task, or in the defaults."""
        inside: Any = self.written
        for step in path:
            if not isinstance(inside, dict) or step not in inside:
                return ("defaults", *path)
            inside = inside[step]
        return (*self.at, *path)

    def problem(self, path: Where, message: str, hint: str) -> Problem:
        return self.doc.problem(self.place(*path) if path else self.at, message, hint)


def _rows(doc: Located) -> Iterator[Row]:
    data = doc.data if isinstance(doc.data, dict) else {}
    defaults = data.get("defaults") if isinstance(data.get("defaults"), dict) else {}
    for name in ("tasks", "questions"):
        tasks = data.get(name)
        for number, task in enumerate(tasks if isinstance(tasks, list) else ()):
            if isinstance(task, dict):
                yield Row(doc, (name, number), task, merge(defaults or {}, task))


def merge(defaults: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """A task over the defaults: mappings in MERGED one level deep, everything else whole.

    >>> merge({"env": {"A": "1", "B": "1"}, "protected": ["x"]}, {"env": {"B": "2"}, "protected": ["y"]})
    {'env': {'A': '1', 'B': '2'}, 'protected': ['y']}
    """
    merged = {**defaults, **task}
    for name in MERGED & defaults.keys() & task.keys():
        if isinstance(defaults[name], dict) and isinstance(task[name], dict):
            merged[name] = {**defaults[name], **task[name]}
    return merged


def _task(row: Row) -> Task:
    fields = dict(row.merged)
    if "limits" in fields:
        fields["limits"] = parsed_limits(fields["limits"])
    return Task.model_validate({**fields, "line": row.doc.line(row.at)})


def _row_problems(row: Row, root: Path) -> Iterator[Problem]:
    yield from _setup_problems(row)
    yield from limit_problems(row.doc, None, row.merged, row.place)
    yield from file_problems(row.merged, root, row.problem)


def _setup_problems(row: Row) -> Iterator[Problem]:
    """A setup without its patch, and fields without the rooms they are for (C-6)."""
    task = row.merged
    setup = task.get("setup", "none")
    source = task["source"] if isinstance(task.get("source"), dict) else {}
    holds_fix = source.get("kind") == "release_pair" or bool(source.get("revert"))
    if setup == "revert_fix" and "fix_patch" not in task and not holds_fix:
        hint = "add fix_patch, a source of kind release_pair, or revert to one of kind debian"
        yield row.problem(("setup",), "revert_fix has no fix to take out", hint)
    if setup == "apply_patch" and "setup_patch" not in task:
        yield row.problem(("setup",), "apply_patch has no patch to apply", "add setup_patch")
    if "environment" in task:
        return
    needy = [name for name in NEED_ENVIRONMENT if name in task]
    if isinstance(setup, str) and setup != "none":
        needy.insert(0, "setup")
    for name in needy:
        yield row.problem((name,), f"{name} needs an environment", "add environment, or remove this field")


def _gate_problems(doc: Located) -> Iterator[Problem]:
    """A bound on the wrong scale could never be met."""
    gates = doc.data.get("gates") if isinstance(doc.data, dict) else None
    for number, gate in enumerate(gates if isinstance(gates, list) else ()):
        if not isinstance(gate, dict):
            continue
        metric, least = gate.get("metric"), gate.get("at_least")
        if isinstance(least, int | float) and least > 1 and metric != "question_score":
            hint = "write a number from 0 to 1; only question_score is on 0 to 5"
            yield doc.problem(("gates", number, "at_least"), f"{metric} is at most 1", hint)


def _double_ids(doc: Located, rows: list[Row]) -> Iterator[Problem]:
    first: dict[str, Row] = {}
    for row in rows:
        name = row.written.get("id")
        if not isinstance(name, str):
            continue
        before = first.setdefault(name.casefold(), row)
        if before is not row:
            line = doc.line((*before.at, "id"))
            same = "is" if before.written["id"] == name else "differs only in case from"
            message = f'the id "{name}" {same} that of {show_path(before.at)} on line {line}'
            yield doc.problem((*row.at, "id"), message, "give every task an id of its own")
