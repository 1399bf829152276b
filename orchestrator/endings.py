"""How an attempt ended: from a verdict, or from work that cannot be graded, to the record's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from orchestrator.combine import meets
from orchestrator.documents.record import ENDS, End, TrialRecord
from orchestrator.notebook import Notebook
from orchestrator.outcomes import HIGHEST_GRADE, CheckOutcome, Grade, Verdict, question_score
from orchestrator.worktree.patches import PatchError

SHOWN = 5
"""Checks that a trial's reason speaks of; the verdict has them all."""
_CHANGE_ENDS: dict[str, End] = {
    "empty": "change_empty",
    "invalid": "change_invalid",
    "refused": "change_refused",
    "does_not_apply": "change_does_not_apply",
}


def unusable(note: Notebook, error: PatchError) -> TrialRecord:
    """The agent's change cannot be graded: it failed, and no test was run."""
    return note.record("failed", _CHANGE_ENDS[error.kind], str(error))


def conclude(
    note: Notebook, verdict: Verdict | None, threshold: float, *, empty: bool = False, must_hold: bool = False
) -> TrialRecord:
    """The record of a graded attempt, from the rubric's verdict and the grades in `note`.

    Where rubric_checks alone grades, the verdict decides. Else the question score does: it passes from
    `threshold` (0 to 5) on. `must_hold`: the rubric is about work, not words: nothing passes without its
    verdict or against it, whatever graders say that read what the agent tells of itself.
    `empty`: the agent changed nothing, and a check looked at the work tree. That is graded like anything
    else, so that the tests speak, but it never passes: a state that needed no change proves nothing (B018).
    """
    if verdict is not None and verdict.errored:
        first = next(outcome for outcome in verdict.outcomes if outcome.status == "error")
        return note.record("errored", _end_of(first, "sandbox_error"), first.reason, verdict=verdict)
    if trouble := next((grade for grade in note.grades if grade.end), None):
        end = _word(trouble.end, "harness_error")
        return note.record("errored", end, f"{trouble.name}: {trouble.reason}", verdict=verdict)
    if note.verdict_decides:
        return _by_verdict(note, verdict, empty)
    return _by_grades(note, verdict, threshold, empty, must_hold)


def _by_verdict(note: Notebook, verdict: Verdict | None, empty: bool) -> TrialRecord:
    if verdict is None:
        return note.record("unscored", "nothing_executable", _why_unscored(note))
    if verdict.passed is None:
        return note.record("unscored", "nothing_executable", verdict.reason, verdict=verdict)
    if empty:
        return note.record(
            "failed", "change_empty", f"nothing was changed; {explain(verdict)}", verdict=verdict
        )
    if verdict.passed:
        return note.record("passed", "graded", explain(verdict), verdict=verdict)
    return note.record("failed", _cause(verdict), explain(verdict), verdict=verdict)


def _by_grades(
    note: Notebook, verdict: Verdict | None, threshold: float, empty: bool, must_hold: bool
) -> TrialRecord:
    """The mean over the graders that graded; a question that none graded is unscored (C-25)."""
    score = question_score(note.grades)
    if score is None:
        said = "; ".join(f"{grade.name}: {grade.reason}" for grade in note.grades)
        return note.record("unscored", "nothing_executable", said, verdict=verdict)
    told = f"question score {score:.4g} of 5, {threshold:g} wanted; {_explain_grades(note.grades)}"
    if empty:
        return note.record("failed", "change_empty", f"nothing was changed; {told}", verdict=verdict)
    if must_hold and (verdict is None or verdict.passed is None):
        told = f"no check of the rubric looked at the work; {told}"
        return note.record("unscored", "nothing_executable", told, verdict=verdict)
    if must_hold and verdict is not None and not verdict.passed:
        told = f"the rubric's verdict on the work failed; {told}"
        return note.record("failed", _cause(verdict), told, verdict=verdict)
    return note.record("passed" if meets(score, threshold) else "failed", "graded", told, verdict=verdict)


def _explain_grades(grades: Sequence[Grade]) -> str:
    """Who graded, the lowest first; full marks need no reason."""
    graded = sorted((g.score, g.name, g.reason) for g in grades if g.score is not None)
    return "; ".join(f"{n} {s:.4g}" + (f": {why}" if s < HIGHEST_GRADE else "") for s, n, why in graded)


def _cause(verdict: Verdict) -> End:
    """The end word of the first failed check that has one."""
    causes = [_end_of(outcome, "graded") for outcome in verdict.outcomes if outcome.status == "failed"]
    return next((word for word in causes if word != "graded"), "graded")


def explain(verdict: Verdict) -> str:
    """The verdict for people: what decided it, check by check, then what the combiner made of it.

    A pass is told by the checks that passed, anything else by those that failed. The combiner's own sentence
    is left out where it would only count them.
    """
    told = [o for o in verdict.outcomes if o.passed == bool(verdict.passed)]
    said = [f"{o.name}: {o.reason}" for o in told[:SHOWN]]
    if len(told) > SHOWN:
        said.append(f"and {len(told) - SHOWN} more")
    counted = verdict.skipped or verdict.score not in (0.0, 1.0) or not told
    return "; ".join([*said, verdict.reason] if counted else said)


def _end_of(outcome: CheckOutcome, otherwise: End) -> End:
    return _word(outcome.details.get("end"), otherwise)


def _word(word: object, otherwise: End) -> End:
    return cast(End, word) if word in ENDS else otherwise


def _why_unscored(note: Notebook) -> str:
    ref = note.facts.get("rubric_ref")
    if note.ref_unresolved:
        return (
            f"{ref} names no enabled rubric; only the task's own criteria are left, and no judge reads them"
        )
    if ref is None:
        return "no rubric"
    hint = "add graders: [rubric_checks] to the task"
    return f"{ref} is attached, but no grader of this task executes it; {hint}"
