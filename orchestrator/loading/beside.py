"""The files a document names: they lie below its folder, and they are there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from orchestrator.errors import Problem
from orchestrator.loading.located import Path as Where
from orchestrator.loading.located import shorten

Complain = Callable[[Where, str, str], Problem]
"""(path in the task, what was seen, what to do) -> Problem."""

PATCHES = ("fix_patch", "setup_patch", "test_patch")
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]+:")


def file_problems(task: dict[str, Any], root: Path, complain: Complain) -> Iterator[Problem]:
    """What is wrong with the files that a (merged) task names, relative to `root`."""
    for name in PATCHES:
        if isinstance(task.get(name), str):
            yield from _look((name,), task[name], root, "file", complain)
    hidden = task.get("hidden_files")
    for target, named in hidden.items() if isinstance(hidden, dict) else ():
        yield from _target_problems(target, complain)
        if isinstance(named, str):
            yield from _look(("hidden_files", target), named, root, "file", complain)
    yield from _source_problems(task.get("source"), root, complain)
    yield from dockerfile_problems(task.get("environment"), root, complain)


def dockerfile_problems(environment: Any, root: Path, complain: Complain) -> Iterator[Problem]:
    """What is wrong with an environment's Dockerfile folder."""
    folder = environment.get("dockerfile") if isinstance(environment, dict) else None
    if not isinstance(folder, str):
        return
    path = ("environment", "dockerfile")
    found = list(_look(path, folder, root, "folder", complain))
    yield from found
    if not found and not (root / folder / "Dockerfile").is_file():
        yield complain(path, f"there is no Dockerfile in {shorten(folder)}", "name the folder that holds it")


def _source_problems(source: Any, root: Path, complain: Complain) -> Iterator[Problem]:
    if not isinstance(source, dict):
        return
    kind, path, url = source.get("kind"), source.get("path"), source.get("url")
    if kind == "path" and isinstance(path, str):
        yield from _look(("source", "path"), path, root, "folder", complain)
    if kind == "archive" and isinstance(path, str):
        yield from _look(("source", "path"), path, root, "file", complain)
    if kind == "git" and isinstance(url, str) and not url.startswith("/") and not _REMOTE.match(url):
        yield from _look(("source", "url"), url, root, "folder", complain)


def _target_problems(target: str, complain: Complain) -> Iterator[Problem]:
    """A place in the work tree is never git's own folder."""
    if any(part.casefold() == ".git" for part in PurePosixPath(target).parts):
        yield complain(("hidden_files", target), "a file cannot be put into .git", "choose another place")


def _look(path: Where, named: str, root: Path, wanted: str, complain: Complain) -> Iterator[Problem]:
    if "\0" in named:
        yield complain(path, "a path cannot hold a zero byte", "write the path")
        return
    place = root / named
    try:
        inside = not named.startswith("/") and place.resolve().is_relative_to(root)
        there = place.is_dir() if wanted == "folder" else place.is_file()
        exists = place.exists()
    except (OSError, RuntimeError) as error:
        yield complain(path, f"{shorten(named)} cannot be looked at: {error}", "check the path")
        return
    if not inside:
        message = f"{shorten(named)} leads out of the benchmark's folder"
        yield complain(path, message, "keep every file below it and write the path relative to it")
    elif not exists:
        yield complain(path, f"there is no {shorten(named)}", "paths are relative to the benchmark's folder")
    elif not there:
        yield complain(path, f"{shorten(named)} is not a {wanted}", f"name a {wanted}")
