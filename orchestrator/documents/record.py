"""What is kept of every attempt. Mirrors schema/record.schema.json; one JSON line each in records.jsonl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = "1"

TrialStatus = Literal["passed", "failed", "unscored", "errored", "invalid", "not_run"]
"""Exclusive, and they add up to the trials planned.

passed/failed: graded. unscored: nothing executable. errored: infrastructure or our own bug, no score.
invalid: the task is wrong, not the agent. not_run: planned, never begun or interrupted.
"""

End = Literal[
    "graded",
    "nothing_executable",
    "change_empty",
    "change_invalid",
    "change_refused",
    "change_does_not_apply",
    "task_invalid",
    "quarantined",
    "setup_failed",
    "agent_failed",
    "limit_hit:time",
    "limit_hit:memory",
    "limit_hit:pids",
    "limit_hit:disk",
    "limit_hit:output",
    "missing_binary",
    "analyzer_error",
    "nothing_ran",
    "run_incomplete",
    "report_unreadable",
    "sandbox_error",
    "engine_gone",
    "provision_failed",
    "sandbox_lost",
    "stream_broken",
    "image_unavailable",
    "limit_unenforceable",
    "evicted",
    "interrupted",
    "not_kept",
    "judge_unreachable",
    "judge_unusable",
    "harness_error",
]
"""The one list of end words (C-9). A trial's `end`, and an outcome's details["end"], come from it."""
ENDS: tuple[str, ...] = get_args(End)


HIGHEST_SCORE = 1
HIGHEST_POINTS = 5
Score = Annotated[float, Field(ge=0, le=HIGHEST_SCORE, allow_inf_nan=False)]
Points = Annotated[float, Field(ge=0, le=HIGHEST_POINTS, allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PhaseTime(_Record):
    """One phase of an attempt: prepare, provision, setup, act, capture, grade, ..."""

    phase: str
    started: float
    """Seconds since the attempt began (monotonic)."""
    seconds: float
    peak_memory: int | None = None
    cpu_seconds: float | None = None
    throttled_seconds: float | None = None
    """How long its commands had to wait because their share of the processor was used up."""


class OutcomeRecord(_Record):
    """How one check of the rubric came out, and why."""

    id: str
    kind: str
    status: Literal["passed", "failed", "skipped", "error"]
    score: float | None
    passed: bool | None
    reason: str
    details: Mapping[str, Any] = Field(default_factory=dict)


class VerdictRecord(_Record):
    """What the rubric made of its checks' outcomes."""

    rubric: str
    score: float | None
    passed: bool | None
    reason: str
    outcomes: tuple[OutcomeRecord, ...]
    skipped: tuple[OutcomeRecord, ...] = ()
    warnings: tuple[str, ...] = ()
    executors: str = "all"
    route: Literal["accept", "review"] | None = None
    """Where the response goes by this verdict: review unless it passed; null when there is none to go by, and
    in records of older versions."""


class GradeRecord(_Record):
    """One grader's grade, on 0 to 5."""

    name: str
    score: float | None
    reason: str
    details: Mapping[str, Any] = Field(default_factory=dict)
    end: str = ""
    """Why the grader could not do its work; empty when it could."""


class ChangeRecord(_Record):
    """The agent's change. The bytes lie beside the record in `artifacts`."""

    sha256: str
    bytes: int
    files: tuple[str, ...]
    mended: tuple[str, ...] = ()
    """Recorded repairs, such as "added_final_newline", with both hashes in `artifacts`."""
    touched_protected: tuple[str, ...] = ()


class AgentRecord(_Record):
    """Who did the work, and how that ended."""

    name: str
    """As given: "gold", "command:...", "predictions:FILE"."""
    model: str | None = None
    ended: str = "finished"
    """finished, failed, limit_hit:<which>: graded all the same (B133)."""
    exit_code: int | None = None
    usage: Mapping[str, Any] = Field(default_factory=dict)
    """Tokens, cost, calls: whatever the agent reported."""
    note: str = ""
    """A sentence about its end, or about what it handed in."""


class TrialRecord(_Record):
    """One attempt of one trial, whole. Written once, never changed."""

    schema_version: str = SCHEMA_VERSION
    trial: str
    """Id of the trial in its run: "<task>/<agent>/<repeat>", made safe for file names."""
    attempt: int
    """1-based."""
    final: bool
    """False for an infrastructure failure that was tried again."""
    benchmark: str
    benchmark_version: str
    task: str
    agent: AgentRecord
    repeat: int
    status: TrialStatus
    end: End
    score: Score | None
    reason: str
    rubric_ref: str | None
    ref_unresolved: bool = False
    verdict: VerdictRecord | None = None
    grades: tuple[GradeRecord, ...] = ()
    """Of every grader of the task, in its order."""
    question_score: Points | None = None
    """The mean of the grades, on 0 to 5; only of passed and failed trials. `score` is a fifth of it, or the
    verdict's where rubric_checks alone grades."""
    change: ChangeRecord | None = None
    response_sha256: str | None = None
    started_at: str
    """ISO 8601, UTC."""
    seconds: Annotated[float, Field(allow_inf_nan=False)]
    phases: tuple[PhaseTime, ...] = ()
    provider: str = ""
    unenforced: tuple[str, ...] = ()
    digests: Mapping[str, str] = Field(default_factory=dict)
    """Of every input: task, source, state, image, change, rubric, proctor."""
    artifacts: Mapping[str, str] = Field(default_factory=dict)
    """Name -> path relative to the run folder (change.patch, response.txt, oracle logs, trajectory)."""
    error: str | None = None
    """Traceback or the engine's own words; for people."""
