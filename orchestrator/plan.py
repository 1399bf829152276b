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
from orchestrator.errors import AuthoringError, Problem

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
    def from_json(cls, data: Mapping[str, Any], file: str = "run.json") -> Plan:
        """Raises AuthoringError, naming `file`, on anything that `to_json` did not write."""
        return _Reading(data, file).plan()


class _Reading:
    """A stored plan, read back part by part; what is not as `Plan.to_json` wrote it is an AuthoringError."""

    def __init__(self, data: Mapping[str, Any], file: str) -> None:
        self._data = data
        self._file = file

    def plan(self) -> Plan:
        trials = self._part("trials", list, "a list of trials")
        gates = self._part("gates", list, "a list of gates") if "gates" in self._data else ()
        return Plan(
            self._part("benchmark", str, "text"),
            self._part("benchmark_version", str, "text"),
            self._agents(),
            self._part("repeats", int, "a whole number"),
            tuple(self._job(number, job) for number, job in enumerate(trials)),
            tuple(self._gate(number, gate) for number, gate in enumerate(gates)),
        )

    def _agents(self) -> tuple[str, ...]:
        agents = self._part("agents", list, "a list of agents")
        if odd := [agent for agent in agents if not isinstance(agent, str)]:
            raise self._damaged("agents", f"is no list of texts: {_shown(odd[0])} is in it")
        return tuple(agents)

    def _job(self, number: int, job: Any) -> TrialJob:
        place = f"trials[{number}]"
        if not isinstance(job, dict):
            raise self._damaged(place, f"is no trial: {_shown(job)}")
        for name, kind in _JOB.items():
            if not isinstance(job.get(name, 0 if name == "disk" else None), kind):
                raise self._damaged(f"{place}.{name}", "is missing or of another type")
        if unknown := job.keys() - _JOB.keys():
            raise self._damaged(f"{place}.{min(unknown)}", "is no part of a trial")
        return TrialJob(**job)

    def _gate(self, number: int, gate: Any) -> Gate:
        try:
            return Gate.model_validate(gate)
        except ValueError:
            raise self._damaged(f"gates[{number}]", f"is no gate: {_shown(gate)}") from None

    def _part(self, name: str, kind: type, wanted: str) -> Any:
        if name not in self._data:
            raise self._damaged(name, "is missing")
        found = self._data[name]
        if isinstance(found, tuple) and kind is list:
            return found
        if not isinstance(found, kind) or isinstance(found, bool):
            raise self._damaged(name, f"is not {wanted}: {_shown(found)}")
        return found

    def _damaged(self, place: str, said: str) -> AuthoringError:
        hint = "the run's plan is damaged; take run.json from a copy, or run the benchmark again"
        return AuthoringError(Problem(self._file, 0, f"plan.{place}", said, hint))


_NUMBER = (int, float)
_JOB: dict[str, Any] = {
    "trial": str,
    "benchmark": str,
    "benchmark_version": str,
    "task": str,
    "agent": str,
    "repeat": int,
    "cpus": _NUMBER,
    "memory": _NUMBER,
    "digest": str,
    "disk": _NUMBER,
}
"""The fields of a trial, and what they are."""


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else text[:39] + "…"


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
