"""What a trial works with: made once per run, shared by all trials and threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from orchestrator.agents import Agent, AgentReport
from orchestrator.befores import BeforeCache
from orchestrator.contract import CheckExecutor
from orchestrator.deadline import Deadline
from orchestrator.documents.benchmark import Benchmark, Config, Environment, Task, TaskLimits
from orchestrator.evidence import Profile, RoomJudge
from orchestrator.graders import Grader
from orchestrator.graders.rubric_checks import AI_EVAL, RubricChecks
from orchestrator.grading import ExecutorSet, Resolver
from orchestrator.notebook import Notebook
from orchestrator.outcomes import Grade, Verdict
from orchestrator.tasks import interpreter, states
from orchestrator.tasks.clients import HostClients
from orchestrator.tasks.fetchroom import RoomClients
from orchestrator.tasks.interpreter import Interpreter
from orchestrator.tasks.states import Graded, TaskState
from orchestrator.worktree.change import Change
from orchestrator.worktree.trees import TreeStore
from sandboxes.images import debian
from sandboxes.protocol import Capabilities, Provider
from sandboxes.spec import Image, Limits, Network, RoomSpec

GRADED_KEPT = 256
"""Graded trees that a run remembers; each is a few names."""
DEFAULT_AGENT_TIME = 3600.0
"""Seconds an agent may take when the task does not say."""


@dataclass(frozen=True)
class Tools:
    """`home` is the state root; `agents` and `graders` are by spec, as planned; `rubrics` resolves refs."""

    benchmark: Benchmark
    provider: Provider
    agents: Mapping[str, Agent]
    executors: Sequence[CheckExecutor]
    rubrics: Resolver
    home: Path
    config: Config = field(default_factory=Config)
    executor_set: ExecutorSet = "all"
    version: str = ""
    befores: BeforeCache = field(default_factory=BeforeCache)
    graders: Mapping[str, Grader] = field(default_factory=lambda: {RubricChecks.name: RubricChecks()})

    def __post_init__(self) -> None:
        object.__setattr__(self, "_states", {})
        object.__setattr__(self, "_troubles", {})
        object.__setattr__(self, "_graded", {})
        object.__setattr__(self, "_graded_lock", threading.Lock())
        object.__setattr__(self, "_locks", {task.id: threading.Lock() for task in self.benchmark.tasks})

    @cached_property
    def tasks(self) -> Mapping[str, Task]:
        return {task.id: task for task in self.benchmark.tasks}

    @cached_property
    def unenforced(self) -> tuple[str, ...]:
        """Default limits that this machine cannot enforce; recorded with every trial."""
        return self._able.unenforced

    @cached_property
    def _able(self) -> Capabilities:
        return self.provider.capabilities()

    @property
    def pass_threshold(self) -> float:
        """The question score, on 0 to 5, that passes."""
        return self.benchmark.scoring.question_pass_threshold

    def executors_for(self, task: Task) -> ExecutorSet:
        """Which executors are in force: ai_eval where the run or the task's own grader asks for it (C-55)."""
        return "ai_eval" if AI_EVAL in task.grader_names else self.executor_set

    def grades(
        self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str
    ) -> tuple[Grade, ...]:
        """What each grader of the task says, until one cannot do its work: there is no score then, and
        nobody is asked in vain. The same where a check of the rubric lost its rooms."""
        made: list[Grade] = []
        if verdict is not None and verdict.errored:
            return ()
        for name in task.grader_names:
            made.append(self.graders[name].grade(task, report, verdict, criteria))
            if made[-1].end:
                break
        return tuple(made)

    def state(self, task: Task) -> TaskState:
        """The task's trees and layers, prepared once per run; other trials of the task wait for the first.
        Raises what `states.prepare` raises."""
        held: dict[str, TaskState] = self._states  # type: ignore[attr-defined]
        troubles: dict[str, Exception] = self._troubles  # type: ignore[attr-defined]
        with self._locks[task.id]:  # type: ignore[attr-defined]
            if (trouble := troubles.pop(task.id, None)) is not None:
                raise trouble
            if task.id not in held or not held[task.id].store.repository.same:
                held[task.id] = self._prepared(task)
            return held[task.id]

    def prepare_ahead(self, task: Task) -> None:
        """The task's state and its base system, before anybody asks for them. What goes wrong is told to the
        first who does; asking again tries again."""
        held: dict[str, TaskState] = self._states  # type: ignore[attr-defined]
        troubles: dict[str, Exception] = self._troubles  # type: ignore[attr-defined]
        with self._locks[task.id]:  # type: ignore[attr-defined]
            if task.id in held or task.id in troubles or task.environment is None:
                return
            try:
                held[task.id] = self._prepared(task)
                if not task.environment.host:
                    self.provider.prepare(image_of(task.environment, self.benchmark.root))
            except Exception as trouble:
                held.pop(task.id, None)
                troubles[task.id] = trouble

    def _prepared(self, task: Task) -> TaskState:
        def python() -> Interpreter | None:
            assert task.environment is not None
            image = image_of(task.environment, self.benchmark.root)
            return interpreter.of_room(image, self.provider, TreeStore(self.home / "trees"))

        return states.prepare(task, self.benchmark, self.home, self.clients, python)

    @cached_property
    def clients(self) -> RoomClients:
        """Who fetches what is not on this machine yet."""
        return RoomClients(self.provider, self._on_this_machine)

    @cached_property
    def _on_this_machine(self) -> HostClients:
        return HostClients()

    def stop_fetching(self) -> None:
        """End what is being fetched outside of rooms, from any thread; rooms are closed by their provider."""
        self._on_this_machine.stop()

    def materials(self, state: TaskState) -> Callable[[], dict[str, str]] | None:
        """How to learn what was fetched and installed for a task, by name: its source, its packages, its base
        system's; None where nothing was."""
        environment = state.task.environment
        recipe = None if environment is None else environment.debian
        if environment is None or recipe is None:
            return partial(dict, state.facts) if state.facts else None

        def with_base() -> dict[str, str]:
            self.provider.prepare(image_of(environment, self.benchmark.root))
            base = debian.installed(recipe.suite, recipe.packages)
            return {**state.facts, **{f"debian:{name}": version for name, version in base.items()}}

        return with_base

    def graded(self, state: TaskState, change: Change) -> Graded:
        """The tree that is judged. The same change to the same task is the same tree, so that repeats of a
        patch do not apply it again. Raises what `states.graded` raises."""
        held: dict[tuple[str, str], Graded] = self._graded  # type: ignore[attr-defined]
        question = (state.task.id, change.sha256)
        answer = held.get(question)
        if answer is None or not answer.store.repository.same:
            answer = states.graded(state, change)
            with self._graded_lock:  # type: ignore[attr-defined]
                while len(held) >= GRADED_KEPT:
                    held.pop(next(iter(held)))
                held[question] = answer
        return answer

    def room(self, state: TaskState) -> RoomSpec:
        """A task's room without its work tree: image, dependencies, env and the oracles' limits."""
        task = state.task
        assert task.environment is not None, "a task without an environment has no room"
        return RoomSpec(
            image=image_of(task.environment, self.benchmark.root),
            layers=state.layers,
            workdir=task.workdir,
            env=state.env,
            limits=limits_of(task.limits),
            network=Network(task.network.allow),
            label=task.id,
        )

    def agents_room(self, state: TaskState) -> RoomSpec:
        """The room an agent works in: the state it was given, with a git folder of one commit."""
        room = self.room(state)
        time = state.task.limits.agent_time or DEFAULT_AGENT_TIME
        return replace(room, layers=(*room.layers, state.agent_layer), limits=replace(room.limits, time=time))

    def judge(self, state: TaskState, graded: Graded, deadline: Deadline, note: Notebook) -> RoomJudge:
        """Whoever opens this trial's judge's rooms; every command they run is kept by `note`."""
        return RoomJudge(
            provider=self.provider,
            room=replace(self.room(state), label=note.trial),
            trees=state.store,
            judge_tree=graded.before,
            graded_tree=graded.tree,
            changes=graded.changes,
            expected=state.task.expected,
            setup=state.task.setup,
            touched_protected=graded.touched_protected,
            profiles=self.profiles,
            deadline=deadline,
            cache=self.befores,
            version=self.version,
            log=note.heard,
        )

    @cached_property
    def profiles(self) -> Mapping[str, Profile]:
        """The sandbox profiles of proctor.yaml (C-5)."""
        return {
            name: Profile(image_of(profile.environment, self.benchmark.root), limits_of(profile.limits))
            for name, profile in self.config.profiles.items()
        }


def image_of(environment: Environment, root: Path) -> Image:
    """The base file system that an environment block names."""
    if environment.image is not None:
        return Image("image", environment.image)
    if environment.dockerfile is not None:
        return Image("dockerfile", str(root / environment.dockerfile))
    if environment.debian is not None:
        return Image("debian", environment.debian.suite, environment.debian.packages)
    return Image("host")


def limits_of(limits: TaskLimits) -> Limits:
    """As a room understands them. What the task set counts as asked for; `time` is the oracles'."""
    named = {
        "cpus": limits.cpus,
        "memory": limits.memory,
        "pids": limits.pids,
        "disk": limits.disk,
        "output": limits.output,
        "time": limits.oracle_time,
    }
    asked = {name: value for name, value in named.items() if value is not None}
    return replace(Limits(), **asked, asked=frozenset(asked))  # type: ignore[arg-type]
