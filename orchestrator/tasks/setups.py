"""Setup modes: how a source becomes the state an agent is given (C-6).

A mode takes the source's tree and the task's patches and says what the base is, and what it is once fixed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from orchestrator.documents.benchmark import Task
from orchestrator.tasks.memo import Memo
from orchestrator.tasks.place import Place
from orchestrator.tasks.sources import Fetched
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import EXECUTABLE, FILE, BadName, TreeStore
from sandboxes.spec import Entry


@dataclass(frozen=True)
class States:
    """Tree ids. `fixed` is None when the task gives no fix."""

    base: str
    fixed: str | None
    judge: str


@dataclass(frozen=True)
class TaskFiles:
    """The patches and files a task brings, read once."""

    patches: Mapping[str, tuple[Path, bytes]]
    """By field name: fix_patch, setup_patch, test_patch."""
    hidden: tuple[Entry, ...]

    @classmethod
    def read(cls, task: Task, place: Place) -> TaskFiles:
        """Raises AuthoringError for a file that is not there."""
        named = {"fix_patch": task.fix_patch, "setup_patch": task.setup_patch, "test_patch": task.test_patch}
        patches = {name: (place.root / path, place.read(name, path)) for name, path in named.items() if path}
        hidden = tuple(
            Entry(inside.encode(), _mode(place.root / path), place.read("hidden_files", path))
            for inside, path in sorted(task.hidden_files.items())
        )
        return cls(patches, hidden)

    @property
    def digests(self) -> list[list[str]]:
        """What tells these files from others, as plain JSON."""
        named = [[name, hashlib.sha256(data).hexdigest()] for name, (_, data) in sorted(self.patches.items())]
        return named + [
            [e.path.decode(), str(e.mode), hashlib.sha256(e.data).hexdigest()] for e in self.hidden
        ]


@dataclass(frozen=True)
class SetUp:
    """What a mode works with."""

    store: TreeStore
    source: Fetched
    files: TaskFiles
    place: Place

    def has(self, name: str) -> bool:
        return name in self.files.patches

    def apply(self, name: str, tree: str, *, reverse: bool = False) -> str:
        """`tree` with one of the task's patches. Raises AuthoringError naming patch, file and hunk."""
        if name not in self.files.patches:
            raise self.place.wrong(name, f"this setup needs a {name}", "give its path")
        file, data = self.files.patches[name]
        try:
            return self.store.apply(tree, data, reverse=reverse)
        except PatchError as error:
            how = "does not apply in reverse" if reverse else "does not apply"
            what = how if error.kind == "does_not_apply" else f"is {error.kind}"
            hint = "make it anew against the source that the task names"
            raise self.place.wrong(name, f"the patch {what}: {error}", hint, file=file) from error


Mode = Callable[[SetUp], tuple[str, str | None]]
"""Gives the base tree, and the fixed tree where there is a fix."""


def none(given: SetUp) -> tuple[str, str | None]:
    """The source as it is; a fix_patch is the gold answer."""
    base = given.source.tree
    return base, given.apply("fix_patch", base) if given.has("fix_patch") else None


def revert_fix(given: SetUp) -> tuple[str, str | None]:
    """The source holds the fix, the base does not: fix_patch in reverse, or the older release's files."""
    fixed = given.source.tree
    if given.has("fix_patch") or given.source.broken is None:
        return given.apply("fix_patch", fixed, reverse=True), fixed
    return given.source.broken, fixed


def apply_patch(given: SetUp) -> tuple[str, str | None]:
    """setup_patch makes the base; a fix_patch, made against that base, is the gold answer."""
    base = given.apply("setup_patch", given.source.tree)
    return base, given.apply("fix_patch", base) if given.has("fix_patch") else None


MODES: Mapping[str, Mode] = {"none": none, "revert_fix": revert_fix, "apply_patch": apply_patch}


def states(store: TreeStore, mode: str, source: Fetched, files: TaskFiles, place: Place) -> States:
    """The task's trees, worked out once per content. Raises AuthoringError."""
    given = SetUp(store, source, files, place)

    def work() -> dict[str, str | None]:
        base, fixed = MODES[mode](given)
        judge = given.apply("test_patch", base) if given.has("test_patch") else base
        if files.hidden:
            try:
                judge = store.put(judge, files.hidden)
            except BadName as bad:
                raise place.wrong("hidden_files", str(bad), "name a path inside the work tree") from bad
        if fixed == base:
            raise place.wrong("setup", "the fix changes nothing: the base and the fixed state are the same")
        return asdict(States(base, fixed, judge))

    question = ["states", 1, mode, source.tree, source.broken, files.digests]
    return States(**Memo(store).get(question, work))


def _mode(path: Path) -> int:
    return EXECUTABLE if path.exists() and path.stat().st_mode & 0o100 else FILE
