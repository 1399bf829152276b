"""What a check says, and what a rubric says: the values that executors, combiner and records share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["passed", "failed", "skipped", "error"]
"""passed, failed (candidate's or author's fault), skipped (non-executable), error (infrastructure)."""


Route = Literal["accept", "review"]


@dataclass(frozen=True)
class CheckOutcome:
    """One check's result (rules 141 to 147).

    `score` is 0..1 for passed and failed, None for skipped and error. A score that is not finite fails
    the check with score 0 and says so (C-34); a finite one outside 0..1 is clamped (rule 144).
    """

    check_id: str
    """May be empty (rule 56)."""
    kind: str
    status: Status
    score: float | None
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON-serialisable facts behind the reason: counts, findings, test tables, `end` words."""

    def __post_init__(self) -> None:
        if self.status in ("skipped", "error"):
            object.__setattr__(self, "score", None)
            return
        score = self.score
        if type(score) is float and 0.0 <= score <= 1.0:
            return  # nearly always, and an outcome is made for every check
        if score is None or isinstance(score, bool) or not math.isfinite(score):
            object.__setattr__(self, "score", 0.0)
            object.__setattr__(self, "status", "failed")
            object.__setattr__(
                self, "reason", f"score {score!r} is not a finite number; {self.reason}".rstrip("; ")
            )
        else:
            object.__setattr__(self, "score", min(1.0, max(0.0, float(score))))

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def executed(self) -> bool:
        return self.status in ("passed", "failed")

    @property
    def name(self) -> str:
        """For people: the id, or the kind when there is none."""
        return self.check_id or self.kind


def passed(check: Mapping[str, Any], reason: str, score: float = 1.0, **details: Any) -> CheckOutcome:
    """A passed outcome of `check`."""
    return CheckOutcome(str(check.get("id", "")), str(check["kind"]), "passed", score, reason, details)


def failed(check: Mapping[str, Any], reason: str, score: float = 0.0, **details: Any) -> CheckOutcome:
    """A failed outcome of `check`."""
    return CheckOutcome(str(check.get("id", "")), str(check["kind"]), "failed", score, reason, details)


def skipped(check: Mapping[str, Any], reason: str) -> CheckOutcome:
    """`check` was not executable."""
    return CheckOutcome(str(check.get("id", "")), str(check["kind"]), "skipped", None, reason)


@dataclass(frozen=True)
class Verdict:
    """One rubric's result over one response and its evidence (rules 43, 51, 225).

    `score` and `passed` are None when nothing executed: a skip, never a zero (rule 42).
    `errored` is True when any check ended in error; score and passed are None then, too (C-9).
    """

    rubric: str
    """The ref, "rubric/<id>@<version>"."""
    score: float | None
    passed: bool | None
    reason: str
    outcomes: tuple[CheckOutcome, ...]
    """Executed and errored checks, in listed order."""
    skipped: tuple[CheckOutcome, ...] = ()
    warnings: tuple[str, ...] = ()
    executors: str = "all"
    """Which set of executors was in force: "all" or "ai_eval" (C-4)."""

    @property
    def errored(self) -> bool:
        return any(o.status == "error" for o in self.outcomes)

    @property
    def route(self) -> Route | None:
        """Where the response goes by this verdict (rule 223): what did not clearly pass is for review, and
        what could not be judged for trouble of the machine goes nowhere."""
        if self.errored:
            return None
        return "accept" if self.passed else "review"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Text an agent can act on: one line per failed check (rule 180, C-46)."""
        return tuple(f"[{o.name}] {o.reason}" for o in self.outcomes if o.status == "failed")


HIGHEST_GRADE = 5.0


@dataclass(frozen=True)
class Grade:
    """What one grader says of a trial, on 0 to 5 (C-25, C-41)."""

    name: str
    """The grader's, as the task names it: "format", "judge:careful"."""
    score: float | None
    """None when there was nothing to grade, or when the grader could not do its work."""
    reason: str
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON-serialisable facts behind the reason."""
    end: str = ""
    """Why the grader could not do its work, an end word of the records. The trial has no score then (C-9)."""
    kept: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """What to keep beside the record, by file name: a judge's answer as it came."""

    def __post_init__(self) -> None:
        """Raises ValueError for a score that is none: a grader's fault is never a candidate's score."""
        if self.score is not None and not 0 <= self.score <= HIGHEST_GRADE:
            raise ValueError(f"the grader {self.name} gave the score {self.score!r}; it must be 0 to 5")


def question_score(grades: Iterable[Grade]) -> float | None:
    """The mean over the graders that graded; None when none did: a skip, never a zero (C-25, rule 215).

    >>> question_score([Grade("format", 5.0, ""), Grade("facts", 2.0, ""), Grade("tools", None, "")])
    3.5
    """
    scores = [grade.score for grade in grades if grade.score is not None]
    return math.fsum(scores) / len(scores) if scores else None
