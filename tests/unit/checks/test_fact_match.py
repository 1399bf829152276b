"""fact_match: the share of listed facts that the text names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.checks.fact_match import FactMatchExecutor
from orchestrator.outcomes import CheckOutcome

FACTS = ["Paris", "the  Eiffel tower", "1889", "Straße"]
ROW = {"expected": {"facts": FACTS, "one": "Paris", "year": 1889, "none": [], "bad": ["x", None]}}


@pytest.fixture
def check(run: Callable[..., CheckOutcome]) -> Callable[..., CheckOutcome]:
    def execute(response: str | bytes, source: Any = "expected.facts", threshold: Any = 0.5) -> CheckOutcome:
        fields = {"kind": "fact_match", "source": source, "threshold": threshold}
        return run(FactMatchExecutor(), fields, response, row=ROW)

    return execute


def test_the_score_is_the_share_of_facts_found(check: Callable[..., CheckOutcome]) -> None:
    outcome = check("In PARIS stands\nThe Eiffel Tower.", threshold=0.5)

    assert (outcome.status, outcome.score) == ("passed", 0.5)
    assert outcome.reason == '2 of 4 facts found, not found: "1889", "Straße"; 0.5 wanted'


def test_below_its_threshold_it_fails_with_its_score(check: Callable[..., CheckOutcome]) -> None:
    outcome = check("In PARIS stands\nThe Eiffel Tower.", threshold=0.75)

    assert (outcome.status, outcome.score) == ("failed", 0.5)


def test_letters_fold_and_white_space_counts_once(check: Callable[..., CheckOutcome]) -> None:
    assert check("paris the eiffel\u00a0tower 1889 STRASSE", threshold=1).score == 1.0


def test_a_threshold_of_zero_is_zero(check: Callable[..., CheckOutcome]) -> None:
    assert check("", threshold=0).passed


def test_one_fact_may_stand_alone_and_numbers_are_text(check: Callable[..., CheckOutcome]) -> None:
    assert check("Paris!", "expected.one", 1).passed
    assert check("in 1889", "expected.year", 1).passed


@pytest.mark.parametrize(
    ("source", "threshold", "words"),
    [
        ("expected.gone", 0.5, "leads nowhere"),
        ("expected.none", 0.5, "is an empty list"),
        ("expected.bad", 0.5, "is empty (null)"),
        ("input", 0.5, "must begin with"),
        (None, 0.5, "must be text"),
        ("expected.facts", None, "threshold None"),
        ("expected.facts", 1.5, "threshold 1.5"),
        ("expected.facts", float("nan"), "threshold nan"),
        ("expected.facts", True, "threshold True"),
    ],
)
def test_an_authors_mistake_fails_the_check_and_is_named(
    check: Callable[..., CheckOutcome], source: Any, threshold: Any, words: str
) -> None:
    outcome = check("Paris", source, threshold)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert words in outcome.reason


def test_a_response_that_is_not_utf8_fails(check: Callable[..., CheckOutcome]) -> None:
    assert "not valid UTF-8" in check(b"Paris \xff", threshold=0).reason
