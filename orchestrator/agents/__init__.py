"""What an agent is. Found by entry point group `orchestrator.agents`; the name is the word before ":".

There are two kinds. A `Bringer` has its change already and needs no room of its own; an `Actor` works in
the agent's room and leaves its change there. An agent's failure is a value, never an exception.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard, runtime_checkable

from orchestrator.deadline import Deadline
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError, Problem
from sandboxes.protocol import Sandbox


class State(Protocol):
    """What a bringer may know of the prepared task."""

    @property
    def gold(self) -> bytes | None:
        """The patch that mends the state given to the agent; None when the task has none."""
        ...


@dataclass(frozen=True)
class Fix:
    """A `State` that knows only the fix."""

    gold: bytes | None = None


@dataclass(frozen=True)
class Brought:
    """A finished piece of work."""

    change: bytes = b""
    """A patch, byte for byte as it was handed in. Empty: nothing was changed."""
    response: str | bytes = ""
    """Bytes when it is not valid UTF-8 (C-52)."""
    model: str | None = None
    note: str = ""
    """A sentence for the record when something about it is odd ("no prediction for this task")."""
    trajectory: Any = None
    """The record of what it did, where there is one."""


@dataclass(frozen=True)
class AgentReport:
    """How an agent's work in its room ended. Whatever it says, what it left is graded (B133)."""

    ended: str = "finished"
    """finished, failed, or limit_hit:<which>."""
    exit_code: int | None = None
    response: str | bytes = ""
    """Bytes when it is not valid UTF-8 (C-52)."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Tokens, cost, calls, as far as known; for a command: seconds, peak_memory, cpu_seconds."""
    trajectory: Any = None
    model: str | None = None
    note: str = ""
    """A sentence about the end: the exit code, the limit and where it came from."""
    log: bytes = b""
    """What it printed beside its response, bounded; kept as an artifact."""


@runtime_checkable
class Agent(Protocol):
    """Built once per run by `for_spec`, then shared by every trial and thread."""

    name: str
    """The whole spec, as given: "gold", "command:./solve.sh"."""

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> Agent:
        """From the part after "NAME:" (empty when there is none).

        Raises AuthoringError with every problem of the argument, before any room is opened.
        """
        ...

    def fingerprint(self, task: Task) -> str:
        """A digest of what decides this agent's work on `task` beyond its name, such as the content of a
        file. A resumed run starts a trial again when it differs."""
        ...


@runtime_checkable
class Bringer(Agent, Protocol):
    """An agent that has its change already, and needs no room to make it."""

    def brings(self, task: Task, state: State | None) -> Brought:
        """The finished work for `task`; `state` is None when it has no environment.

        Raises orchestrator.errors.TaskInvalid when the task cannot give it (gold without a fix).
        """
        ...


@runtime_checkable
class Actor(Agent, Protocol):
    """An agent that works in a room of its own and leaves its change there."""

    def act(self, task: Task, sandbox: Sandbox, deadline: Deadline) -> AgentReport:
        """Work in the room until done or until `deadline`. Raises sandboxes.errors.SandboxError only."""
        ...


def is_bringer(agent: Agent) -> TypeGuard[Bringer]:
    """What isinstance would say, without its look at every member for every trial."""
    return callable(getattr(agent, "brings", None))


def make(spec: str, kinds: Mapping[str, Any], benchmark: Benchmark) -> Agent:
    """The agent that `spec` ("NAME" or "NAME:ARG") names; `kinds` are the registry's agent classes.

    Raises AuthoringError naming the known agents, or whatever the agent finds wrong with its argument.
    """
    name, _, arg = spec.partition(":")
    kind = kinds.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, kinds, n=1)
        hint = f'did you mean "{near[0]}"? ' if near else ""
        raise AuthoringError(f'unknown agent "{shown(name)}"; {hint}known agents: {", ".join(sorted(kinds))}')
    agent: Agent = kind.for_spec(arg, benchmark)
    return agent


def make_all(specs: tuple[str, ...], kinds: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Agent]:
    """`make` for each spec, by spec. Raises one AuthoringError with the problems of all of them."""
    agents: dict[str, Agent] = {}
    problems: list[Problem] = []
    for spec in specs:
        try:
            agents[spec] = make(spec, kinds, benchmark)
        except AuthoringError as error:
            problems.extend(error.problems)
    if problems:
        raise AuthoringError(problems)
    return agents


def text_or_bytes(data: bytes) -> str | bytes:
    """As text when it is valid UTF-8, else the bytes themselves, so that checks can tell (C-52)."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def shown(text: str, width: int = 80) -> str:
    """What was asked for, short enough not to hide what is wrong with it.

    >>> shown("./solve.sh   --fast\\n--now", 20)
    './solve.sh --fast...'
    """
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3].rstrip() + "..."


def no_argument(name: str, arg: str) -> None:
    """Raises AuthoringError when an agent that takes no argument was given one."""
    if arg:
        given = shown(arg)
        raise AuthoringError(f'agent {name} takes no argument, but was given "{given}"; write --agent {name}')
