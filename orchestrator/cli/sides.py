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


def sides(before: str, after: str, repo: str | None) -> tuple[State, State]:
    """Both, each as `side` reads it. Raises AuthoringError: a part of a work tree is not held against the
    whole of a commit of the same repository, for neither is a state of the other."""
    from orchestrator.errors import AuthoringError

    for name, given in (("BEFORE", before), ("AFTER", after)):
        if not given:
            raise AuthoringError(
                f"{name} is empty; where `git merge-base` was to say it, it found none: "
                "a shallow clone has no base, fetch the whole history first"
            )
    states = side(before, repo), side(after, repo)
    if repo is None:
        for folder, ref in ((before, after), (after, before)):
            if (part := _part(Path(folder))) and _is_commit_of(ref, part[0]):
                top, inside = part
                raise AuthoringError(
                    f"{folder} is a part of {top}, and {ref} is the whole of it: "
                    f"give {top} instead, and --target {inside} to look at that part alone"
                )
    return states


def side(given: str, repo: str | None) -> State:
    """A folder; a ref, of `repo` or of the repository one stands in; or REPOSITORY@REF. What comes first here
    wins over another of the same name (`HEAD@{1}` and the tag `package@1.0` are refs). Raises AuthoringError,
    now or when the state is fetched."""
    from orchestrator.errors import AuthoringError

    if repo is not None:
        return lambda store: _commit(repo, given, store)
    if Path(given).is_dir():
        return lambda store: _folder(Path(given), store)
    top = _top(Path())
    if top and _meant(top, given):
        return lambda store: _commit(str(top), given, store)
    url, _, ref = given.rpartition("@")
    if url and ref:
        return lambda store: _commit(url, ref, store)
    hint = _shallow(top) if top else ""
    raise AuthoringError(
        f"{given} is no folder, no file, no REPOSITORY@REF, and no ref of a repository here{hint}"
    )


def _part(folder: Path) -> tuple[Path, Path] | None:
    """The work tree that `folder` is a part of, and where in it; None where it is no part of one."""
    top = _top(folder) if folder.is_dir() else None
    here = folder.resolve()
    return (top, here.relative_to(top)) if top and here != top and here.is_relative_to(top) else None


def _is_commit_of(given: str, top: Path) -> bool:
    if Path(given).is_dir():
        return False
    here = _top(Path())
    if here and _meant(here, given):
        return here == top
    return _top(Path(given.rpartition("@")[0])) == top


def _top(folder: Path) -> Path | None:
    """The root of the work tree around a folder; the folder itself of a bare repository; None outside."""
    if not folder.is_dir():
        return None
    for asked in ("--show-toplevel", "--absolute-git-dir"):
        done = _git(folder, "rev-parse", asked)
        if done.returncode == 0:
            return Path(os.fsdecode(done.stdout.removesuffix(b"\n"))).resolve()
    return None


def _meant(repository: Path, ref: str) -> str:
    """The commit that `ref` means there now; empty where it means none, or the repository is not at hand."""
    if not repository.is_dir():
        return ""
    done = _git(repository, "rev-parse", "--verify", "-q", "--end-of-options", f"{ref}^{{commit}}")
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def _shallow(repository: Path) -> str:
    """What to do about a missing commit where a part of the history is missing; empty where all is there."""
    asked = _git(repository, "rev-parse", "--is-shallow-repository")
    return " (this clone is shallow: fetch the whole history first)" if asked.stdout == b"true\n" else ""


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Git, reading only: a repository of another user is read as well (a pipeline's container has many), and
    nothing that a repository's own settings name is started."""
    trusting = ("safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null")
    quiet = [word for setting in trusting for word in ("-c", setting)]
    env = {name: value for name, value in os.environ.items() if name not in _WHERE}
    env |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    return subprocess.run(["git", *quiet, "-C", folder, *words], capture_output=True, check=False, env=env)


_WHERE = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"})
"""By these a git hook says which repository it is of; here the folder does."""


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
    """What git would commit of a work tree or a part of one: all but what is ignored. None where it is none,
    or is ignored as a whole. Raises AuthoringError where git cannot tell: what is ignored would count."""
    from orchestrator.errors import AuthoringError

    if not (folder / ".git").exists():
        top = _top(folder)
        if top is None or _git(top, "check-ignore", "-q", "--", str(folder.resolve())).returncode == 0:
            return None
    done = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip() or "it says nothing"
        raise AuthoringError(
            f"git does not tell what it would commit of {folder} ({words.splitlines()[0]}); "
            "mend that, or give a copy without .git to look at every file"
        )
    return frozenset(done.stdout.split(b"\0"))


def _commit(url: str, ref: str, store: TreeStore) -> str:
    from orchestrator.documents.benchmark import Benchmark, GitSource, Task
    from orchestrator.errors import AuthoringError
    from orchestrator.tasks import sources
    from orchestrator.tasks.place import Place

    nowhere = Benchmark(id=NAME, version="0", tasks=(), root=Path.cwd())
    # What a ref such as HEAD~3 means, only its own repository can tell.
    source = GitSource(kind="git", url=url, ref=_meant(Path(url), ref) or ref)
    try:
        return sources.fetch(source, store, Path(), Place(nowhere, Task(id=NAME))).tree
    except AuthoringError as error:
        hint = _shallow(Path(url)) if Path(url).is_dir() else ""
        raise AuthoringError(f"{url}@{ref}: {error.problems[0].message}{hint}") from None
