"""What can be told of a benchmark's states without a room and without the network: do its patches apply?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Benchmark, GitSource, PathSource, Task
from orchestrator.errors import AuthoringError, Problem
from orchestrator.tasks import setups, sources, states
from orchestrator.tasks.downloads import digest
from orchestrator.tasks.place import Place
from orchestrator.tasks.states import TaskState
from orchestrator.worktree.trees import TreeStore
from sandboxes.errors import SandboxError

_SHA256 = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})\Z")


@dataclass(frozen=True)
class Looked:
    """What was found. `absent`: tasks whose source is not on this machine, so nothing can be said."""

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    absent: tuple[str, ...] = ()


def look(benchmark: Benchmark, home: Path) -> Looked:
    """Prepare the states of every task whose source lies here; nothing is fetched and nothing installed."""
    errors: list[Problem] = []
    warnings: list[Problem] = []
    absent: list[str] = []
    for task in benchmark.tasks:
        if not task.has_environment:
            continue
        try:
            if not _here(task, benchmark, home / "downloads"):
                absent.append(task.id)
                continue
            state = _state(task, benchmark, home)
            warnings += (Problem(benchmark.file, task.line, "", said) for said in states.warnings(state))
        except AuthoringError as error:
            errors += error.problems
        except SandboxError:
            absent.append(task.id)
    return Looked(tuple(errors), tuple(warnings), tuple(absent))


def _state(task: Task, benchmark: Benchmark, home: Path) -> TaskState:
    """As `states.prepare`, without the dependencies."""
    store = TreeStore(home / "trees")
    place = Place(benchmark, task)
    fetched = sources.fetch(task.source, store, home / "downloads", place)
    made = setups.states(store, task.setup, fetched, setups.TaskFiles.read(task, place), place)
    return TaskState(store, task, made.base, made.judge, made.fixed, (), task.env, fetched.facts)


def _here(task: Task, benchmark: Benchmark, downloads: Path) -> bool:
    """Whether the source can be read without the network. A kept file of the wrong content is not it."""
    source = task.source
    if source is None or isinstance(source, PathSource):
        return True
    if isinstance(source, GitSource):
        return (benchmark.root / source.url).exists()
    fields = source.model_dump(mode="json")
    if fields.get("path"):
        return True
    hashes = [match[1].lower() for text in _texts(fields) if (match := _SHA256.match(text))]
    kept = [downloads / name for name in hashes]
    return bool(kept) and all(file.is_file() and digest(file) == file.name for file in kept)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
