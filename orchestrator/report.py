"""What a run found, in a form people and machines can read. Pure: built from records and the plan alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import gates
from orchestrator.confidence import Interval, interval
from orchestrator.documents.record import TrialRecord
from orchestrator.gates import GateResult
from orchestrator.plan import Plan, TrialJob
from orchestrator.summary import STATUSES, Standing
from orchestrator.summary import summarise as sum_up


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
    question_score: float | None = None
    """On 0 to 5: the mean of its graders."""


HEADLINE_COVERAGE = 0.9
"""Below this coverage people are shown no rates of an agent; documents for machines have both."""


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
    empty: int = 0
    """Graded trials in which it changed nothing."""
    interval: Interval | None = None
    """What its pass rate may well be for tasks of this kind (95 %); None when nothing was graded."""

    @property
    def coverage(self) -> float | None:
        """The share of its trials that came to an end of their own: neither errored nor not run. None without
        any trial."""
        lost = self.counts["errored"] + self.counts["not_run"]
        return 1 - lost / self.planned if self.planned else None

    @property
    def headline(self) -> bool:
        """Whether its rates may be shown: where too much was lost they would say more about the machine than
        about the agent."""
        return self.coverage is not None and self.coverage >= HEADLINE_COVERAGE


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
    gates: tuple[GateResult, ...] = ()
    rubrics: tuple[str, ...] = ()
    """What the rubrics' verdicts were warned of, and refs that named nothing, each once (C-24, C-30)."""

    @property
    def planned(self) -> int:
        return len(self.rows)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the rates doubtful: an agent too many of whose trials were lost, or most of whose
        changes are empty (B018). Then the soft gates that were missed."""
        lost = (_withheld(agent) for agent in self.agents if agent.planned and not agent.headline)
        doubts = (*lost, *(_doubt(agent) for agent in self.agents if _mostly_empty(agent)))
        soft = (f"soft gate: {g.reason}" for g in self.gates if g.gate.kind == "soft" and not g.met)
        return (*doubts, *self.rubrics, *soft)


def summarise(records: Iterable[TrialRecord], plan: Plan) -> Report:
    """The report of a run; of each trial the last final attempt counts, or where none is final its last.

    Records of trials outside the plan are ignored. Holds one record per trial in memory.
    """
    planned = {job.trial for job in plan.trials}
    latest: dict[str, TrialRecord] = {}
    tries: dict[str, set[int]] = {}
    unenforced: set[str] = set()
    for record in records:
        if record.trial not in planned:
            continue
        tries.setdefault(record.trial, set()).add(record.attempt)
        unenforced.update(record.unenforced)
        held = latest.get(record.trial)
        if held is None or (record.final, record.attempt) > (held.final, held.attempt):
            latest[record.trial] = record
    rows = tuple(_row(job, latest.get(job.trial), len(tries.get(job.trial, ()))) for job in plan.trials)
    found = {trial: Standing.of(record) for trial, record in latest.items()}
    summary = sum_up((job.trial for job in plan.trials), found)
    results = gates.evaluate(plan.gates, plan.agents, latest)
    return Report(
        benchmark=plan.benchmark,
        benchmark_version=plan.benchmark_version,
        rows=rows,
        counts=dict(summary.counts),
        agents=tuple(_agent(agent, [r for r in rows if r.agent == agent]) for agent in plan.agents),
        unenforced=tuple(sorted(unenforced)),
        exit_code=gates.exit_code(summary.exit_code, plan.gates, results),
        gates=results,
        rubrics=tuple(sorted(set(_said_of_rubrics(latest.values())))),
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
                "coverage": a.coverage,
                "pass_rate": a.pass_rate,
                "pass_rate_interval": None if a.interval is None else [a.interval.low, a.interval.high],
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
                "question_score": row.question_score,
            }
            for row in report.rows
        ],
        "gates": [
            {
                **result.gate.model_dump(),
                "agent": result.agent,
                "value": result.value,
                "trials": result.trials,
                "met": result.met,
            }
            for result in report.gates
        ],
        "unenforced": list(report.unenforced),
        "warnings": list(report.warnings),
        "exit_code": report.exit_code,
    }


def _row(job: TrialJob, record: TrialRecord | None, attempts: int) -> Row:
    about = (job.trial, job.task, job.agent, job.repeat)
    if record is None:
        return Row(*about, "not_run", "", None, None, "never begun", 0, 0.0)
    status = record.status if record.final else "not_run"
    graded = status in ("passed", "failed")
    return Row(
        *about,
        status=status,
        end=record.end,
        score=record.score if graded else None,
        passed=status == "passed" if graded else None,
        reason=record.reason,
        attempts=attempts,
        seconds=record.seconds,
        question_score=record.question_score if graded else None,
    )


def _said_of_rubrics(records: Iterable[TrialRecord]) -> Iterator[str]:
    for record in records:
        if record.ref_unresolved:
            yield f"{record.rubric_ref} names no enabled rubric: {record.task} was graded without it"
        if record.verdict is not None:
            about = f"{record.verdict.rubric}: "
            yield from (w if w.startswith("rubric/") else about + w for w in record.verdict.warnings)


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
        empty=sum(row.end == "change_empty" and row.passed is not None for row in rows),
        interval=interval((row.task, row.passed) for row in rows if row.passed is not None),
    )


def _mostly_empty(agent: AgentSummary) -> bool:
    """Half of at least four; noop is meant to be."""
    graded = agent.counts["passed"] + agent.counts["failed"]
    return agent.agent != "noop" and graded >= 4 and 2 * agent.empty >= graded


def _withheld(agent: AgentSummary) -> str:
    lost = agent.counts["errored"] + agent.counts["not_run"]
    return (
        f"{agent.agent}: {lost} of {agent.planned} trials errored or were not run; with less than "
        f"{HEADLINE_COVERAGE:.0%} covered no rate is shown: go on with --resume"
    )


def _doubt(agent: AgentSummary) -> str:
    graded = agent.counts["passed"] + agent.counts["failed"]
    return (
        f"{agent.agent} changed nothing in {agent.empty} of {graded} graded trials: "
        "see whether its changes were lost on the way before trusting its rate"
    )
