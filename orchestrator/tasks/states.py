"""The states of a task: what the agent is given, what the judge starts from, and what a change makes of it.

All three are trees. `prepare` works them out once per content; rooms get them as layers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from orchestrator.contract import ChangedFile
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.tasks import dependencies, setups, sources
from orchestrator.tasks.clients import HOST, Clients
from orchestrator.tasks.interpreter import HOST_PYTHON, Interpreter
from orchestrator.tasks.memo import Memo
from orchestrator.tasks.place import Place
from orchestrator.worktree.change import Change
from orchestrator.worktree.gitfolder import VERSION, git_folder
from orchestrator.worktree.globs import matcher
from orchestrator.worktree.manifests import merged, steered
from orchestrator.worktree.patches import show
from orchestrator.worktree.protected import protection
from orchestrator.worktree.trees import LINK, Put, TreeStore
from sandboxes.spec import Entry, Layer


@dataclass(frozen=True)
class TaskState:
    """Everything of a task that is files."""

    store: TreeStore = field(repr=False, compare=False)
    task: Task = field(repr=False, compare=False)
    base_tree: str
    """Source and setup: what the agent works on."""
    judge_tree: str
    """The same with the task's tests and hidden files: the before room."""
    fixed_tree: str | None
    """The agent's base with the task's own fix; None when the task gives none."""
    layers: tuple[Layer, ...]
    """The dependencies, read-only."""
    env: Mapping[str, str]
    """The task's own env, with the paths of its dependencies added."""
    facts: Mapping[str, str]
    """What was fetched and installed, for the records."""

    @cached_property
    def gold(self) -> bytes | None:
        """The patch from `base_tree` to the fixed state; None when the task gives no fix."""
        fixed = self.fixed_tree
        if fixed is None:
            return None

        def work() -> dict[str, str]:
            return {"patch": self.store.diff(self.base_tree, fixed).decode("latin-1")}

        answer = Memo(self.store).get(["gold", 1, self.base_tree, fixed], work)
        return str(answer["patch"]).encode("latin-1")

    @cached_property
    def digest(self) -> str:
        """Of all that decides what a room of this task holds."""
        parts = [self.base_tree, self.judge_tree, self.task.workdir, sorted(self.env.items())]
        parts += [(layer.digest, layer.target) for layer in self.layers]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def agent_layer(self) -> Layer:
        """`base_tree` with a git folder of one commit, at the workdir, writable."""
        digest = f"agent{VERSION}-{self.base_tree}"
        return Layer(digest, self.task.workdir, self._agent_entries, writable=True)

    @property
    def judge_layer(self) -> Layer:
        """`judge_tree` at the workdir, writable."""
        entries = lambda: self.store.entries(self.judge_tree)  # noqa: E731
        return Layer(self.judge_tree, self.task.workdir, entries, writable=True)

    @cached_property
    def protects(self) -> Callable[[bytes], bool]:
        """Which paths a change cannot decide."""
        ours = [d.path for d in self.store.differences(self.base_tree, self.judge_tree)]
        top = {path.partition(b"/")[0] for path in self.store.nodes(self.judge_tree)}
        return protection(self.task.protected, self.task.unprotected, ours, top)

    @cached_property
    def opens(self) -> Callable[[bytes], bool]:
        """Which paths the task lets a change decide as a whole."""
        return matcher(self.task.unprotected)

    def _agent_entries(self) -> Iterator[Entry]:
        yield from self.store.entries(self.base_tree)
        yield from git_folder(self.store, self.base_tree)


@dataclass(frozen=True)
class Graded:
    """A change, as the judge takes it."""

    store: TreeStore = field(repr=False, compare=False)
    before: str
    """The judge's tree without the change."""
    tree: str
    """With it; protected and hidden files are ours."""
    touched_protected: tuple[str, ...]
    """Protected paths that the change touched and that were put back."""

    def changes(self) -> tuple[ChangedFile, ...]:
        """What of the change is graded, with both sides' bytes."""
        return self.store.changes(self.before, self.tree)


def graded(state: TaskState, change: Change) -> Graded:
    """Apply `change` to the agent's base, put protected paths back, and add the task's own files.

    Raises PatchError: "refused" or "does_not_apply" (and "invalid" where only git can tell).
    """
    store = state.store
    if change.empty:
        return Graded(store, state.judge_tree, state.judge_tree, ())
    applied = store.apply(state.base_tree, change.patch)
    touched = {d.path for d in store.differences(state.base_tree, applied) if state.protects(d.path)}
    tree = store.overlay(applied, state.judge_tree, state.protects)
    mended = put_back_keys(store, state.judge_tree, tree, state.opens)
    if mended:
        touched |= mended.keys()
        tree = store.edit(tree, list(mended.values()))
    return Graded(store, state.judge_tree, tree, tuple(show(path) for path in sorted(touched)))


def put_back_keys(
    store: TreeStore, ours: str, tree: str, opened: Callable[[bytes], bool]
) -> dict[bytes, Entry | Put]:
    """What makes of each manifest in `tree` one whose steering parts are as in `ours`, by path."""
    found: dict[bytes, Entry | Put] = {}
    for d in store.differences(ours, tree):
        if d.new is None or steered(d.path) is None or opened(d.path):
            continue
        regular = d.new.mode != LINK and (d.old is None or d.old.mode != LINK)
        old = store.file(ours, d.path)
        new = store.file(tree, d.path) if regular else None
        made = old if new is None else merged(d.path, old, new)
        if made is None or not regular:
            found[d.path] = Put(d.path, d.old)
        elif made != new:
            found[d.path] = Entry(d.path, d.new.mode, made)
    return found


def prepare(
    task: Task,
    benchmark: Benchmark,
    root: Path,
    clients: Clients = HOST,
    python: Callable[[], Interpreter | None] = lambda: HOST_PYTHON,
) -> TaskState:
    """Fetch, set up and install what `task` names, keeping all of it below `root` (`sandboxes.home.home()`).

    `clients` fetch what is not kept yet; `python` tells the interpreter of the task's rooms. Nothing of a
    source or a dependency is executed. Raises AuthoringError (a patch that does not apply, a
    wrong hash, a missing release) and SandboxError kin (`sources.SourceUnavailable`: no network).
    """
    store = TreeStore(root / "trees")
    place = Place(benchmark, task)
    clients.told()  # what an earlier task had to say
    fetched = sources.fetch(task.source, store, root / "downloads", place, clients)
    files = setups.TaskFiles.read(task, place)
    states = setups.states(store, task.setup, fetched, files, place)

    def asked() -> Interpreter:
        if (found := python()) is None:
            said = "the task's room has no python3 to install packages for"
            raise place.wrong("dependencies.pip", said, "add python3 to its environment")
        return found

    installed = dependencies.install(task.dependencies, store, place, clients, asked)
    return TaskState(
        store=store,
        task=task,
        base_tree=states.base,
        judge_tree=states.judge,
        fixed_tree=states.fixed,
        layers=installed.layers,
        env=dependencies.merged(task.env, installed.env),
        facts={**fetched.facts, **installed.facts},
    )


def warnings(state: TaskState) -> tuple[str, ...]:
    """What an author should know although it is no error: a fix that touches protected files is graded
    without that part."""
    if state.fixed_tree is None:
        return ()
    touched = (d.path for d in state.store.differences(state.base_tree, state.fixed_tree))
    mended = put_back_keys(state.store, state.base_tree, state.fixed_tree, state.opens)
    return tuple(
        f"task {state.task.id}: its fix touches {show(path)}, which is protected and is put back before "
        "grading; list it under unprotected if the fix needs it"
        for path in touched
        if state.protects(path) or path in mended
    )
