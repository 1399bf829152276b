"""Which trials a run consists of: every chosen task, once per agent and repeat. Pure."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.scoring import Gate
from orchestrator.errors import AuthoringError

Inputs = Callable[[Task, str], Mapping[str, str]]
"""(task, agent spec) -> digests of what the documents only point at: files, rubrics, predictions."""

_CLEAN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_SHOWN = 5
MOST_TRIALS = 1_000_000
"""Trials of one plan, which is held in memory and written into run.json."""


@dataclass(frozen=True)
class TrialJob:
    """One trial to run. Plain values only, so that it can cross a process or a machine."""

    trial: str
    """Unique in its run, safe as a file name on any system, readable: "<task>.<agent>.<repeat>"."""
    benchmark: str
    benchmark_version: str
    task: str
    agent: str
    """As given: "gold", "command:./solve.sh"."""
    repeat: int
    """1-based."""
    cpus: float
    """Cores the task asked for; 0 when it left the default (a slot is all it takes then)."""
    memory: int
    """Bytes the task asked for; 0 when it left the default."""
    digest: str
    """sha256 over every input. A resumed run keeps a result only under an equal digest."""
    disk: int = 0
    """Bytes the task asked for; 0 when it left the default."""


@dataclass(frozen=True)
class Plan:
    """The trials of a run, in the order they are started."""

    benchmark: str
    benchmark_version: str
    agents: tuple[str, ...]
    repeats: int
    trials: tuple[TrialJob, ...]
    gates: tuple[Gate, ...] = ()
    """What the run must reach; they stand in the plan so that a report needs no benchmark."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them back."""
        return {**asdict(self), "gates": [gate.model_dump() for gate in self.gates]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Raises AuthoringError on anything that `to_json` did not write."""
        try:
            return cls(
                str(data["benchmark"]),
                str(data["benchmark_version"]),
                tuple(map(str, data["agents"])),
                int(data["repeats"]),
                tuple(TrialJob(**job) for job in data["trials"]),
                tuple(Gate.model_validate(gate) for gate in data.get("gates", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise AuthoringError(f"the run's plan is damaged: {error}") from None


def make(
    benchmark: Benchmark,
    agents: Sequence[str],
    repeats: int = 1,
    tasks_glob: str | None = None,
    *,
    inputs: Inputs | None = None,
) -> Plan:
    """Plan a run. `tasks_glob` takes several patterns with commas between them; None takes every task.

    The order is the same every time: all tasks of the first agent, then the next agent's, and so on;
    then the next repeat. So a run that was stopped has about as many samples of each task.

    Raises AuthoringError: no agent, an agent given twice, repeats below 1, more than MOST_TRIALS, a pattern
    without a task.
    """
    _check_request(agents, repeats)
    tasks = select(benchmark, tasks_glob)
    count = len(tasks) * len(agents) * repeats
    if count > MOST_TRIALS:
        raise AuthoringError(
            f"{repeats} repeats make {count} trials; a run has at most {MOST_TRIALS}: use several runs"
        )
    trials = tuple(_jobs(benchmark, tasks, agents, repeats, inputs or _no_inputs))
    return Plan(benchmark.id, benchmark.version, tuple(agents), repeats, trials, benchmark.gates)


def select(benchmark: Benchmark, tasks_glob: str | None) -> tuple[Task, ...]:
    """The tasks whose id matches one of the comma-separated patterns, in the benchmark's order.

    Case counts. Raises AuthoringError for every pattern that matches nothing.
    """
    if tasks_glob is None:
        return benchmark.tasks
    patterns = [p for p in (part.strip() for part in tasks_glob.split(",")) if p]
    ids = [task.id for task in benchmark.tasks]
    idle = [p for p in patterns if not any(fnmatch.fnmatchcase(i, p) for i in ids)]
    if idle or not patterns:
        some = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
        raise AuthoringError(
            f"no task of {benchmark.id} matches {', '.join(idle) or repr('')}; it has {some}"
        )
    return tuple(t for t in benchmark.tasks if any(fnmatch.fnmatchcase(t.id, p) for p in patterns))


def trial_id(task: str, agent: str, repeat: int) -> str:
    """Injective, so that two trials never share a folder, also where a file system ignores case (B129).

    >>> trial_id("fix-null", "gold", 1)
    'fix-null.gold.1'
    >>> trial_id("a/b", "gold", 1) != trial_id("a__b", "gold", 1) != trial_id("A__b", "gold", 1)
    True
    """
    return f"{_component(task)}.{_component(agent, shown=24)}.{repeat}"


def _component(name: str, shown: int = 48) -> str:
    """`name` itself when it is plain; else what is readable of it, "~", and the hash of all of it."""
    if _CLEAN.fullmatch(name):
        return name
    slug = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:shown].rstrip("-_")
    return f"{slug or 'x'}~{_sha256(name.encode('utf-8', 'surrogatepass'))[:12]}"


def _jobs(
    benchmark: Benchmark, tasks: Sequence[Task], agents: Sequence[str], repeats: int, inputs: Inputs
) -> Iterator[TrialJob]:
    documents = {task.id: task.model_dump(mode="json") for task in tasks}
    bases = {
        (agent, task.id): _digest(benchmark, documents[task.id], agent, inputs(task, agent))
        for agent in agents
        for task in tasks
    }
    for repeat in range(1, repeats + 1):
        for agent in agents:
            for task in tasks:
                yield TrialJob(
                    trial=trial_id(task.id, agent, repeat),
                    benchmark=benchmark.id,
                    benchmark_version=benchmark.version,
                    task=task.id,
                    agent=agent,
                    repeat=repeat,
                    cpus=task.limits.cpus or 0.0,
                    memory=task.limits.memory or 0,
                    disk=task.limits.disk or 0,
                    digest=_sha256(f"{bases[agent, task.id]}/{repeat}".encode()),
                )


def _digest(benchmark: Benchmark, task: Mapping[str, Any], agent: str, inputs: Mapping[str, str]) -> str:
    whole = {
        "benchmark": [benchmark.id, benchmark.version],
        "task": task,
        "agent": agent,
        "inputs": dict(inputs),
    }
    return _sha256(json.dumps(whole, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))


def _check_request(agents: Sequence[str], repeats: int) -> None:
    if not agents:
        raise AuthoringError("no agent to run; name one with --agent, for example --agent gold")
    twice = sorted({agent for agent in agents if list(agents).count(agent) > 1})
    if twice:
        raise AuthoringError(
            f"--agent {twice[0]} is given twice; use --repeats for more samples of one agent"
        )
    if repeats < 1:
        raise AuthoringError(f"repeats is {repeats}; it must be at least 1")


def _no_inputs(task: Task, agent: str) -> Mapping[str, str]:
    return {}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
