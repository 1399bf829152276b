"""The statistics: textbook values, and scipy.stats as a second opinion."""

from __future__ import annotations

import doctest
import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import surroundings
from orchestrator.history import claims, facts, pairing, statistics
from orchestrator.history.statistics import (
    bootstrap,
    clustered_mcnemar,
    detectable,
    fewest_tasks,
    holm,
    mcnemar,
    sign_test,
)


@pytest.mark.parametrize(
    "module", [statistics, claims, pairing, facts, surroundings], ids=lambda m: m.__name__
)
def test_the_examples_of_a_module_run(module: object) -> None:
    results = doctest.testmod(module)  # type: ignore[arg-type]

    assert results.attempted and results.failed == 0


@pytest.mark.parametrize(
    ("broken", "fixed", "p_value"),
    [
        (150, 86, 3.716e-05),  # approval of a minister, asked twice (Agresti)
        (59, 121, 4.434e-06),  # the pair of counts in the manual of statsmodels
        (8, 1, 0.0390625),  # 20 / 512
        (5, 0, 0.0625),
        (6, 0, 0.03125),
        (4, 4, 1.0),
        (0, 0, 1.0),
    ],
)
def test_mcnemar_gives_the_values_that_are_known(broken: int, fixed: int, p_value: float) -> None:
    assert mcnemar(broken, fixed) == pytest.approx(p_value, rel=1e-3)
    assert mcnemar(fixed, broken) == mcnemar(broken, fixed)


@given(st.integers(0, 300), st.integers(0, 300))
@settings(max_examples=60, deadline=None)
def test_mcnemar_agrees_with_scipy_and_with_counting(broken: int, fixed: int) -> None:
    from scipy.stats import binomtest

    both = broken + fixed
    counted = sum(comb(both, k) for k in range(min(broken, fixed) + 1)) * 2 / 2**both

    assert mcnemar(broken, fixed) == pytest.approx(min(1.0, counted), rel=1e-9)
    if both:
        assert mcnemar(broken, fixed) == pytest.approx(binomtest(broken, both).pvalue, rel=1e-9)


@given(st.lists(st.integers(-4, 4), max_size=12))
@settings(max_examples=80, deadline=None)
def test_the_clustered_test_is_the_share_of_all_signs_that_are_as_extreme(differences: list[int]) -> None:
    changed = [abs(d) for d in differences if d]
    sums = [
        abs(sum(s * d for s, d in zip(signs, changed, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(changed))
    ]
    extreme = sum(total >= abs(sum(differences)) for total in sums) / len(sums)

    assert clustered_mcnemar(differences) == pytest.approx(extreme, abs=1e-9)
    assert sign_test([float(d) for d in differences]) == pytest.approx(extreme, abs=1e-9)


@given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 20), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_with_one_repeat_or_repeats_that_always_agree_it_is_mcnemars_test_by_task(
    broken: int, fixed: int, same: int, repeats: int
) -> None:
    differences = [-repeats] * broken + [repeats] * fixed + [0] * same

    assert clustered_mcnemar(differences) == pytest.approx(mcnemar(broken, fixed), rel=1e-9)


def test_repeats_that_agree_are_not_counted_as_evidence_again() -> None:
    """Three tasks broke, in all of their three repeats: nine pairs, three pieces of evidence."""
    assert mcnemar(9, 0) < 0.01
    assert clustered_mcnemar([-3, -3, -3]) == 0.25


def test_the_random_signs_come_near_the_exact_answer() -> None:
    random = np.random.default_rng(5)
    differences = [int(d) for d in random.integers(-3, 3, size=80)]

    assert sign_test([float(d) for d in differences]) == pytest.approx(
        clustered_mcnemar(differences), abs=0.015
    )


def test_the_interval_is_the_one_scipy_finds() -> None:
    from scipy.stats import bootstrap as reference

    random = np.random.default_rng(3)
    scores = random.normal(0.1, 0.4, size=300)
    few = random.choice([-1.0, -0.5, 0.0, 0.0, 0.0, 0.5], size=150)

    for sample in (scores, few):
        known = reference((sample,), np.mean, method="percentile", n_resamples=9999, rng=1)
        ours = bootstrap([float(x) for x in sample])

        assert ours is not None
        assert ours.mean == pytest.approx(sample.mean())
        assert ours.low == pytest.approx(known.confidence_interval.low, abs=0.004)
        assert ours.high == pytest.approx(known.confidence_interval.high, abs=0.004)


def test_of_a_hundred_intervals_about_ninety_five_hold_the_true_value() -> None:
    random = np.random.default_rng(11)
    samples = random.choice([-1.0, 0.0, 1.0], p=[0.15, 0.65, 0.2], size=(300, 60))
    found = [bootstrap([float(x) for x in sample]) for sample in samples]

    held = sum(i is not None and i.low <= 0.05 <= i.high for i in found)

    assert 0.91 <= held / 300 <= 0.98


def test_equal_input_gives_equal_output_and_no_task_gives_no_interval() -> None:
    differences = [0.1, -0.4, 0.3, 0.25, 0.0, 0.9]

    assert bootstrap(differences) == bootstrap(differences)
    assert bootstrap([]) is None
    assert sign_test([]) == clustered_mcnemar([]) == 1.0


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_value_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)

    assert all(a >= p for a, p in zip(adjusted, values, strict=True))
    in_order = [adjusted[n] for n in sorted(range(len(values)), key=lambda n: values[n])]
    assert in_order == sorted(in_order)


@pytest.mark.parametrize("broken", [-1, -3])
def test_the_fewest_tasks_are_the_first_number_that_makes_a_claim(broken: int) -> None:
    for level in (0.05, 0.01, 0.1):
        fewest = fewest_tasks(level)

        assert clustered_mcnemar([broken] * fewest) <= level < clustered_mcnemar([broken] * (fewest - 1))


def test_what_is_called_detectable_is_seen_four_times_of_five() -> None:
    """A true change of that size, simulated: claimed in about 80 of 100 runs."""
    random = np.random.default_rng(17)
    tasks, chance = 200, 0.2
    split = [chance / 2, 1 - chance, chance / 2]
    least = detectable([float(x) for x in random.choice([-1.0, 0.0, 1.0], p=split, size=tasks)])
    assert least is not None
    worse, better = chance / 2 + least / 2, chance / 2 - least / 2
    moved = random.random((400, tasks))

    gained = np.where(moved < worse, -1, np.where(moved > 1 - better, 1, 0))
    seen = np.mean([clustered_mcnemar([int(x) for x in row]) <= 0.05 for row in gained])

    assert 0.7 <= seen <= 0.9
