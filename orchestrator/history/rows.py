"""What the index answers with: a run, a trial, a page of either; and how they stand in its tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import fsum
from pathlib import Path
from typing import Any, Generic, TypeVar

from orchestrator.history.facts import Delta, RunFacts, TrialFacts
from orchestrator.summary import STATUSES

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some of the rows that a question found."""

    rows: tuple[T, ...]
    total: int
    """How many there are in all."""
    offset: int = 0


@dataclass(frozen=True)
class RunRow:
    """One run, as lists show it."""

    run_id: str
    folder: Path
    host: str
    """Name of the machine on which `folder` is."""
    benchmark: str
    benchmark_version: str
    started: str
    """ISO 8601, UTC."""
    agents: tuple[str, ...]
    repeats: int
    provider: str
    machine: str
    """Name of the machine it ran on; empty where its header does not tell."""
    revision: str
    """Git commit of the benchmark's repository; empty outside one."""
    header: Mapping[str, Any]
    """versions, machine, git, argv and resumed, as run.json has them."""
    planned: int
    counts: Mapping[str, int]
    """By status; adds up to `planned`."""
    mean_score: float | None
    """Over graded trials, 0 to 1."""
    seconds: float
    """Of all trials together."""
    cost: float | None
    tags: tuple[str, ...] = ()

    @property
    def pass_rate(self) -> float | None:
        """passed / (passed + failed); None when nothing was graded."""
        graded = self.counts["passed"] + self.counts["failed"]
        return self.counts["passed"] / graded if graded else None


@dataclass(frozen=True)
class TrialRow:
    """One trial and the run it belongs to."""

    run_id: str
    number: int
    """Its place in the run's plan, from 0."""
    facts: TrialFacts


def of_run(run: RunFacts, host: str, stamp: str) -> dict[str, Any]:
    """A run's row, for its table."""
    header = run.header
    scores = [t.score for t in run.trials if t.score is not None]
    costs = [t.cost for t in run.trials if t.cost is not None]
    told = {"versions": dict(header.versions), "machine": dict(header.machine), "git": dict(header.git)}
    return {
        "run_id": header.run_id,
        "folder": str(run.folder.absolute()),
        "host": host,
        "stamp": stamp,
        "benchmark": run.plan.benchmark,
        "benchmark_version": run.plan.benchmark_version,
        "started": header.started,
        "agents": json.dumps(run.plan.agents),
        "repeats": run.plan.repeats,
        "provider": header.provider,
        "machine": header.machine.get("name", ""),
        "revision": header.git.get("revision", ""),
        "header": json.dumps({**told, "argv": header.argv, "resumed": header.resumed}),
        "planned": len(run.trials),
        **run.counts,
        "mean_score": fsum(scores) / len(scores) if scores else None,
        "seconds": fsum(t.seconds for t in run.trials),
        "cost": fsum(costs) if costs else None,
    }


def of_trials(run: RunFacts) -> Iterator[dict[str, Any]]:
    """The rows of its trials."""
    for number, trial in enumerate(run.trials):
        row = {name: getattr(trial, name) for name in TrialFacts.__slots__}
        checks = json.dumps(dict(trial.checks)) if trial.checks else "{}"
        deltas = json.dumps([asdict(delta) for delta in trial.deltas]) if trial.deltas else "[]"
        yield {**row, "run_id": run.run_id, "number": number, "checks": checks, "deltas": deltas}


def run_row(row: Any, tags: tuple[str, ...]) -> RunRow:
    """From its table."""
    return RunRow(
        run_id=row.run_id,
        folder=Path(row.folder),
        host=row.host,
        benchmark=row.benchmark,
        benchmark_version=row.benchmark_version,
        started=row.started,
        agents=tuple(json.loads(row.agents)),
        repeats=row.repeats,
        provider=row.provider,
        machine=row.machine,
        revision=row.revision,
        header=json.loads(row.header),
        planned=row.planned,
        counts={status: getattr(row, status) for status in STATUSES},
        mean_score=row.mean_score,
        seconds=row.seconds,
        cost=row.cost,
        tags=tags,
    )


def trial_row(row: Any) -> TrialRow:
    """From its table."""
    fields = {name: getattr(row, name) for name in TrialFacts.__slots__ if name not in ("checks", "deltas")}
    checks = {name: (status, score) for name, (status, score) in json.loads(row.checks).items()}
    deltas = tuple(
        Delta(d["check"], d["tool"], d["delta"], {rule: tuple(pair) for rule, pair in d["by_rule"].items()})
        for d in json.loads(row.deltas)
    )
    return TrialRow(row.run_id, row.number, TrialFacts(**fields, checks=checks, deltas=deltas))
