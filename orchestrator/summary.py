"""What a run amounts to: exclusive counts that add up to the trials planned, and one exit code. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from orchestrator.documents.record import TrialRecord, TrialStatus
from orchestrator.errors import (
    EXIT_AUTHOR,
    EXIT_FAILED,
    EXIT_HARNESS,
    EXIT_INFRASTRUCTURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
)

STATUSES: tuple[TrialStatus, ...] = get_args(TrialStatus)
PRECEDENCE = (EXIT_INTERRUPTED, EXIT_HARNESS, EXIT_INFRASTRUCTURE, EXIT_AUTHOR, EXIT_FAILED, EXIT_OK)
"""The gravest owner in a run decides its exit code (C-9)."""
KEPT = frozenset({"passed", "failed", "unscored", "invalid"})
"""A resumed run does not run these again; trouble that was nobody's score (errored, not_run), it does."""


@dataclass(frozen=True)
class Standing:
    """How a trial stands: what a run must remember of it. Small, so that memory stays flat."""

    status: TrialStatus
    end: str
    attempt: int
    final: bool
    digest: str
    """Of the inputs it was run with."""
    highest: int = 0
    """The highest number among all attempts of the trial."""

    @classmethod
    def of(cls, record: TrialRecord) -> Standing:
        digest = record.digests.get("inputs", "")
        return cls(record.status, record.end, record.attempt, record.final, digest, record.attempt)

    @property
    def owner(self) -> int:
        """The exit code of whoever can mend this end (see orchestrator.errors)."""
        if self.end == "interrupted":
            return EXIT_INTERRUPTED
        if self.end == "harness_error":
            return EXIT_HARNESS
        if self.end == "quarantined":
            return EXIT_OK  # known, listed, and kept apart: nobody's move
        by_status = {"errored": EXIT_INFRASTRUCTURE, "not_run": EXIT_INFRASTRUCTURE, "invalid": EXIT_AUTHOR}
        return by_status.get(self.status, EXIT_FAILED if self.status == "failed" else EXIT_OK)


NEVER_BEGUN = Standing("not_run", "", 0, False, "")


@dataclass(frozen=True)
class RunSummary:
    """`counts` has every status and adds up to `planned`."""

    planned: int
    counts: Mapping[str, int]
    exit_code: int
    interrupted: bool = False
    kept: int = 0
    """Results taken over from before a resume; counted above like the others."""
    gave_up: str = ""
    """Why no more trials were started, when it was not the user who stopped them."""

    @property
    def pass_rate(self) -> float | None:
        """passed / (passed + failed); None when nothing was graded."""
        graded = self.counts["passed"] + self.counts["failed"]
        return self.counts["passed"] / graded if graded else None


def standings(records: Iterable[TrialRecord]) -> dict[str, Standing]:
    """How each trial stands: its last final attempt, or where none is final its last one."""
    found: dict[str, Standing] = {}
    for record in records:
        new, held = Standing.of(record), found.get(record.trial)
        if held is not None:
            counts = (new.final, new.attempt) > (held.final, held.attempt)
            new = replace(new if counts else held, highest=max(new.attempt, held.highest))
        found[record.trial] = new
    return found


def summarise(
    trials: Iterable[str],
    found: Mapping[str, Standing],
    *,
    interrupted: bool = False,
    kept: int = 0,
    gave_up: str = "",
) -> RunSummary:
    """Over the planned trials; one without a final attempt was not run, whatever its attempts were."""
    counts: Counter[str] = Counter()
    owners = {EXIT_INTERRUPTED} if interrupted else set()
    for trial in trials:
        standing = found.get(trial, NEVER_BEGUN)
        counts[standing.status if standing.final else "not_run"] += 1
        owners.add(standing.owner)
    return RunSummary(
        planned=counts.total(),
        counts={status: counts[status] for status in STATUSES},
        exit_code=next((code for code in PRECEDENCE if code in owners), EXIT_OK),
        interrupted=interrupted,
        kept=kept,
        gave_up=gave_up,
    )
