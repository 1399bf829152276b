"""What a night consists of, and what is kept of it. `Nightly` mirrors schema/nightly.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.documents.scoring import Gate

REGRESSION = "regression"
"""The metric of a gate that is missed when a regression is confirmed."""


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NightBenchmark(_Document):
    """One benchmark of the night."""

    benchmark: str
    """A path relative to nightly.yaml, or the name of a shipped one."""
    tasks: str | None = None
    """Globs with commas between them; every task by default."""
    config: str | None = None
    """A proctor.yaml, relative to nightly.yaml."""


class Baseline(_Document):
    """What a night is held against, benchmark by benchmark."""

    policy: Literal["first", "previous", "last_passed", "pinned"] = "first"
    """first: the first finished night. previous: the one before. last_passed: the newest that passed its
    gates. pinned: `run`."""
    run: str | None = None
    """Of pinned: a run folder relative to nightly.yaml, a run's id, or a tag (its newest run of the
    benchmark)."""


class Confirm(_Document):
    """What it takes before a regression counts."""

    by: Literal["reruns", "nights", "nothing"] = "reruns"
    repeats: int = 3
    """Of reruns: trials of each task that turned, which replace the night's own."""
    k: int = 2
    of: int = 3
    """Of nights: tonight and k - 1 of the of - 1 nights before."""


class NightGate(_Document):
    """What a night must reach."""

    metric: str
    """regression, or a gate metric of benchmarks (pass_rate, mean_score, question_score, rubric:<id>)."""
    at_least: float | None = None
    """Not for regression."""
    kind: Literal["hard", "soft", "shadow"] = "hard"
    agent: str = "*"

    def plain(self) -> Gate:
        """As a benchmark's gate; not for regression."""
        return Gate(metric=self.metric, at_least=self.at_least or 0.0, kind=self.kind, agent=self.agent)


class Apart(_Document):
    """A task that is not run for a while."""

    task: str
    why: str
    benchmark: str | None = None
    """As it is listed under benchmarks; every one that has the task by default."""
    until: str | None = None
    """The last day (2026-12-31) it is kept apart; for good by default."""


class Retention(_Document):
    """Which nights' folders stay; the baseline's and tagged runs always do."""

    nights: int = 30


class Notify(_Document):
    """Who is told."""

    when: Literal["failure", "change", "always"] = "failure"
    """change: the exit code is another than that of the night before."""
    command: str | None = None
    """A shell command; gets the message as JSON on standard input."""
    webhook: str | None = None
    """A URL; gets the message as JSON by POST."""
    token_env: str | None = None
    """Of webhook: the environment variable that holds a bearer token."""


class Nightly(_Document):
    """nightly.yaml."""

    id: str
    benchmarks: tuple[NightBenchmark, ...]
    candidates: tuple[str, ...]
    """Agents as `proctor run --agent` takes them."""
    repeats: int = 3
    slots: int | None = None
    retries: int = 2
    sandbox: str | None = None
    runs: str = "nights"
    """The folder of the nights, relative to nightly.yaml."""
    at: str = "02:30"
    """When it is due, in the machine's own time."""
    level: float = 0.05
    """How often, at most, a night claims a regression where nothing changed."""
    baseline: Baseline = Baseline()
    confirm: Confirm = Confirm()
    gates: tuple[NightGate, ...] = (NightGate(metric=REGRESSION),)
    quarantine: tuple[Apart, ...] = ()
    retention: Retention = Retention()
    notify: tuple[Notify, ...] = ()
    file: Path = Field(exclude=True, repr=False)
    """The document itself; its folder is what paths are relative to."""

    @property
    def folder(self) -> Path:
        """What relative paths are relative to."""
        return self.file.parent

    @property
    def root(self) -> Path:
        """The folder of the nights."""
        return self.folder / self.runs


class NightRun(_Document):
    """One benchmark of one night."""

    benchmark: str
    """Its id."""
    folder: str
    """Relative to the folder of the nights."""
    run_id: str
    exit_code: int
    """The run's own, without its failed trials' (they are the gates' business)."""
    baseline: str | None = None
    """Id of the run it was held against; None when there was none."""


class Finding(_Document):
    """One candidate on one benchmark, against the baseline."""

    benchmark: str
    agent: str
    claim: str
    verdict: str
    suspected: bool
    """Whether the night's own trials claim a regression."""
    confirmed: bool
    rerun: str | None = None
    """Folder of the trials that were run again for it."""
    difference: float | None = None
    """Of the pass rate."""
    p_adjusted: float | None = None
    broken: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


class GateEnd(_Document):
    """One gate, for one candidate on one benchmark."""

    metric: str
    kind: str
    benchmark: str
    agent: str
    met: bool
    reason: str


class Night(_Document):
    """A finished night: one line of nights.jsonl."""

    schema_version: Literal["1"] = "1"
    nightly: str
    night: str
    """Its name: the day it was due, and a number where a day has several."""
    started: str
    finished: str
    """ISO 8601, UTC."""
    exit_code: int
    passed: bool
    """Whether no hard gate was missed and every run came to its end."""
    runs: tuple[NightRun, ...] = ()
    findings: tuple[Finding, ...] = ()
    gates: tuple[GateEnd, ...] = ()
    problems: tuple[str, ...] = ()
    """What kept it from being whole; a sentence each."""
    machine: Mapping[str, Any] = Field(default_factory=dict)
