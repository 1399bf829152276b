"""must_contain_any, must_not_contain and what no text check passes on (rules 57 to 64; C-48, C-51, C-52)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.outcomes import CheckOutcome

EXECUTOR = TextExecutor()


def contains(response: str | bytes, *values: Any, **more: Any) -> CheckOutcome:
    return judged({"kind": "must_contain_any", "values": list(values)} | more, response)


def avoids(response: str | bytes, *values: Any, **more: Any) -> CheckOutcome:
    return judged({"kind": "must_not_contain", "values": list(values)} | more, response)


def judged(check: Mapping[str, Any], response: str | bytes) -> CheckOutcome:
    return EXECUTOR.execute(check, response, Context())


def test_one_value_found_is_enough() -> None:
    outcome = contains("We are sorry.", "apologize", "sorry")

    assert (outcome.passed, outcome.score) == (True, 1.0)
    assert '"sorry"' in outcome.reason


def test_no_value_found_fails_and_says_what_was_looked_for() -> None:
    outcome = contains("Tough luck.", "apologize", "sorry")

    assert (outcome.passed, outcome.score) == (False, 0.0)
    assert '"apologize"' in outcome.reason


def test_one_forbidden_value_found_is_too_much_and_is_named() -> None:
    assert avoids("x = 1", "eval(", "exec(").passed
    assert '"eval("' in avoids("x = eval('1')", "exec(", "eval(").reason


def test_values_are_plain_text_and_never_patterns() -> None:
    assert not contains("abc", "a.c").passed
    assert contains("a.c (draft", "(draft").passed


def test_case_is_ignored_unless_the_check_says_otherwise() -> None:
    assert contains("SORRY", "sorry").passed
    assert not contains("SORRY", "sorry", case_sensitive=True).passed
    assert avoids("SORRY", "sorry", case_sensitive=True).passed


@pytest.mark.parametrize(
    ("response", "value"),
    [("straße", "STRASSE"), ("ΟΔΌΣ", "οδός"), ("İstanbul", "i̇stanbul"), ("ÅNGSTRÖM", "ångström"), ("K", "k")],
)
def test_letters_of_every_script_fold_by_unicode_rules(response: str, value: str) -> None:
    assert contains(response, value).passed


def test_composed_and_decomposed_letters_stay_different() -> None:
    assert not contains("cafe\u0301", "café").passed


def test_an_empty_response_contains_nothing() -> None:
    assert not contains("", "x").passed
    assert avoids("", "x").passed


@pytest.mark.parametrize("kind", ["must_contain_any", "must_not_contain"])
@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"values": []}, "at least one"),
        ({}, "at least one"),
        ({"values": "sorry"}, "at least one"),
        ({"values": ["a", ""]}, "values[1] is empty"),
        ({"values": ["a", 5]}, "values[1] must be text"),
        ({"values": ["\ud800"]}, "values[0] is not valid UTF-8"),
        ({"values": ["a"], "case_sensitive": "no"}, "case_sensitive"),
    ],
)
def test_an_authors_mistake_fails_the_check_and_is_named(
    kind: str, fields: dict[str, Any], cause: str
) -> None:
    outcome = judged({"kind": kind} | fields, "a response")

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert cause in outcome.reason


@pytest.mark.parametrize(
    "check",
    [
        {"kind": "must_contain_any", "values": ["a"]},
        {"kind": "must_not_contain", "values": ["z"]},
        {"kind": "regex", "patterns": ["a"]},
    ],
)
@pytest.mark.parametrize("response", [b"a\xff", "a\ud800"])
def test_a_response_that_is_not_utf8_fails_every_text_check(
    check: dict[str, Any], response: str | bytes
) -> None:
    outcome = judged(check, response)

    assert outcome.status == "failed"
    assert "not valid UTF-8" in outcome.reason


def test_bytes_that_are_utf8_are_read_as_text() -> None:
    assert contains("naïve".encode(), "naïve").passed


@given(st.text(min_size=1), st.text(), st.text())
def test_whatever_stands_inside_is_found_and_forbidden(value: str, left: str, right: str) -> None:
    response = left + value + right

    assert contains(response, value, case_sensitive=True).passed
    assert not avoids(response, value, case_sensitive=True).passed


@given(st.text(), st.lists(st.text(min_size=1), min_size=1, max_size=4), st.booleans())
def test_the_two_kinds_are_each_others_opposite(response: str, values: list[str], sensitive: bool) -> None:
    found = contains(response, *values, case_sensitive=sensitive).passed

    assert avoids(response, *values, case_sensitive=sensitive).passed is not found


@given(st.text(), st.text(min_size=1))
def test_ignoring_case_finds_at_least_what_minding_it_finds(response: str, value: str) -> None:
    if contains(response, value, case_sensitive=True).passed:
        assert contains(response, value).passed


def test_a_thousand_text_checks_take_under_fifty_milliseconds() -> None:
    response, check = "lorem ipsum " * 170, {"kind": "must_not_contain", "values": ["eval("]}
    judged(check, response)

    begun = time.process_time()
    for _ in range(1000):
        judged(check, response)

    assert time.process_time() - begun < 0.05
