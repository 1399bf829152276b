"""What a trial's result depends on beyond the words of its documents, as digests.

A resumed run keeps a result only when all of it is as it was: a changed patch is never served an old
verdict.
"""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator import applied
from orchestrator.agents import Agent
from orchestrator.documents.benchmark import Benchmark, Config, GitSource, PathSource, Task


def of(
    benchmark: Benchmark,
    agents: Mapping[str, Agent],
    resolve: applied.Resolve,
    *,
    version: str,
    config: Config | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[[Task, str], Mapping[str, str]]:
    """The `inputs` of `plan.make`: files that tasks name, rubrics, agents, profiles, proctor's `version`.

    `options` are choices of the command line that may change a verdict (provider, executors). Files are
    read once per task. A file that is missing or unreadable has the digest "unreadable".
    """
    shared = {
        "proctor": version,
        "config": _json(None if config is None else config.model_dump(mode="json")),
        "options": _json(dict(options or {})),
        "scoring": _json(benchmark.scoring.model_dump()),
    }
    by_task: dict[str, dict[str, str]] = {}

    def inputs(task: Task, agent: str) -> Mapping[str, str]:
        if task.id not in by_task:
            files = {name: digest(benchmark.root / path) for name, path in _files(task)}
            if isinstance(task.source, GitSource):
                files["source"] = commit(benchmark.root / task.source.url, task.source.ref)
            rubrics = _rubrics(task.rubric_ref, resolve)
            if any(_names_schemas(rubric) for rubric in rubrics.values()):
                files["schemas"] = digest(benchmark.root / "schemas")
            by_task[task.id] = {**shared, **files, "rubrics": _json(rubrics)}
        return {**by_task[task.id], "agent": agents[agent].fingerprint(task)}

    return inputs


def digest(path: Path) -> str:
    """Of a file's bytes, or of a whole folder: names, modes and contents. Links are not followed; .git
    is left out."""
    try:
        if not path.is_dir():
            return hashlib.sha256(path.read_bytes()).hexdigest()
        whole = hashlib.sha256()
        for entry in _walk(path):
            name = entry.relative_to(path).as_posix().encode("utf-8", "surrogateescape")
            mode = entry.lstat().st_mode
            data = _content(entry, mode)
            head = f"{stat.S_IFMT(mode):o} {bool(mode & 0o100)} {len(name)} {len(data)} "
            whole.update(head.encode() + name + data)
        return whole.hexdigest()
    except OSError:
        return "unreadable"


def commit(folder: Path, ref: str) -> str:
    """What `ref` means now in a local repository; the ref itself where that cannot be told (a URL: pin it
    by its commit)."""
    if not folder.is_dir():
        return ref
    command = [
        "git",
        "-C",
        str(folder),
        "rev-parse",
        "--verify",
        "-q",
        "--end-of-options",
        f"{ref}^{{commit}}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() if done.returncode == 0 else ref


def _files(task: Task) -> Iterator[tuple[str, str]]:
    named = {"fix_patch": task.fix_patch, "setup_patch": task.setup_patch, "test_patch": task.test_patch}
    yield from ((name, path) for name, path in named.items() if path)
    yield from ((f"hidden:{inside}", path) for inside, path in task.hidden_files.items())
    if isinstance(task.source, PathSource):
        yield "source", task.source.path
    if task.environment is not None and task.environment.dockerfile:
        yield "dockerfile", task.environment.dockerfile


def _walk(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name == ".git":
            continue
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from _walk(entry)


def _content(entry: Path, mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return str(entry.readlink()).encode("utf-8", "surrogateescape")
    return entry.read_bytes() if stat.S_ISREG(mode) else b""


def _rubrics(ref: str | None, resolve: applied.Resolve) -> dict[str, Any]:
    """A rubric and all that its checks refer to, by ref."""
    found = applied.reached(ref, resolve) if ref else {}
    return {name: rubric and rubric.model_dump(mode="json") for name, rubric in found.items()}


def _names_schemas(rubric: Mapping[str, Any] | None) -> bool:
    """Whether a check of it reads a file of the benchmark's `schemas`."""
    return rubric is not None and any("schema_ref" in check for check in rubric["checks"])


def _json(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()
