"""What validating a benchmark by execution found. Mirrors schema/validation.schema.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["valid", "invalid", "flickering", "slow", "unknown"]
"""Of a task. invalid: it judges nobody rightly. flickering: equal runs end differently. slow: a run came
near its time limit. unknown: the machine failed, so nothing can be said."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tally(_Part):
    """How often one of the three states came out as it must."""

    rounds: int
    as_it_must: int
    words: str
    """For people: "fails 3/3", "passes 2/3"."""


class Flicker(_Part):
    """One test that equal runs answer differently."""

    check: str
    state: Literal["before", "gold"]
    test: str
    statuses: tuple[str, ...]
    """One for each run of that state, in order."""
    listed: bool
    """Whether the task's lists name it, or the task has no lists: only those decide."""


class Headroom(_Part):
    """The most that any run of the three states used, beside what it may use."""

    seconds: float
    """Of the slowest single command."""
    time_limit: float
    peak_memory: int | None
    """Bytes; None where the machine does not tell."""
    memory_limit: int


class Proposal(_Part):
    """Limits as the benchmark format writes them: twice the memory, five times the time of gold's runs."""

    memory: str | None
    oracle_time: str | None


class Evidence(_Part):
    """One trial's end, as its record says it."""

    trial: str
    status: str
    end: str
    reason: str
    said: str = ""
    """The last words of the command, where the record keeps them."""


class TaskValidation(_Part):
    task: str
    verdict: Verdict
    why: tuple[str, ...] = ()
    """A sentence for each thing that is wrong; empty when valid."""
    notes: tuple[str, ...] = ()
    """What an author should know although it changes no verdict."""
    before: Tally
    gold: Tally
    noop: Tally
    seconds: float
    """Of all its trials together."""
    headroom: Headroom | None = None
    """None when no command was run."""
    proposed: Proposal | None = None
    flicker: tuple[Flicker, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    """Of every trial that did not end as it must."""


class Validation(_Part):
    """The whole document."""

    schema_version: Literal["1"] = "1"
    benchmark: str
    benchmark_version: str
    proctor: str
    taken_at: str
    """ISO 8601, UTC."""
    provider: str
    rounds: int
    run: str
    """The run folder that holds every record and log."""
    counts: Mapping[str, int] = Field(default_factory=dict)
    """Tasks by verdict; adds up to the tasks looked at."""
    tasks: tuple[TaskValidation, ...] = ()
