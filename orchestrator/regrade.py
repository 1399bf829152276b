"""Work that an earlier run kept, graded again by today's tasks and rubrics: no agent is asked.

What is handed to a trial is what the run recorded: the change by its SHA-256, the response by its own. Work
that was never kept, or is no longer what was recorded, is not graded, and its record says why.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator import trial
from orchestrator.agents import Agent, Brought, State, text_or_bytes
from orchestrator.attempts import Attempt
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.record import TrialRecord
from orchestrator.dossier import Artifacts, Dossier
from orchestrator.notebook import Notebook
from orchestrator.plan import TrialJob
from orchestrator.tools import Tools


class NotKept(Exception):
    """The run has nothing of this trial that could be graded; str() says why."""


@dataclass(frozen=True)
class Shift:
    """One trial, then and now: status and score."""

    trial: str
    task: str
    agent: str
    repeat: int
    was: tuple[str, float | None]
    now: tuple[str, float | None]
    reason: str
    """Why it is what it is now."""

    @property
    def moved(self) -> bool:
        return self.was != self.now


def work_of(old: Dossier, name: str, *, rooms: bool) -> Brought:
    """What the agent left in trial `name` of a run, byte for byte: a response, and, where the task has
    `rooms`, a change. Raises NotKept."""
    record = old.latest.get(name)
    if record is None:
        raise NotKept("the run never began this trial")
    return Brought(
        response=text_or_bytes(_response(old, record)),
        change=_change(old, record) if rooms else b"",
        model=record.agent.model,
        note=record.agent.note,
        trajectory=_trajectory(old, record),
    )


def agents(old: Dossier) -> dict[str, Agent]:
    """Who hands in the work of a run: by agent, as plans know them, and by trial, as `attempts` asks."""
    by_agent = {spec: _Stored(spec, old) for spec in old.plan.agents}
    return {**by_agent, **{job.trial: _Stored(job.agent, old, job.trial) for job in old.plan.trials}}


def attempts(old: Dossier, tools: Tools) -> Attempt:
    """Attempts that hand in what `agents` hold. Who did the work, and how it ended, is recorded as it was."""

    def attempt(job: TrialJob, notebook: Notebook) -> TrialRecord:
        try:
            record = trial.run(replace(job, agent=job.trial), notebook, tools)
        except NotKept as why:
            return notebook.record("not_run", "not_kept", f"nothing to grade again: {why}")
        return record.model_copy(update={"agent": old.latest[job.trial].agent})

    return attempt


def shifts(old: Dossier, new: Mapping[str, TrialRecord]) -> Iterator[Shift]:
    """Every trial of the new run beside what it was, in the order of the old plan."""
    for job in old.plan.trials:
        now, before = new.get(job.trial), old.latest.get(job.trial)
        if now is not None:
            was = ("not_run", None) if before is None else (before.status, before.score)
            yield Shift(job.trial, job.task, job.agent, job.repeat, was, (now.status, now.score), now.reason)


class _Stored:
    """A `Bringer` of one trial's work; without a trial, what stands for an agent in a plan."""

    def __init__(self, name: str, old: Dossier, trial: str = "") -> None:
        self.name = name
        self._old = old
        self._trial = trial

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> _Stored:
        raise NotImplementedError("made from a run, never from a word")

    def fingerprint(self, task: Task) -> str:
        """Of the work on `task` in every repeat, and of the run that kept it."""
        records = [r for r in self._old.latest.values() if r.task == task.id and r.agent.name == self.name]
        facts = [(r.trial, r.attempt, r.digests.get("change"), r.response_sha256) for r in records]
        return _sha256(json.dumps([self._old.header.run_id, sorted(facts)], default=str).encode())

    def brings(self, task: Task, state: State | None) -> Brought:
        return work_of(self._old, self._trial, rooms=task.has_environment)


def _change(old: Dossier, record: TrialRecord) -> bytes:
    """The graded change; where there was none, what was handed in for one."""
    if record.change is None:
        brought = Artifacts(old.folder).read(record, "brought.patch")
        if brought is None:
            raise NotKept(f"it ended {record.status} ({record.end}), and no change was kept")
        return brought
    return _kept(old, record, "change.patch", record.change.sha256) if record.change.bytes else b""


def _response(old: Dossier, record: TrialRecord) -> bytes:
    if record.response_sha256 is None:
        raise NotKept(f"it ended {record.status} ({record.end}) before the agent had answered")
    if record.response_sha256 == _sha256(b""):
        return b""
    return _kept(old, record, "response.txt", record.response_sha256)


def _kept(old: Dossier, record: TrialRecord, name: str, sha256: str) -> bytes:
    data = Artifacts(old.folder).read(record, name)
    if data is None:
        raise NotKept(f"its {name} is gone from the run's folder")
    if _sha256(data) != sha256:
        raise NotKept(f"its {name} is not what was recorded: it was changed since")
    return data


def _trajectory(old: Dossier, record: TrialRecord) -> Any:
    data = Artifacts(old.folder).read(record, "trajectory.json")
    if data is None:
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise NotKept("its trajectory.json cannot be read") from None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
