"""Grades one candidate on its task, as a run would, with every defence or with one of them switched off."""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from tenacity import wait_none

from orchestrator import graders, inputs, plan, run, trial
from orchestrator.agents import Agent, Brought, State
from orchestrator.agents.command import CommandAgent
from orchestrator.befores import BeforeCache
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.record import TrialRecord
from orchestrator.loading import load_benchmark, load_config
from orchestrator.plugins import Registry
from orchestrator.rubrics import RubricStore
from orchestrator.store import RunFolder, RunHeader, Store
from orchestrator.tasks.states import TaskState
from orchestrator.tools import Tools
from orchestrator.worktree.trees import TreeStore
from sandboxes.home import home
from sandboxes.protocol import Provider
from sandboxes.spec import Entry, Layer

from .bait import FOLDER, PORT
from .corpus import DATA, Attack, Candidate
from .defences import SWITCHES
from .reader import reader
from .stage import Stage

FILE, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000
DEPS = "/opt/deps/python"


@dataclass(frozen=True)
class Seen:
    """How one candidate came out."""

    record: TrialRecord
    escaped: bool = False
    """A control saw the attack reach what it was after beside the verdict."""

    def reached(self, attack: Attack) -> bool:
        """Whether the attack got what it wanted."""
        if self.escaped:
            return True
        wanted = {"passed"} if attack.wins == "passed" else {"errored", "invalid", "unscored"}
        return self.record.status in wanted


def grade(candidate: Candidate, provider: Provider, off: Sequence[str] = ()) -> Seen:
    """One trial. `off` names the defences that are switched off for it; switches act on this process, so one
    trial at a time."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="proctor-attack-")))
        stage = _stage(candidate, provider, folder)
        for name in off:
            SWITCHES[name].off(stage, stack)
        return Seen(_record(stage, folder / "run"), stage.escaped)


def _stage(candidate: Candidate, provider: Provider, folder: Path) -> Stage:
    benchmark, task = _task(candidate)
    stage = Stage(candidate, benchmark, task, provider, folder)
    stage.agent = _agent(candidate, benchmark, task)
    return stage


def _task(candidate: Candidate) -> tuple[Benchmark, Task]:
    whole = _benchmark("questions" if candidate.response else "range")
    task = next(task for task in whole.tasks if task.id == candidate.task)
    changes: dict[str, Any] = {}
    if candidate.expected is not None:
        changes["expected"] = candidate.expected
    if candidate.unprotected:
        changes["unprotected"] = candidate.unprotected
    return whole, task.model_copy(update=changes)


@cache
def _benchmark(name: str) -> Benchmark:
    return load_benchmark(DATA / name)


@cache
def _registry() -> Registry:
    return Registry.load()


class _Handing:
    """An agent that hands in what the candidate is."""

    name = "candidate"

    def __init__(self, change: bytes, response: str) -> None:
        self._brought = Brought(change, response)

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> _Handing:
        return cls(b"", "")

    def fingerprint(self, task: Task) -> str:
        return hashlib.sha256(self._brought.change).hexdigest()

    def brings(self, task: Task, state: State | None) -> Brought:
        return self._brought


def _agent(candidate: Candidate, benchmark: Benchmark, task: Task) -> Any:
    if candidate.agent:
        words = {"{port}": os.environ.get(PORT, "0"), "{folder}": os.environ.get(FOLDER, "/none")}
        script = candidate.agent
        for mark, word in words.items():
            script = script.replace(mark, word)
        return CommandAgent(script)
    if candidate.patch or candidate.response:
        return _Handing(candidate.patch.encode(), candidate.response.replace("{long}", "Truly. " * 40_000))
    return _Handing(patch_of(candidate, benchmark.root, task), "")


def patch_of(candidate: Candidate, root: Path, task: Task) -> bytes:
    """The candidate's files as a patch against the task's own."""
    store = TreeStore(home() / "trees")
    base = root / task.source.path  # type: ignore[union-attr]
    old = store.add(_entries(base))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        shutil.copytree(base, tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        _edit(tree, candidate)
        return store.diff(old, store.add(_entries(tree)))


def _edit(tree: Path, candidate: Candidate) -> None:
    for name in candidate.removed:
        place = tree / name
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    data = {name: text.encode() for name, text in candidate.files.items()}
    data |= {name: bytes.fromhex(text) for name, text in candidate.binary.items()}
    data |= {name: _bytecode(name, source) for name, source in candidate.bytecode.items()}
    for name, content in data.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        if name in candidate.executable:
            place.chmod(0o755)
    for name, target in candidate.links.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to(target)


def _bytecode(name: str, source: str) -> bytes:
    """As in PEP 552: hash-based and unchecked."""
    code = compile(source, name, "exec")
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def _entries(folder: Path) -> Iterator[Entry]:
    for path in sorted(folder.rglob("*")):
        name = os.fsencode(path.relative_to(folder))
        if path.is_symlink():
            yield Entry(name, LINK, os.fsencode(path.readlink()))
        elif path.is_file():
            mode = EXECUTABLE if path.stat().st_mode & 0o100 else FILE
            yield Entry(name, mode, path.read_bytes())


class RangeTools(Tools):
    """A run's tools whose pytest is the one at hand: no registry is asked."""

    def state(self, task: Task) -> TaskState:
        state = super().state(task)
        if not task.metadata.get("pytest") or state.env.get("PYTHONPATH") == DEPS:
            return state
        return replace(state, layers=(*state.layers, pytest_layer()), env={**state.env, "PYTHONPATH": DEPS})


@cache
def pytest_layer() -> Layer:
    """The pytest that runs here, with what it needs, as a dependency layer."""
    names = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
    found = [spec.origin for spec in map(importlib.util.find_spec, names) if spec and spec.origin]
    entries = []
    for origin in map(Path, found):
        package = origin.parent if origin.name == "__init__.py" else None
        site = (package or origin).parent
        for path in sorted(package.rglob("*.py")) if package else [origin]:
            entries.append(Entry(os.fsencode(path.relative_to(site)), FILE, path.read_bytes()))
    digest = hashlib.sha256(b"".join(e.path + b"\0" + e.data for e in entries)).hexdigest()
    return Layer(f"pytest-{digest}", DEPS, lambda: iter(entries))


def _record(stage: Stage, out: Path) -> TrialRecord:
    benchmark = stage.benchmark.model_copy(update={"tasks": (stage.task,)})
    agents: dict[str, Agent] = {"candidate": stage.agent}
    rubrics = RubricStore.load([folder for folder in (benchmark.root / "rubrics",) if folder.is_dir()])
    resolve = stage.rubrics(rubrics.resolve)
    decisive = inputs.of(benchmark, agents, resolve, version="1")
    planned = plan.make(benchmark, ("candidate",), 1, inputs=decisive)
    config = load_config(benchmark.root)
    judges = graders.make_all(benchmark, _registry().graders, config)
    for judge in judges.values():
        if hasattr(judge, "endpoint"):
            judge.endpoint = reader()
    tools = stage.tools(RangeTools)(
        benchmark=benchmark,
        provider=stage.provider,
        agents=agents,
        executors=stage.executors(_registry().executors),
        rubrics=resolve,
        home=home(),
        befores=BeforeCache(),
        graders=judges,
        config=config,
    )
    with Store.create(RunHeader.begin(benchmark.id, planned.to_json()), out) as store:
        run.execute(
            planned,
            attempt=lambda job, note: trial.run(job, note, tools),
            benchmark=benchmark,
            provider=stage.provider,
            store=store,
            retries=3,
            wait=wait_none(),
        )
    (record,) = RunFolder(out).latest().values()
    return record
