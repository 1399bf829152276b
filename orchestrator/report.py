"""What a run found, in a form people and machines can read. Pure: built from records and the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from orchestrator.documents.record import TrialRecord, TrialStatus
from orchestrator.errors import (
    EXIT_AUTHOR,
    EXIT_FAILED,
    EXIT_HARNESS,
    EXIT_INFRASTRUCTURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
)
from orchestrator.plan import Plan, TrialJob

STATUSES: tuple[str, ...] = get_args(TrialStatus)
PRECEDENCE = (EXIT_INTERRUPTED, EXIT_HARNESS, EXIT_INFRASTRUCTURE, EXIT_AUTHOR, EXIT_FAILED, EXIT_OK)
"""The gravest owner in a run decides its exit code (C-9)."""


@dataclass(frozen=True)
class Row:
    """One planned trial and how it ended; a trial without a record is not_run."""

    trial: str
    task: str
    agent: str
    repeat: int
    status: str
    end: str
    score: float | None
    passed: bool | None
    reason: str
    attempts: int
    seconds: float


@dataclass(frozen=True)
class AgentSummary:
    """One agent over all its trials. `counts` are exclusive and add up to `planned`."""

    agent: str
    planned: int
    counts: dict[str, int]
    pass_rate: float | None
    """passed / (passed + failed); None when nothing was graded."""
    mean_score: float | None
    """Over graded trials only (C-25)."""


@dataclass(frozen=True)
class Report:
    """A whole run. Equal records and plan give an equal report, byte for byte."""

    benchmark: str
    benchmark_version: str
    rows: tuple[Row, ...]
    counts: dict[str, int]
    agents: tuple[AgentSummary, ...]
    unenforced: tuple[str, ...]
    """Limits that could not be enforced in at least one trial."""
    exit_code: int

    @property
    def planned(self) -> int:
        return len(self.rows)


def summarise(records: Iterable[TrialRecord], plan: Plan) -> Report:
    """The report of a run. Records of trials outside the plan are ignored; the last attempt decides."""
    attempts: dict[str, dict[int, TrialRecord]] = {}
    for record in records:
        attempts.setdefault(record.trial, {})[record.attempt] = record
    rows = tuple(_row(job, list(attempts.get(job.trial, {}).values())) for job in plan.trials)
    return Report(
        benchmark=plan.benchmark,
        benchmark_version=plan.benchmark_version,
        rows=rows,
        counts=_counts(rows),
        agents=tuple(_agent(agent, [r for r in rows if r.agent == agent]) for agent in plan.agents),
        unenforced=tuple(sorted({u for tried in attempts.values() for r in tried.values() for u in r.unenforced})),
        exit_code=exit_code(rows),
    )


def as_json(report: Report) -> dict[str, Any]:
    """Plain values, in a fixed order."""
    return {
        "benchmark": report.benchmark,
        "benchmark_version": report.benchmark_version,
        "counts": {"planned": report.planned, **report.counts},
        "agents": [
            {
                "agent": a.agent,
                "planned": a.planned,
                **a.counts,
                "pass_rate": a.pass_rate,
                "mean_score": a.mean_score,
                "mean_grade": None if a.mean_score is None else 5 * a.mean_score,
            }
            for a in report.agents
        ],
        "trials": [
            {
                "trial": row.trial,
                "task": row.task,
                "agent": row.agent,
                "repeat": row.repeat,
                "status": row.status,
                "end": row.end,
                "score": row.score,
                "passed": row.passed,
                "reason": row.reason,
                "attempts": row.attempts,
                "seconds": row.seconds,
            }
            for row in report.rows
        ],
        "unenforced": list(report.unenforced),
        "exit_code": report.exit_code,
    }


def exit_code(rows: Sequence[Row]) -> int:
    """By fault owner, gravest first (C-9)."""
    found = {_owner(row) for row in rows}
    return next((code for code in PRECEDENCE if code in found), EXIT_OK)


def _owner(row: Row) -> int:
    if row.end == "interrupted":
        return EXIT_INTERRUPTED
    if row.status == "errored":
        return EXIT_HARNESS if row.end == "harness_error" else EXIT_INFRASTRUCTURE
    if row.status == "not_run":
        return EXIT_INFRASTRUCTURE
    return {"invalid": EXIT_AUTHOR, "failed": EXIT_FAILED}.get(row.status, EXIT_OK)


def _row(job: TrialJob, tried: list[TrialRecord]) -> Row:
    if not tried:
        return Row(job.trial, job.task, job.agent, job.repeat, "not_run", "", None, None, "never begun", 0, 0.0)
    last = max(tried, key=lambda record: (record.final, record.attempt))
    graded = last.status in ("passed", "failed")
    return Row(
        trial=job.trial,
        task=job.task,
        agent=job.agent,
        repeat=job.repeat,
        status=last.status,
        end=last.end,
        score=last.score if graded else None,
        passed=last.status == "passed" if graded else None,
        reason=last.reason,
        attempts=len(tried),
        seconds=last.seconds,
    )


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    return {status: sum(row.status == status for row in rows) for status in STATUSES}


def _agent(agent: str, rows: Sequence[Row]) -> AgentSummary:
    counts = _counts(rows)
    graded = counts["passed"] + counts["failed"]
    scores = [row.score for row in rows if row.score is not None]
    return AgentSummary(
        agent=agent,
        planned=len(rows),
        counts=counts,
        pass_rate=counts["passed"] / graded if graded else None,
        mean_score=sum(scores) / len(scores) if scores else None,
    )
