"""The arithmetic of rubrics: modes, weights, thresholds, exactness (rules 125 to 140; case 22)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.combine import Combined, combine, grade, meets
from orchestrator.documents.rubric import NUMERIC_MODES, Scoring
from orchestrator.errors import AuthoringError
from orchestrator.outcomes import CheckOutcome, failed, passed, skipped

ROWS = json.loads((Path(__file__).parents[2] / "data/grading/scoring_edges.json").read_text())
MODES = ("all_pass", "any_pass", "weighted_avg", "min", "max", "median")


def scored(check_id: str, score: float, flag: bool | None = None) -> CheckOutcome:
    ok = score >= 0.5 if flag is None else flag
    return (passed if ok else failed)({"id": check_id, "kind": "probe"}, "", score)


def unguarded(check_id: str, score: float) -> CheckOutcome:
    """An outcome whose score got past its own guard."""
    outcome = scored(check_id, 1.0)
    object.__setattr__(outcome, "score", score)
    return outcome


def scoring_of(row: dict[str, Any]) -> Scoring:
    """Without pydantic's reading, which would take true for 1: as a careless caller builds it."""
    return Scoring.model_construct(
        combine=row["combine"], threshold=row.get("threshold"), weights=row.get("weights", {})
    )


@pytest.mark.parametrize("row", ROWS, ids=[r["name"] for r in ROWS])
def test_every_scoring_edge_comes_out_as_written(row: dict[str, Any]) -> None:
    outcomes = [unguarded(key, float(value)) for key, value in row["scores"].items()]
    outcomes += [skipped({"kind": kind}, "no executor") for kind in row.get("skipped", ())]
    expect = row["expect"]

    if expect.get("error"):
        with pytest.raises((AuthoringError, ValueError)):
            combine(outcomes, scoring_of(row))
        return
    result = combine(outcomes, scoring_of(row))

    assert (result.score, result.passed) == (expect["score"], expect["pass"])
    assert expect.get("reason_has", "") in result.reason


def test_all_pass_and_any_pass_go_by_the_pass_flag_and_not_by_the_score() -> None:
    outcomes = [scored("close", 0.85, flag=False), scored("sure", 0.1, flag=True)]

    assert combine(outcomes, Scoring(combine="all_pass")).score == 0.0
    assert combine(outcomes, Scoring(combine="any_pass")).score == 1.0
    assert combine(outcomes, Scoring(combine="max")).score == 0.85


@pytest.mark.parametrize(
    ("mode", "score"), [("min", 0.1), ("max", 0.9), ("median", 0.4), ("weighted_avg", 0.45)]
)
def test_the_numeric_modes_use_the_scores(mode: Any, score: float) -> None:
    outcomes = [scored("a", 0.9), scored("b", 0.1), scored("c", 0.3), scored("d", 0.5)]

    assert combine(outcomes, Scoring(combine=mode)).score == score


def test_a_weight_defaults_to_one_and_the_mean_divides_by_their_sum() -> None:
    outcomes = [scored("heavy", 1.0), scored("unlisted", 0.0), scored("", 0.0)]

    result = combine(outcomes, Scoring(combine="weighted_avg", weights={"heavy": 2, "": 50}))

    assert result.score == 0.5


def test_weights_that_sum_to_zero_never_pass_even_at_threshold_zero() -> None:
    result = combine([scored("a", 1.0)], Scoring(combine="weighted_avg", threshold=0, weights={"a": 0}))

    assert (result.score, result.passed) == (0.0, False)
    assert "zero" in result.reason


def test_a_weight_for_a_check_that_is_not_there_changes_nothing() -> None:
    outcomes = [scored("a", 1.0), scored("b", 0.0)]

    with_stray = combine(outcomes, Scoring(combine="weighted_avg", weights={"stray": 9}))

    assert with_stray.score == combine(outcomes, Scoring(combine="weighted_avg")).score == 0.5


def test_a_threshold_plays_no_part_in_all_pass() -> None:
    assert combine([scored("a", 1.0)], Scoring(combine="all_pass", threshold=1.0)).passed is True


def test_skipped_checks_are_left_out_and_the_reason_names_count_and_kinds() -> None:
    outcomes = [
        scored("a", 1.0),
        skipped({"kind": "llm_judge"}, "never"),
        skipped({"kind": "tool_usage"}, "no trajectory"),
    ]

    result = combine(outcomes, Scoring(combine="weighted_avg"))

    assert result.score == 1.0
    assert "2 of 3 checks not executed: llm_judge, tool_usage" in result.reason


def test_an_error_leaves_the_whole_rubric_without_a_score() -> None:
    error = CheckOutcome("build", "command", "error", None, "engine_gone: no answer")

    result = combine([scored("a", 1.0), error], Scoring(combine="any_pass"))

    assert (result.score, result.passed) == (None, None)
    assert "build: engine_gone" in result.reason


def test_an_executors_nan_fails_its_check_and_cannot_become_the_best_score() -> None:
    outcome = passed({"id": "n", "kind": "probe"}, "computed", math.nan)

    result = combine([outcome, scored("b", 0.2)], Scoring(combine="max"))

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert (result.score, result.passed) == (0.2, False)


def test_a_score_outside_the_scale_is_clamped_before_the_verdict() -> None:
    assert passed({"kind": "probe"}, "", 7.5).score == 1.0
    assert combine([unguarded("a", 7.5), unguarded("b", -3.0)], Scoring(combine="weighted_avg")).score == 0.5


def test_the_edge_of_the_threshold_is_met_in_spite_of_floating_point() -> None:
    assert meets(0.1 + 0.2, 0.3) and meets(0.3, 0.1 + 0.2)
    assert not meets(0.2999, 0.3)


def test_the_grade_is_five_times_the_score_and_a_skip_is_no_zero() -> None:
    assert grade(0.5) == 2.5
    assert grade(None) is None


def test_the_same_outcomes_always_give_the_same_result() -> None:
    outcomes = [scored(str(n), n / 7) for n in range(7)]

    assert len({combine(outcomes, Scoring(combine="median")) for _ in range(5)}) == 1


scores = st.lists(st.floats(0, 1), min_size=1, max_size=9)


@given(scores, st.sampled_from(MODES), st.data())
def test_any_mode_is_bounded_and_blind_to_the_order(values: list[float], mode: Any, data: Any) -> None:
    weights = {str(n): data.draw(st.floats(0, 100)) for n in range(len(values))}
    outcomes = [scored(str(n), value) for n, value in enumerate(values)]
    scoring = Scoring(combine=mode, weights=weights)

    result = combine(outcomes, scoring)
    again = combine(data.draw(st.permutations(outcomes)), scoring)

    assert result.score is not None and 0 <= result.score <= 1
    assert (result.score, result.passed) == (again.score, again.passed)


@given(scores, st.sampled_from(sorted(NUMERIC_MODES)), st.data())
def test_a_better_check_never_makes_a_rubric_worse(values: list[float], mode: Any, data: Any) -> None:
    position = data.draw(st.integers(0, len(values) - 1))
    better = list(values)
    better[position] = data.draw(st.floats(values[position], 1))

    before = combine([scored(str(n), v) for n, v in enumerate(values)], Scoring(combine=mode))
    after = combine([scored(str(n), v) for n, v in enumerate(better)], Scoring(combine=mode))

    assert before.score is not None and after.score is not None and after.score >= before.score


@given(st.lists(st.booleans(), min_size=1))
def test_all_pass_is_all_and_any_pass_is_any(flags: list[bool]) -> None:
    outcomes = [scored(str(n), float(flag), flag) for n, flag in enumerate(flags)]

    everything = combine(outcomes, Scoring(combine="all_pass"))
    anything = combine(outcomes, Scoring(combine="any_pass"))

    assert (everything.score, everything.passed) == (float(all(flags)), all(flags))
    assert (anything.score, anything.passed) == (float(any(flags)), any(flags))


@given(st.floats(0, 1), st.integers(1, 9))
def test_the_mean_of_equal_scores_is_that_score(score: float, count: int) -> None:
    outcomes = [scored(str(n), score) for n in range(count)]

    assert combine(outcomes, Scoring(combine="weighted_avg")).score == score


@given(st.sampled_from(MODES), st.sampled_from([math.nan, math.inf, -1.0, True, "1"]))
def test_a_weight_that_is_no_number_is_refused(mode: Any, weight: Any) -> None:
    scoring = Scoring.model_construct(combine=mode, threshold=None, weights={"a": weight})

    with pytest.raises(AuthoringError, match=r"scoring\.weights\.a"):
        combine([scored("a", 1.0)], scoring)


def test_nothing_at_all_is_unscored_and_no_zero() -> None:
    assert combine([], Scoring(combine="all_pass")) == Combined(None, None, "nothing executable")
