"""Percentiles, rates and drift (C-44; rules 192 to 194)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.calibrate import CheckRate, Sample, drift, propose, sample
from orchestrator.documents.record import AgentRecord, OutcomeRecord, TrialRecord, VerdictRecord
from orchestrator.documents.rubric import Rubric, Scoring


def record(score: float | None, agent: str = "mine", ref: str = "rubric/r@1.0") -> TrialRecord:
    status = "error" if score is None else ("passed" if score >= 0.5 else "failed")
    outcome = OutcomeRecord(
        id="", kind="regex", status=status, score=score, passed=score is not None and score >= 0.5, reason=""
    )
    verdict = VerdictRecord(
        rubric=ref,
        score=score,
        passed=None if score is None else score >= 0.5,
        reason="",
        outcomes=(outcome,),
    )
    return TrialRecord(
        trial="t",
        attempt=1,
        final=True,
        benchmark="b",
        benchmark_version="1",
        task="t",
        agent=AgentRecord(name=agent),
        repeat=1,
        status="errored" if score is None else ("passed" if score >= 0.5 else "failed"),
        end="graded",
        score=score,
        reason="",
        rubric_ref=ref,
        verdict=verdict,
        started_at="",
        seconds=0.0,
    )


def of(*scores: float) -> Sample:
    return sample([record(score) for score in scores], "rubric/r@1.0")


def rubric(version: str = "1.0", combine: str = "weighted_avg", **scoring: object) -> Rubric:
    checks = ({"kind": "regex", "id": "a"}, {"kind": "regex", "id": "b"})
    return Rubric(id="r", version=version, checks=checks, scoring=Scoring(combine=combine, **scoring))


def test_gold_noop_other_rubrics_and_trials_without_a_score_are_no_part_of_the_sample() -> None:
    records = [
        record(1.0, "gold"),
        record(0.0, "noop"),
        record(0.4),
        record(None),
        record(1.0, ref="rubric/s@1.0"),
    ]

    found = sample(records, "rubric/r@1.0")

    assert (found.scores, found.passed, found.left_out) == ((0.4,), 0, 1)
    assert sample(records, "rubric/r@1.0", ["gold"]).scores == (1.0,)
    assert found.checks == (CheckRate("regex", 0, 1, 0.4, (0, 0, 0, 0, 1, 0, 0, 0, 0, 0)),)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(0, 100))
def test_at_least_the_promised_share_meets_the_proposal(scores: list[float], percent: float) -> None:
    found = of(*scores)

    proposal = propose(found, percent=percent)

    assert 0 <= proposal.threshold <= found.percentile(percent) + 1e-9
    assert proposal.passing >= len(scores) * (1 - percent / 100) - 1
    assert found.percentile(0) == min(scores) and found.percentile(100) == max(scores)


@pytest.mark.parametrize(
    ("scores", "combine", "words"),
    [
        ([0.5, 0.7], "weighted_avg", "2 scores are fewer than 30"),
        ([0.5] * 40, "weighted_avg", "every score is 0.5"),
        ([0.0] * 20 + [1.0] * 20, "weighted_avg", "the proposed threshold is 0"),
        ([0.0] * 2 + [1.0] * 38, "all_pass", "all_pass does not use a threshold"),
    ],
)
def test_what_speaks_against_a_proposal_is_said(scores: list[float], combine: str, words: str) -> None:
    assert any(words in line for line in propose(of(*scores), rubric(combine=combine)).warnings)


def test_a_good_sample_draws_no_warning() -> None:
    assert propose(of(*(n / 40 for n in range(1, 41))), rubric()).warnings == ()


def test_without_a_score_nothing_is_proposed() -> None:
    with pytest.raises(ValueError, match="no score"):
        propose(of())


def test_every_score_is_in_the_histogram_once() -> None:
    assert of(0.0, 0.1, 0.3, 0.7, 0.999, 1.0).histogram == (1, 1, 0, 1, 0, 0, 0, 1, 0, 2)


def test_drift_of_scoring_is_told() -> None:
    old = rubric("1.0", threshold=0.5, weights={"a": 0.5, "b": 0.5})
    new = rubric("1.1", threshold=0.7, weights={"a": 0.8, "b": 0.2})

    told = drift(of(), of(), old, new)

    assert told == (
        "a went from 50% to 80% of the weight",
        "b went from 50% to 20% of the weight",
        "the threshold went from 0.5 to 0.7",
    )
    assert drift(of(), of(), old, old) == ()


def test_checks_that_come_and_go_are_told() -> None:
    old = rubric()
    new = old.model_copy(update={"checks": ({"kind": "regex", "id": "a"}, {"kind": "regex", "id": "c"})})

    assert drift(of(), of(), old, new) == (
        "b is gone; it had 50% of the weight",
        "c is new, with 50% of the weight",
    )


def test_rates_that_moved_by_chance_are_not_told() -> None:
    small, large = [1.0, 1.0, 0.0], [1.0] * 60 + [0.0] * 40

    assert drift(of(*small), of(0.0, 1.0, 0.0)) == ()
    assert drift(of(*large), of(*[1.0] * 62, *[0.0] * 38)) == ()
    assert any("from 60% to 90%" in line for line in drift(of(*large), of(*[1.0] * 90, *[0.0] * 10)))
