"""A tiny benchmark, records, and attempts that do what a test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none

from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.plan import make
from orchestrator.run import execute
from orchestrator.store import RunHeader, Store
from orchestrator.summary import RunSummary
from sandboxes.fake import FakeProvider


@pytest.fixture
def benchmark(tmp_path: Path) -> Callable[..., Benchmark]:
    def build(*tasks: str | Task, **fields: Any) -> Benchmark:
        whole = tuple(task if isinstance(task, Task) else Task(id=task) for task in tasks)
        return Benchmark(**{"id": "demo", "version": "1.0", "tasks": whole, "root": tmp_path, **fields})

    return build


@pytest.fixture
def record() -> Callable[..., TrialRecord]:
    def build(
        trial: str = "t1.gold.1", attempt: int = 1, status: str = "passed", **fields: Any
    ) -> TrialRecord:
        defaults: dict[str, Any] = {
            "trial": trial,
            "attempt": attempt,
            "final": True,
            "benchmark": "demo",
            "benchmark_version": "1.0",
            "task": trial.split(".")[0],
            "agent": AgentRecord(name="gold"),
            "repeat": 1,
            "status": status,
            "end": "graded",
            "score": {"passed": 1.0, "failed": 0.0}.get(status),
            "reason": "",
            "rubric_ref": None,
            "started_at": "2026-01-01T00:00:00+00:00",
            "seconds": 0.1,
        }
        return TrialRecord(**{**defaults, **fields})

    return build


class Session:
    """One benchmark run again and again in one folder, with attempts that a test scripts."""

    def __init__(self, benchmark: Benchmark, out: Path) -> None:
        self.benchmark = benchmark
        self.out = out
        self.calls: list[tuple[str, int]] = []
        self.provider = FakeProvider()

    def run(self, attempt: Callable[..., TrialRecord], **options: Any) -> RunSummary:
        agents, repeats = options.pop("agents", ("gold",)), options.pop("repeats", 1)
        plan = make(self.benchmark, agents, repeats, inputs=options.pop("inputs", None))
        header = RunHeader.begin(self.benchmark.id, plan.to_json())
        opened = Store.resume if (self.out / "run.json").exists() else Store.create
        options.setdefault("wait", wait_none())

        def counted(job: Any, notebook: Any) -> TrialRecord:
            self.calls.append((job.task, notebook.attempt))
            return attempt(job, notebook)

        with opened(header, self.out) as store:
            return execute(
                plan,
                attempt=counted,
                benchmark=self.benchmark,
                provider=options.pop("provider", self.provider),
                store=store,
                **options,
            )


@pytest.fixture
def session(benchmark: Callable[..., Benchmark], tmp_path: Path) -> Callable[..., Session]:
    def build(*tasks: str | Task) -> Session:
        return Session(benchmark(*tasks), tmp_path / "run")

    return build
