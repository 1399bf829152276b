"""What BEFORE and AFTER of `proctor delta` mean: a folder, or a commit of a repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.worktree.trees import TreeStore

NAME = "delta"
State = Callable[["TreeStore"], str]
"""Puts a state into the store; its tree."""


def side(given: str, repo: str | None) -> State:
    """A folder; REPOSITORY@REF; or a ref, of `repo` or of the repository one stands in. A folder wins over a
    ref of the same name. Raises AuthoringError, now or when the state is fetched."""
    from orchestrator.errors import AuthoringError

    if repo is not None:
        return lambda store: _commit(repo, given, store)
    if Path(given).is_dir():
        return lambda store: _folder(Path(given), store)
    url, _, ref = given.rpartition("@")
    if url and ref:
        return lambda store: _commit(url, ref, store)
    if given and (top := _repository_of(given)):
        return lambda store: _commit(top, given, store)
    raise AuthoringError(f"{given} is no folder, no file, no REPOSITORY@REF, and no ref of a repository here")


def _repository_of(ref: str) -> str:
    """The repository one stands in, when it knows `ref`; empty when not."""
    asked = ["git", "rev-parse", "--verify", "-q", "--end-of-options", f"{ref}^{{commit}}"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        return ""
    top = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, check=False)
    return os.fsdecode(top.stdout.removesuffix(b"\n"))


def _folder(folder: Path, store: TreeStore) -> str:
    from orchestrator.errors import AuthoringError
    from orchestrator.tasks.hostfiles import folder_entries
    from orchestrator.worktree.trees import BadName

    kept = _kept_by_git(folder)
    try:
        return store.add(e for e in folder_entries(folder) if kept is None or e.path in kept)
    except BadName as bad:
        raise AuthoringError(f"{folder} holds a name that cannot be kept: {bad}") from None


def _kept_by_git(folder: Path) -> frozenset[bytes] | None:
    """What git would commit of a work tree: all but what is ignored. None where it is no work tree."""
    if not (folder / ".git").exists():
        return None
    # Nothing that the repository's own settings name is started.
    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(["git", *quiet, "-C", folder, *listing], capture_output=True, check=False)
    return frozenset(done.stdout.split(b"\0")) if done.returncode == 0 else None


def _commit(url: str, ref: str, store: TreeStore) -> str:
    from orchestrator.documents.benchmark import Benchmark, GitSource, Task
    from orchestrator.errors import AuthoringError
    from orchestrator.inputs import commit
    from orchestrator.tasks import sources
    from orchestrator.tasks.place import Place

    nowhere = Benchmark(id=NAME, version="0", tasks=(), root=Path.cwd())
    # What a ref such as HEAD~3 means, only its own repository can tell.
    source = GitSource(kind="git", url=url, ref=commit(Path(url), ref))
    try:
        return sources.fetch(source, store, Path(), Place(nowhere, Task(id=NAME))).tree
    except AuthoringError as error:
        hint = ""
        if Path(url, ".git", "shallow").exists():
            hint = " (this clone is shallow: fetch the whole history first)"
        raise AuthoringError(f"{url}@{ref}: {error.problems[0].message}{hint}") from None
