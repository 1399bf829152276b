"""What a run is asked for, and what comes of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.agents import Agent
    from orchestrator.grading import ExecutorSet
    from orchestrator.report import Report
    from orchestrator.summary import RunSummary


@dataclass(frozen=True)
class Wish:
    """What was asked for. The defaults are the command line's."""

    benchmark: Path
    agents: tuple[str, ...]
    sandbox: str | None = None
    tasks: str | None = None
    repeats: int = 1
    slots: int = field(default_factory=lambda: os.cpu_count() or 1)
    retries: int = 2
    starts_per_second: float | None = None
    out: Path | None = None
    resume: bool = False
    allow_unlimited: bool = False
    config: Path | None = None
    rubrics: tuple[Path, ...] = ()
    executors: ExecutorSet = "all"
    quiet: bool = False
    telemetry: bool = False
    argv: tuple[str, ...] = ()
    quarantined: bool = False
    """Whether tasks of the benchmark's quarantine are run like any other."""
    tags: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    """More tasks that are kept apart, and why, beside the benchmark's quarantine."""
    made: Mapping[str, Agent] | None = None
    """Agents that are made already, by their specs; None makes them of `agents`."""
    only: frozenset[str] | None = None
    """Only these trials of the plan; None takes all."""
    regraded_from: str = ""
    """The id of the run whose kept work is graded again."""
    benchmark_id: str = ""
    """What the benchmark must be called; empty takes any."""


@dataclass(frozen=True)
class Result:
    """A run that ended, one way or the other."""

    folder: Path
    report: Report
    summary: RunSummary
    provider: str

    @property
    def exit_code(self) -> int:
        """The summary's, as the benchmark's gates leave it."""
        from orchestrator import gates

        results = self.report.gates
        return gates.exit_code(self.summary.exit_code, [r.gate for r in results], results)
