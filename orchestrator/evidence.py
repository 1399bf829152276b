"""Fresh rooms for one trial's oracles: what the state before the change says, and what the state after.

Both start from the same work tree (source, setup, tests: the judge's tree); the after room then gets the
difference between that tree and the graded one, so that the two differ only by the change (C-7). Every
question opens a room of its own; nothing one check leaves behind can reach another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from orchestrator.befores import BeforeCache
from orchestrator.contract import ChangedFile, Step, StepResult
from orchestrator.deadline import Deadline
from sandboxes.errors import RoomFull
from sandboxes.protocol import Done, Output, Provider, Sandbox
from sandboxes.spec import Command, Entry, Image, Layer, Limits, RoomSpec

READ_LIMIT = 64 * 1024 * 1024
"""Bytes of one file fetched from a room."""
TAIL_KEPT = 4_000
"""Characters of each stream that `describe` keeps; the trial keeps whole logs as artifacts."""
OWN_PROFILE = "ddev"
"""The profile word that means the task's own environment, unless a profile of that name exists (C-5)."""


Side = Literal["before", "after", "apart"]


class Trees(Protocol):
    """What is asked of the store of work trees."""

    def entries(self, tree: str) -> Iterator[Entry]: ...

    def delta(self, old: str, new: str) -> tuple[list[Entry], list[bytes]]: ...

    def diff(self, old: str, new: str, *, readable: bool = False) -> bytes: ...

    def file(self, tree: str, path: bytes) -> bytes | None: ...


@dataclass(frozen=True)
class Profile:
    """A named sandbox: replaces only the image and its limits (C-5)."""

    image: Image
    limits: Limits


@dataclass(frozen=True)
class Heard:
    """One step and its result, for the trial's logs."""

    side: Side
    room: int
    """Which question of this trial, from 1."""
    index: int
    """Which step of it, from 0."""
    step: Step
    result: StepResult
    cached: bool
    """The before state had been asked this already, now or in an earlier run."""


class UnknownProfile(LookupError):
    """A check names a sandbox profile that nobody defined: its author's mistake (C-5)."""


@dataclass
class RoomJudge:
    """The `contract.Judge` of one trial.

    `room` is the task's room without its work tree: image, dependency layers, workdir, env, limits.
    `judge_tree` and `graded_tree` are ids in `trees`. `changes` is called at most once. `deadline` bounds
    the after rooms; before rooms have only their own limits, since their answers outlive the trial.
    """

    provider: Provider
    room: RoomSpec
    trees: Trees
    judge_tree: str
    graded_tree: str
    changes: Callable[[], Iterable[ChangedFile]] = tuple
    expected: Mapping[str, Any] = field(default_factory=dict)
    setup: str = "none"
    touched_protected: tuple[str, ...] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    deadline: Deadline = field(default_factory=Deadline)
    cache: BeforeCache = field(default_factory=BeforeCache)
    version: str = ""
    """Proctor's version: another version asks again."""
    log: Callable[[Heard], None] | None = None

    def __post_init__(self) -> None:
        self._rooms = 0
        self._asked = False
        self._changed: tuple[ChangedFile, ...] | None = None
        self._patch: bytes | None = None

    @property
    def asked(self) -> bool:
        """Whether any check has looked at the work tree or at the change."""
        return self._asked

    @property
    def env(self) -> Mapping[str, str]:
        return self.room.env

    @property
    def workdir(self) -> str:
        return self.room.workdir

    def before(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        spec = self._spec(steps, profile)
        image = self.provider.prepare(spec.image, spec.layers)
        question = _question(self.provider.name, self.version, image, spec, steps)
        answer, known = self.cache.get(question, lambda: self._ask(spec, steps, Deadline()))
        self._tell("before", steps, answer, known)
        return answer

    def after(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        answer = self._ask(self._spec(steps, profile), steps, self.deadline, change=True)
        self._tell("after", steps, answer, False)
        return answer

    def apart(self, *steps: Step, profile: str | None = None) -> tuple[StepResult, ...]:
        answer = self._ask(self._spec(steps, profile, tree=False), steps, self.deadline)
        self._tell("apart", steps, answer, False)
        return answer

    def changed(self) -> tuple[ChangedFile, ...]:
        if self._changed is None:
            self._changed = tuple(self.changes())
        return self._changed

    def patch(self) -> bytes:
        self._asked = True
        if self._patch is None:
            self._patch = self.trees.diff(self.judge_tree, self.graded_tree, readable=True)
        return self._patch

    def file(self, path: str) -> bytes | None:
        self._asked = True
        return self.trees.file(self.graded_tree, path.encode("utf-8", "surrogateescape"))

    def _spec(self, steps: Iterable[Step], profile: str | None, *, tree: bool = True) -> RoomSpec:
        state = Layer(
            self.judge_tree, self.workdir, lambda: self.trees.entries(self.judge_tree), writable=True
        )
        extra = dict.fromkeys(layer for step in steps for layer in step.layers)
        spec = replace(self.room, layers=(*self.room.layers, *([state] if tree else ()), *extra))
        chosen = self.profiles.get(profile or OWN_PROFILE)
        if chosen is not None:
            return replace(spec, image=chosen.image, limits=chosen.limits)
        if profile in (None, OWN_PROFILE):
            return spec
        known = ", ".join(sorted({OWN_PROFILE, *self.profiles}))
        raise UnknownProfile(f"no sandbox profile is called {profile!r}; there are: {known}")

    def _ask(
        self, spec: RoomSpec, steps: tuple[Step, ...], deadline: Deadline, *, change: bool = False
    ) -> tuple[StepResult, ...]:
        """One room, the steps in order, then the room is gone."""
        results: list[StepResult] = []
        with self.provider.provision(spec) as room:
            if change and self.graded_tree != self.judge_tree:
                entries, removed = self.trees.delta(self.judge_tree, self.graded_tree)
                room.remove(removed, self.workdir)
                try:
                    room.write(entries, self.workdir, owner="candidate")
                except RoomFull:  # theirs, else a large enough change would have no score instead of a zero
                    return tuple(StepResult(_TOO_LARGE) for _ in steps)
            for step in steps:
                try:
                    result = _perform(room, step, deadline)
                except RoomFull:  # not even a key fits in beside the change: theirs, too
                    result = StepResult(_TOO_LARGE)
                results.append(result)
                if step.stop_unless_ok and not result.done.ok:
                    break
        return tuple(results)

    def _tell(self, side: Side, steps: Iterable[Step], answer: Iterable[StepResult], cached: bool) -> None:
        self._rooms += 1
        self._asked = self._asked or side != "apart"
        if self.log is not None:
            for index, (step, result) in enumerate(zip(steps, answer, strict=False)):
                self.log(Heard(side, self._rooms, index, step, result, cached))


_SAYS = b"the change does not fit into the disk limit of the room"
_TOO_LARGE = Done("limit_hit:disk", None, None, Output(), Output(_SAYS, total=len(_SAYS)), 0.0)


def describe(result: StepResult) -> dict[str, Any]:
    """A room's end as JSON-serialisable facts: `end`, `exit_code`, `seconds`, tails of both streams, ...

    Only what holds is listed: no `signal` without one, no empty stream. `truncated` is the whole size in
    bytes of each stream that the room did not keep whole (B027).
    """
    done = result.done
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    facts = {
        "end": done.end,
        "exit_code": done.exit_code,
        "signal": done.signal,
        "seconds": round(done.seconds, 3),
        "peak_memory": done.usage.peak_memory,
        "truncated": {name: output.total for name, output in streams.items() if output.truncated} or None,
        **{name: _tail(output) for name, output in streams.items()},
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _perform(room: Sandbox, step: Step, deadline: Deadline) -> StepResult:
    left = deadline.timeout()
    if left == 0:
        return StepResult(Done("limit_hit:time", None, None, Output(), Output(), 0.0))
    done = room.run(_within(_keyed(room, step), left))
    files: dict[str, bytes | None] = {}
    unread: dict[str, str] = {}
    for path in step.reads:
        try:
            files[path] = room.read(path, READ_LIMIT)
        except ValueError:
            files[path], unread[path] = None, f"larger than {READ_LIMIT} bytes"
    return StepResult(done, files, unread)


def _keyed(room: Sandbox, step: Step) -> Command:
    """The step's command, its keys put where only their first reader finds them."""
    if not step.keys:
        return step.command
    env = {name: key.word for name, key in step.keys.items()}
    if not getattr(room, "in_memory", False):
        env = {name: f"@{key.path}" for name, key in step.keys.items()}
        for key in step.keys.values():
            folder, _, name = key.path.rpartition("/")
            room.write([Entry(name.encode(), 0o100644, key.word.encode())], folder, owner="candidate")
    return replace(step.command, env={**step.command.env, **env})


def _within(command: Command, left: float | None) -> Command:
    if left is None:
        return command
    return replace(command, timeout=left if command.timeout is None else min(left, command.timeout))


def _question(provider: str, version: str, image: str, spec: RoomSpec, steps: Iterable[Step]) -> str:
    """A digest of everything that decides what a before room answers."""
    limits = spec.limits
    facts = [
        provider,
        version,
        image,
        [(layer.digest, layer.target, layer.writable) for layer in spec.layers],
        spec.workdir,
        sorted(spec.env.items()),
        [limits.cpus, limits.memory, limits.pids, limits.disk, limits.time, limits.output, limits.open_files],
        sorted(limits.asked),
        sorted(spec.network.allow),
        spec.user,
        [_step_facts(step) for step in steps],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _step_facts(step: Step) -> list[Any]:
    command = step.command
    return [
        command.argv,
        command.timeout,
        hashlib.sha256(command.stdin).hexdigest(),
        sorted(command.env.items()),
        command.cwd,
        step.reads,
        step.stop_unless_ok,
    ]


def _tail(output: Output) -> str:
    """The last characters of a stream, fit for JSON in any encoding."""
    kept = (output.tail or output.head)[-4 * TAIL_KEPT :]
    return kept.decode("utf-8", "replace")[-TAIL_KEPT:]
