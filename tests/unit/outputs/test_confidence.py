from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.confidence import interval

OUTCOMES = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("passed", "of", "low", "high"),
    # Wilson's interval without continuity correction, as textbooks have it
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_the_interval_is_wilsons(passed: int, of: int, low: float, high: float) -> None:
    found = interval((f"t{n}", n < passed) for n in range(of))

    assert found is not None
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_repeats_that_always_agree_are_worth_one_trial_each_task() -> None:
    once = interval([("a", True), ("b", False), ("c", True), ("d", False)])
    often = interval([("a", True), ("b", False), ("c", True), ("d", False)] * 50)

    assert once is not None and often is not None
    assert often.effective == pytest.approx(4)
    assert often.high - often.low == pytest.approx(once.high - once.low, abs=0.01)


def test_repeats_that_differ_by_chance_are_worth_nearly_all_their_trials() -> None:
    alternating = [(task, n % 2 == 0) for task in "abcdefgh" for n in range(10)]

    found = interval(alternating)

    assert found is not None
    assert found.effective == 80


def test_nothing_graded_has_no_interval() -> None:
    assert interval([]) is None


@given(OUTCOMES)
def test_an_interval_holds_its_rate_and_never_counts_more_than_there_is(
    outcomes: list[tuple[str, bool]],
) -> None:
    found = interval(outcomes)

    assert found is not None
    assert 0 <= found.low <= found.rate <= found.high <= 1
    assert found.tasks <= found.effective <= found.trials
