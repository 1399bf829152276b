"""Records and plans for tests of what people see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.plan import Plan, TrialJob, trial_id


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    def make(tasks: list[str], agents: list[str], repeats: int = 1) -> Plan:
        jobs = tuple(
            TrialJob(trial_id(task, agent, repeat), "demo", "1.0", task, agent, repeat, 0.0, 0, "d")
            for repeat in range(1, repeats + 1)
            for agent in agents
            for task in tasks
        )
        return Plan("demo", "1.0", tuple(agents), repeats, jobs)

    return make


@pytest.fixture
def make_record() -> Callable[..., TrialRecord]:
    def make(job: TrialJob, status: str = "passed", **more: Any) -> TrialRecord:
        scores = {"passed": 1.0, "failed": 0.0}
        facts: dict[str, Any] = {
            "trial": job.trial,
            "attempt": 1,
            "final": True,
            "benchmark": job.benchmark,
            "benchmark_version": job.benchmark_version,
            "task": job.task,
            "agent": AgentRecord(name=job.agent),
            "repeat": job.repeat,
            "status": status,
            "end": "graded",
            "score": scores.get(status),
            "reason": f"because it {status}",
            "rubric_ref": "rubric/r@1.0",
            "started_at": "2026-01-01T00:00:00+00:00",
            "seconds": 0.5,
        }
        return TrialRecord(**{**facts, **more})

    return make
