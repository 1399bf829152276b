"""Run folders as a run leaves them, made from a table of outcomes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.record import AgentRecord, OutcomeRecord, TrialRecord, VerdictRecord
from orchestrator.plan import Plan, TrialJob, trial_id
from orchestrator.records import to_line
from orchestrator.store import RunHeader

Marks = str | Sequence[float | str]
"""One letter a repeat: p passed, f failed, e errored, i invalid, u unscored, n never begun. A number is a
score, and passes from 0.7 on."""
STATUS = {"p": "passed", "f": "failed", "e": "errored", "i": "invalid", "u": "unscored"}

MakeRun = Callable[..., Path]


def delta_outcome(tool: str, delta: float, **rules: list[int]) -> OutcomeRecord:
    """A score_delta check as its executor records it."""
    details = {"tool": tool, "delta": delta, "by_rule": rules}
    return OutcomeRecord(
        id="", kind="score_delta", status="passed", score=1.0, passed=True, reason="", details=details
    )


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """(name, {task: marks}) -> a run folder. With several agents: {agent: {task: marks}} as `agents`."""

    def make(
        name: str,
        tasks: Mapping[str, Marks] | None = None,
        *,
        agent: str = "command:a",
        agents: Mapping[str, Mapping[str, Marks]] | None = None,
        header: Mapping[str, Any] = {},
        fields: Callable[[str, int], Mapping[str, Any]] = lambda task, repeat: {},
        under: Path | None = None,
    ) -> Path:
        folder = (under or tmp_path / "runs") / name
        folder.mkdir(parents=True)
        whole = agents or {agent: tasks or {}}
        jobs = [
            (TrialJob(trial_id(task, who, r), "demo", "1.0", task, who, r, 0.0, 0, "d"), mark)
            for who, table in whole.items()
            for task, marks in table.items()
            for r, mark in enumerate(marks, 1)
        ]
        repeats = max((job.repeat for job, _ in jobs), default=1)
        plan = Plan("demo", "1.0", tuple(whole), repeats, tuple(job for job, _ in jobs))
        facts = {"run_id": f"id-{name}", "benchmark": "demo", "started": "2026-01-01T00:00:00+00:00"}
        told = RunHeader(**{**facts, "plan": plan.to_json(), **header})
        (folder / "run.json").write_text(json.dumps(told.model_dump(mode="python"), default=dict))
        lines = [
            to_line(_record(job, mark, fields(job.task, job.repeat))) for job, mark in jobs if mark != "n"
        ]
        (folder / "records.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        return folder

    return make


def _record(job: TrialJob, mark: float | str, more: Mapping[str, Any]) -> TrialRecord:
    score: float | None
    if isinstance(mark, str):
        status = STATUS[mark]
        score = {"p": 1.0, "f": 0.0}.get(mark)
    else:
        status, score = ("passed" if mark >= 0.7 else "failed"), float(mark)
    outcomes = more.get("outcomes", ())
    facts: dict[str, Any] = {
        "trial": job.trial,
        "attempt": 1,
        "final": True,
        "benchmark": job.benchmark,
        "benchmark_version": job.benchmark_version,
        "task": job.task,
        "agent": AgentRecord(name=job.agent, usage=more.get("usage", {})),
        "repeat": job.repeat,
        "status": status,
        "end": {"e": "sandbox_lost", "i": "task_invalid", "u": "nothing_executable"}.get(str(mark), "graded"),
        "score": score,
        "reason": f"because it {status}",
        "rubric_ref": more.get("rubric", "rubric/r@1.0"),
        "started_at": "2026-01-01T00:00:00+00:00",
        "seconds": more.get("seconds", 0.5),
        "digests": more.get("digests", {}),
    }
    if score is not None:
        facts["verdict"] = VerdictRecord(
            rubric=facts["rubric_ref"], score=score, passed=status == "passed", reason="", outcomes=outcomes
        )
    return TrialRecord(**facts)
