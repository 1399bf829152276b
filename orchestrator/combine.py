"""How the outcomes of a rubric's checks become one score and one verdict (rules 125 to 140).

Arithmetic is exact: each number is read as the decimal its author wrote, so the mean of 0, 0 and 0.6 is
0.2 and meets a threshold of 0.2.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES, Scoring
from orchestrator.errors import AuthoringError, Problem
from orchestrator.outcomes import CheckOutcome

TOLERANCE = 1e-9
"""How far below the threshold a score may lie and still meet it (C-38)."""


@dataclass(frozen=True)
class Combined:
    """One score for a rubric. `score` and `passed` are None when nothing was executed or a check errored."""

    score: float | None
    passed: bool | None
    reason: str


def combine(outcomes: Iterable[CheckOutcome], scoring: Scoring) -> Combined:
    """All outcomes of one rubric, skipped and errored ones too, as one result.

    Skipped checks take no part, but the reason counts them and names their kinds (rules 46 to 48, 139).
    One errored check leaves the whole without a score (C-9).

    Raises AuthoringError for a threshold or a weight that is no number it could use, and ValueError for an
    executed outcome whose score is not finite (C-34): outcomes made by `CheckOutcome` never are.

    >>> from orchestrator.outcomes import passed
    >>> combine([passed({"kind": "regex"}, "found")], Scoring(combine="all_pass")).score
    1.0
    """
    every = tuple(outcomes)
    _refuse_bad_scoring(scoring)
    executed = tuple(o for o in every if o.executed)
    scores = tuple(_number(o) for o in executed)
    errored = [o for o in every if o.status == "error"]
    skips = _skips(every)
    if errored:
        causes = "; ".join(f"{o.name}: {o.reason}" for o in errored)
        said = f"no score: {len(errored)} of {len(every)} checks could not run: {causes}"
        return Combined(None, None, said + skips)
    if not executed:
        return Combined(None, None, f"nothing executable{skips}")
    if scoring.combine in NUMERIC_MODES:
        score, passed, reason = _numeric(executed, scores, scoring)
    else:
        score, passed, reason = _by_flag(executed, scoring.combine)
    return Combined(score, passed, reason + skips)


def meets(score: float, threshold: float) -> bool:
    """Is `score` at least `threshold`, forgiving the last digits of floating point (rule 134, C-38)?

    >>> meets(0.1 + 0.2, 0.3), meets(0.0, 0), meets(0.49, 0.5)
    (True, True, False)
    """
    return score >= threshold - TOLERANCE


def grade(score: float | None) -> float | None:
    """The score on the grader's scale of 0 to 5 (rule 41, C-41). None stays None: a skip is not a zero."""
    return None if score is None else 5.0 * score


def _by_flag(executed: Sequence[CheckOutcome], mode: str) -> tuple[float, bool, str]:
    good = [o for o in executed if o.passed]
    passed = len(good) == len(executed) if mode == "all_pass" else bool(good)
    failed = ", ".join(o.name for o in executed if not o.passed)
    reason = f"{mode}: {len(good)} of {len(executed)} executed checks passed"
    if failed:
        reason += f" (failed: {failed})"
    return (1.0 if passed else 0.0), passed, reason


def _numeric(
    executed: Sequence[CheckOutcome], scores: Sequence[Fraction], scoring: Scoring
) -> tuple[float, bool, str]:
    threshold = DEFAULT_THRESHOLD if scoring.threshold is None else scoring.threshold
    if scoring.combine == "weighted_avg":
        weights = [_decimal(scoring.weights.get(o.check_id, 1) if o.check_id else 1) for o in executed]
        total = sum(weights)
        if total == 0:
            return 0.0, False, "weighted_avg: the weights of the executed checks sum to zero: score 0"
        exact = sum((w * s for w, s in zip(weights, scores, strict=True)), Fraction(0)) / total
    else:
        exact = _PICK[scoring.combine](scores)
    score = min(1.0, max(0.0, float(exact)))
    passed = meets(score, threshold)
    relation = "meets" if passed else "is below"
    plural = "check" if len(executed) == 1 else "checks"
    said = f"{scoring.combine} of {len(executed)} executed {plural}: {score:.4f} {relation} {threshold:g}"
    failed = ", ".join(o.name for o in executed if not o.passed)
    return score, passed, said + (f" (failed: {failed})" if failed else "")


def _median(scores: Sequence[Fraction]) -> Fraction:
    """The middle score; of an even count the mean of the middle two (C-37)."""
    ordered, half = sorted(scores), len(scores) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


_PICK: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {"min": min, "max": max, "median": _median}


def _skips(outcomes: Sequence[CheckOutcome]) -> str:
    """The part of a reason that names what was skipped, or nothing."""
    kinds = Counter(o.kind for o in outcomes if o.status == "skipped")
    if not kinds:
        return ""
    named = ", ".join(kind if n == 1 else f"{kind} x{n}" for kind, n in kinds.items())
    return f"; {kinds.total()} of {len(outcomes)} checks not executed: {named}"


def _number(outcome: CheckOutcome) -> Fraction:
    score = outcome.score
    if not _usable(score):
        raise ValueError(f"{outcome.name}: score {score!r} is not a finite number")
    return min(Fraction(1), max(Fraction(0), _decimal(score)))


def _decimal(number: Any) -> Fraction:
    """The decimal a float was written as: 0.6 is 3/5, not the binary fraction nearest to it."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def _usable(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)


def _refuse_bad_scoring(scoring: Scoring) -> None:
    """A second look at what the schema refuses, for callers who build a Scoring by hand (C-22, C-50)."""
    problems = []
    threshold = scoring.threshold
    if threshold is not None and not (_usable(threshold) and 0 <= threshold <= 1):
        problems.append(
            Problem("", 0, "scoring.threshold", f"{threshold!r} is not a number from 0 to 1", "write 0.5")
        )
    problems += [
        Problem("", 0, f"scoring.weights.{key}", f"{weight!r} is no weight", "write a finite number >= 0")
        for key, weight in scoring.weights.items()
        if not (_usable(weight) and weight >= 0)
    ]
    if scoring.combine not in (*_PICK, "weighted_avg", "all_pass", "any_pass"):
        problems.append(Problem("", 0, "scoring.combine", f"unknown mode {scoring.combine!r}"))
    if problems:
        raise AuthoringError(problems)
