"""Whatever two texts: sacrebleu's score, from 0 to 1.

A silent pass would be a check that passes with a score that sacrebleu sees below its threshold.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from orchestrator.checks import chrf as counting
from orchestrator.checks.chrf import similarity
from orchestrator.checks.target import TargetMatchExecutor, chrf
from orchestrator.contract import Context

SCORER = CHRF()
EXECUTOR = TargetMatchExecutor()
UNICODE = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text("ab ", max_size=80),
    st.text("aéß日\U0001f600 \n\u00a0\u3000\u200b\x1c", max_size=80),
    st.text(UNICODE, max_size=80),
    st.tuples(st.text(UNICODE, min_size=1, max_size=9), st.integers(1, 400)).map(
        lambda both: both[0] * both[1]
    ),
)


def theirs(response: str, reference: str) -> float:
    return float(SCORER.sentence_score(response, [reference]).score) / 100


@settings(max_examples=80, deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 3000))
def test_it_is_sacrebleus_score(response: str, reference: str, piece: int) -> None:
    wanted = theirs(response, reference)
    kept, counting.PIECE = counting.PIECE, piece
    try:
        ours = similarity(response, reference)
    finally:
        counting.PIECE = kept

    assert 0 <= ours <= 1
    assert abs(ours - wanted) <= 1e-9
    assert abs(chrf(response, reference) - wanted) <= 1e-9


@settings(max_examples=50, deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.floats(0, 1))
def test_a_check_passes_by_sacrebleus_score_alone(
    response: str, references: list[str], threshold: float
) -> None:
    check = {"kind": "target_match", "reference_path": "expected.a", "mode": "chrf", "threshold": threshold}

    outcome = EXECUTOR.execute(check, response, Context({"expected": {"a": references}}))

    if not all(reference.strip() for reference in references):
        assert (outcome.status, outcome.score) == ("failed", 0.0)
        return
    best = max(theirs(response, reference) for reference in references)
    assert outcome.score is not None and abs(outcome.score - best) <= 1e-9
    if abs(best - threshold) > 2e-9:
        assert outcome.passed == (best > threshold)
