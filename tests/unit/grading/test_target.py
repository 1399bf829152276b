"""target_match and the dot-path it uses (rules 70 to 86; C-21, C-32, C-33, C-51)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from orchestrator.checks.paths import PathError, resolve
from orchestrator.checks.target import BEGINNING, TargetMatchExecutor, chrf, normalized
from orchestrator.contract import Context
from orchestrator.outcomes import CheckOutcome

ROW = {
    "expected": {
        "one": "Hello  World",
        "several": ["first answer", "second answer"],
        "number": 42,
        "float": 1.0,
        "flag": True,
        "null": None,
        "blank": " \n\t",
        "none": [],
        "nested": [["a"]],
        "map": {"a": "b"},
        "bad": ["fine", None],
        "surrogate": "a\ud800",
        "bytes": b"\xff",
        "nan": math.nan,
    },
    "metadata": {"title": "T", "0": "zero"},
}


def judged(response: str | bytes, path: Any = "expected.one", **more: Any) -> CheckOutcome:
    check = {"kind": "target_match", "reference_path": path} | more
    return TargetMatchExecutor().execute(check, response, Context(ROW))


def test_normalized_is_the_default_and_minds_only_letters_and_single_spaces() -> None:
    assert judged(" hello\u00a0WORLD\n").passed
    assert not judged("hello world!").passed


@given(
    st.integers(BEGINNING - 4, BEGINNING + 2),
    st.sampled_from(["", " ", "\n \n"]),
    st.text("aAßσςΣİ \u00a0\n", max_size=6),
    st.text("aAßσςΣİ \u00a0\n", max_size=6),
    st.booleans(),
)
def test_long_texts_are_equal_exactly_when_their_normalized_forms_are(
    n: int, lead: str, one: str, other: str, same: bool
) -> None:
    response, reference = f"{lead}{'é' * n}{one}", f"{'É' * n}{one if same else other}"
    outcome = TargetMatchExecutor().execute(
        {"kind": "target_match", "reference_path": "expected.a"},
        response,
        Context({"expected": {"a": reference}}),
    )

    assert outcome.passed == (normalized(response) == normalized(reference))


def test_exact_is_strict() -> None:
    assert judged("Hello  World", mode="exact").passed
    assert not judged("Hello World", mode="exact").passed
    assert not judged("Hello  World\n", mode="exact").passed


@pytest.mark.parametrize("mode", ["exact", "normalized"])
@pytest.mark.parametrize("threshold", [0, 0.5, 1])
def test_a_threshold_plays_no_part_in_exact_and_normalized(mode: str, threshold: float) -> None:
    same = judged("Hello  World", mode=mode, threshold=threshold)
    other = judged("Hello, World", mode=mode, threshold=threshold)

    assert (same.passed, same.score, other.passed, other.score) == (True, 1.0, False, 0.0)


@pytest.mark.parametrize("mode", ["exact", "normalized", "chrf"])
def test_the_closest_of_several_references_counts(mode: str) -> None:
    outcome = judged("second answer", "expected.several", mode=mode)

    assert (outcome.passed, outcome.score) == (True, 1.0)


def test_chrf_reports_the_continuous_score_and_passes_on_its_own_threshold() -> None:
    lenient = judged("second answers", "expected.several", mode="chrf", threshold=0.5)
    strict = judged("second answers", "expected.several", mode="chrf", threshold=0.99)

    assert lenient.passed and not strict.passed
    assert lenient.score == strict.score and 0.5 < (strict.score or 0) < 0.99


def test_chrf_without_a_threshold_passes_from_a_half() -> None:
    assert "meets 0.5" in judged("second answers", "expected.several", mode="chrf").reason


def test_an_identical_text_meets_a_chrf_threshold_of_one() -> None:
    assert judged("Hello  World", mode="chrf", threshold=1).passed


def test_an_empty_response_scores_zero() -> None:
    for mode in ("exact", "normalized", "chrf"):
        assert judged("", mode=mode).score == 0.0


@pytest.mark.parametrize(
    ("path", "response"), [("expected.number", "42"), ("expected.float", "1.0"), ("expected.flag", "true")]
)
def test_numbers_and_booleans_count_as_their_json_text(path: str, response: str) -> None:
    assert judged(response, path, mode="exact").passed


def test_a_path_may_index_a_list_and_segments_are_literal_names() -> None:
    assert judged("second answer", "expected.several.1").passed
    assert judged("zero", "metadata.0").passed
    assert judged("b", "expected.map.a").passed


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("expected.absent", "leads nowhere"),
        ("expected.one.deeper", "leads nowhere"),
        ("expected.several.2", "leads nowhere"),
        ("expected.several.-1", "leads nowhere"),
        ("expected.several." + "9" * 5000, "leads nowhere"),
        ("expected", "must begin with"),
        ("input", "must begin with"),
        ("expected..one", "empty segment"),
        ("expected.", "empty segment"),
        (None, "must be text"),
        ("expected.map", "not a single text"),
        ("expected.nested", "not a single text"),
        ("expected.null", "is empty"),
        ("expected.blank", "is empty"),
        ("expected.none", "empty list"),
        ("expected.bad", "is empty (null)"),
        ("expected.surrogate", "not valid UTF-8"),
        ("expected.bytes", "not valid UTF-8"),
        ("expected.nan", "not a single text"),
    ],
)
def test_a_reference_that_is_none_fails_with_its_cause(path: Any, cause: str) -> None:
    outcome = judged("anything", path)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert cause in outcome.reason


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"mode": "fuzzy"}, "unknown mode 'fuzzy'"),
        ({"threshold": 1.5}, "threshold 1.5"),
        ({"threshold": -0.1, "mode": "chrf"}, "threshold -0.1"),
        ({"threshold": math.nan, "mode": "chrf"}, "threshold nan"),
        ({"threshold": True, "mode": "chrf"}, "threshold True"),
    ],
)
def test_a_mistake_in_the_check_fails_it_with_its_cause(fields: dict[str, Any], cause: str) -> None:
    outcome = judged("Hello  World", **fields)

    assert outcome.status == "failed"
    assert cause in outcome.reason


def test_a_response_that_is_not_utf8_fails() -> None:
    assert "not valid UTF-8" in judged(b"\xff").reason


def test_the_path_resolver_can_be_used_alone_and_says_what_is_missing() -> None:
    assert resolve(ROW, "metadata.title") == "T"
    with pytest.raises(PathError, match=r"expected has no 'x'"):
        resolve(ROW, "expected.x")


def test_a_scorer_of_ones_own_can_be_injected() -> None:
    executor = TargetMatchExecutor(scorer=lambda response, reference: 0.25)
    check = {"kind": "target_match", "reference_path": "expected.one", "mode": "chrf", "threshold": 0.2}

    assert executor.execute(check, "", Context(ROW)).score == 0.25


@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_chrf_is_sacrebleus_sentence_score(response: str, reference: str) -> None:
    assert chrf(response, reference) == pytest.approx(
        CHRF().sentence_score(response, [reference]).score / 100, abs=1e-9
    )
    assert 0 <= chrf(response, reference) <= 1 + 1e-9


@given(st.text())
def test_normalizing_twice_changes_white_space_no_more(text: str) -> None:
    assert normalized(text).split(" ") == normalized(text).split() or normalized(text) == ""
