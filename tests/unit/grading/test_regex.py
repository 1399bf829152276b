"""regex checks: PCRE2's own answers, in bounded time (rules 65 to 69; C-16 to C-18; case 23)."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.regex import PatternError, Regex
from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.outcomes import CheckOutcome

ROWS = json.loads((Path(__file__).parents[2] / "data/grading/regex_pcre.json").read_text())
DECIDED = {"w ascii in byte mode": "match"}
"""Rows that differ from the recorded answer by decision C-18: Unicode is on without `u`."""
SLOW = r"(?:\d*+x|.)*[bc]"
"""Few counted steps, each with a walk over the rest of the text: no match limit stops it in time."""


@pytest.fixture
def engine() -> Iterator[Regex]:
    engine = Regex(seconds=0.3)
    yield engine
    engine.close()


def judged(response: str = "a", /, **fields: Any) -> CheckOutcome:
    return TextExecutor().execute({"kind": "regex"} | fields, response, Context())


@pytest.mark.parametrize("row", ROWS, ids=[r["name"] for r in ROWS])
def test_every_row_gets_pcres_own_answer(row: dict[str, str], engine: Regex) -> None:
    expect = DECIDED.get(row["name"], row["expect"])

    if expect in ("match", "no match"):
        assert engine.search(row["pattern"], row["flags"], row["text"]) is (expect == "match")
        return
    begun = time.monotonic()
    with pytest.raises(PatternError) as caught:
        engine.search(row["pattern"], row["flags"], row["text"])

    assert row["pattern"] in str(caught.value)
    assert time.monotonic() - begun < 5


def test_without_flags_case_is_ignored_and_with_flags_exactly_those_hold() -> None:
    assert judged("SORRY", patterns=["sorry"]).passed
    assert not judged("SORRY", patterns=["sorry"], flags="").passed
    assert judged("SORRY", patterns=["sorry"], flags="i").passed
    assert not judged("a\nB", patterns=["^b$"], flags="m").passed
    assert judged("a\nB", patterns=["^ b $ # spaced"], flags="imx").passed
    assert judged("a\nb", patterns=["a.b"], flags="s").passed
    assert judged("é", patterns=[r"^\w$"], flags="u").passed


def test_any_is_the_default_and_all_wants_every_pattern() -> None:
    patterns = ["foo", "bar"]

    assert judged("foo", patterns=patterns).passed
    assert not judged("foo", patterns=patterns, mode="all").passed
    assert '"bar"' in judged("foo", patterns=patterns, mode="all").reason
    assert judged("barfoo", patterns=patterns, mode="all").passed


@pytest.mark.parametrize("mode", ["any", "all"])
def test_a_pattern_that_does_not_compile_fails_the_check_even_beside_one_that_matches(mode: str) -> None:
    outcome = judged("foo", patterns=["foo", "(unclosed"], mode=mode)

    assert outcome.status == "failed"
    assert '"(unclosed" does not compile' in outcome.reason


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"patterns": []}, "at least one"),
        ({"patterns": [""]}, "empty"),
        ({"patterns": ["a"], "mode": "most"}, "unknown mode 'most'"),
        ({"patterns": ["a"], "flags": "ig"}, "unknown flags 'g'"),
        ({"patterns": ["a"], "flags": 5}, "flags must be text"),
        ({"patterns": [r"\C"]}, "is not supported"),
    ],
)
def test_an_authors_mistake_fails_the_check_and_is_named(fields: dict[str, Any], cause: str) -> None:
    outcome = judged("a", **fields)

    assert outcome.status == "failed"
    assert cause in outcome.reason


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|aa)+$", "(a|a)+$", "(?:a*)*[bc]"])
def test_a_catastrophic_pattern_ends_soon_from_four_threads_at_once(pattern: str, engine: Regex) -> None:
    def ask(_: int) -> str:
        with pytest.raises(PatternError) as caught:
            engine.search(pattern, "", "a" * 60 + "!")
        return str(caught.value)

    begun = time.monotonic()
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, range(4)))

    assert all("no answer within its limits" in answer for answer in answers)
    assert time.monotonic() - begun < 8


def test_what_no_match_limit_stops_is_stopped_by_cpu_time(engine: Regex) -> None:
    begun = time.monotonic()

    with pytest.raises(PatternError, match="CPU time"):
        engine.search(SLOW, "", "1" * 1_000_000)

    assert time.monotonic() - begun < 12


def test_a_limit_is_never_a_pass_and_the_other_checks_go_on(engine: Regex) -> None:
    with pytest.raises(PatternError):
        engine.search(SLOW, "", "1" * 20_000)

    assert engine.search(r"\d+", "", "1" * 20_000)


def test_a_plain_pattern_on_a_large_response_is_answered(engine: Regex) -> None:
    response = "lorem ipsum " * 90_000 + "error: 42"

    assert engine.search(r"error:\s*\d+$", "", response)
    assert not engine.search(r"error:\s*[a-z]+$", "", response)


def test_an_ordinary_nested_repeat_is_not_refused_for_its_shape(engine: Regex) -> None:
    assert engine.search(r"(\w+\s?)+:", None, "total sum: 5")


def test_a_pattern_cannot_raise_its_own_limit(engine: Regex) -> None:
    with pytest.raises(PatternError, match="limits"):
        engine.search("(*LIMIT_MATCH=4000000000)^(a+)+$", "", "a" * 60 + "!")


def test_a_repeat_deeper_than_the_jits_stack_is_still_answered(engine: Regex) -> None:
    assert engine.search("^(?:(a)|(b)|(c))+$", "", "abc" * 40_000)


def test_closing_leaves_no_worker_behind() -> None:
    engine = Regex(seconds=0.3)
    engine.search(r"(x\s*)+y$", "", "z" * 50_000)
    workers = [worker.pid for worker in engine._workers._idle]

    engine.close()

    assert workers
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_worker_killed_in_between_is_replaced(engine: Regex) -> None:
    engine.search(r"(x\s*)+y$", "", "z" * 50_000)
    worker = engine._workers._idle[0]
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()

    assert engine.search(r"(z\s*)+$", "", "z" * 50_000)
