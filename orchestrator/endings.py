"""How an attempt ended: from a verdict, or from work that cannot be graded, to the record's words."""

from __future__ import annotations

from typing import cast

from orchestrator.documents.record import ENDS, End, TrialRecord
from orchestrator.notebook import Notebook
from orchestrator.outcomes import CheckOutcome, Verdict
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


def conclude(note: Notebook, verdict: Verdict | None, *, empty: bool) -> TrialRecord:
    """The record of a graded attempt.

    `empty`: the agent changed nothing, and a check looked at the work tree. That is graded like anything
    else, so that the tests speak, but it never passes: a state that needed no change proves nothing (B018).
    """
    if verdict is None:
        return note.record("unscored", "nothing_executable", _why_unscored(note))
    if verdict.errored:
        first = next(outcome for outcome in verdict.outcomes if outcome.status == "error")
        return note.record("errored", _end_of(first, "sandbox_error"), first.reason, verdict=verdict)
    if verdict.passed is None:
        return note.record("unscored", "nothing_executable", verdict.reason, verdict=verdict)
    if empty:
        return note.record(
            "failed", "change_empty", f"nothing was changed; {explain(verdict)}", verdict=verdict
        )
    if verdict.passed:
        return note.record("passed", "graded", explain(verdict), verdict=verdict)
    causes = [_end_of(outcome, "graded") for outcome in verdict.outcomes if outcome.status == "failed"]
    end: End = next((word for word in causes if word != "graded"), "graded")
    return note.record("failed", end, explain(verdict), verdict=verdict)


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
    word = outcome.details.get("end")
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
