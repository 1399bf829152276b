"""markdown_structure: CommonMark through a library, every option, and no time bomb."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.commonmark import DEEPEST, structure
from orchestrator.checks.markdown import MarkdownStructureExecutor
from orchestrator.outcomes import CheckOutcome

CASE = Path(__file__).parents[2] / "data" / "checks" / "markdown_fences"
RESPONSE = (CASE / "response.md").read_text(encoding="utf-8")
EXPECTED = json.loads((CASE / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def check(run: Callable[..., CheckOutcome]) -> Callable[..., CheckOutcome]:
    executor = MarkdownStructureExecutor()
    return lambda text, **options: run(executor, {"kind": "markdown_structure", **options}, text)


def test_headings_and_blocks_are_those_of_commonmark() -> None:
    found = structure(RESPONSE)

    assert [list(heading) for heading in found.headings] == EXPECTED["headings"]
    assert found.code_blocks == EXPECTED["code_blocks"]
    assert len(found.fences) == EXPECTED["fenced_code_blocks"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_headings": 6}, "5 headings, 6 wanted"),
        ({"max_heading_level": 2}, "a heading of level 3, at most 2 wanted"),
        ({"no_h1": True}, "a heading of level 1, none wanted"),
        ({"min_code_blocks": 5}, "4 code blocks, 5 wanted"),
        ({"required_sections": ["Real", "Never"]}, 'no section "Never"'),
        ({"required_sections": ["not a heading"]}, 'no section "not a heading"'),
        (
            {"forbidden_patterns": [r"^#HASHTAG$", r"(?m)^#HASHTAG$"]},
            'the forbidden pattern "(?m)^#HASHTAG$"',
        ),
    ],
)
def test_what_is_missing_or_too_much_is_named(
    check: Callable[..., CheckOutcome], options: dict[str, Any], words: str
) -> None:
    outcome = check(RESPONSE, **options)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert words in outcome.reason


def test_all_that_holds_passes(check: Callable[..., CheckOutcome]) -> None:
    options = {
        "min_headings": 5,
        "max_heading_level": 3,
        "no_h1": False,
        "min_code_blocks": 4,
        "required_sections": ["  REAL ", "setext   two"],
        "forbidden_patterns": ["lorem"],
    }

    assert check(RESPONSE, **options).passed


def test_every_shortcoming_is_named_at_once(check: Callable[..., CheckOutcome]) -> None:
    reason = check("prose", min_headings=1, min_code_blocks=2, required_sections=["Usage"]).reason

    assert reason == '0 headings, 1 wanted; no section "Usage"; 0 code blocks, 2 wanted'


def test_a_heading_counts_without_its_markup(check: Callable[..., CheckOutcome]) -> None:
    assert check("## **How** to `use` [it](x)\n", required_sections=["How to use it"]).passed


def test_nothing_asked_still_wants_some_structure(check: Callable[..., CheckOutcome]) -> None:
    assert check("- a\n- b\n").passed
    assert "nothing but paragraphs" in check("Just prose.\n\nMore prose.").reason


def test_zero_is_a_number(check: Callable[..., CheckOutcome]) -> None:
    assert check("prose", min_headings=0).passed


def test_a_forbidden_pattern_that_hits_its_limit_never_passes(run: Callable[..., CheckOutcome]) -> None:
    executor = MarkdownStructureExecutor(regex_seconds=0.2)
    check = {"kind": "markdown_structure", "forbidden_patterns": [r"(\w+\s?)+\z"]}

    outcome = run(executor, check, "# x\n" + "a" * 5000 + "!")
    executor.close()

    assert outcome.status == "failed"
    assert "within its limits" in outcome.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"min_headings": -1}, "min_headings is -1"),
        ({"min_headings": True}, "min_headings must be a whole number"),
        ({"max_heading_level": 7}, "max_heading_level is 7; it must be from 1 to 6"),
        ({"no_h1": "yes"}, "no_h1 must be true or false"),
        ({"required_sections": []}, "required_sections must be a list"),
        ({"forbidden_patterns": ["("]}, "does not compile"),
        ({"forbidden_patterns": [""]}, "forbidden_patterns[0] is empty"),
    ],
)
def test_an_authors_mistake_fails_the_check_and_is_named(
    check: Callable[..., CheckOutcome], options: dict[str, Any], words: str
) -> None:
    outcome = check("# x", **options)

    assert outcome.status == "failed"
    assert words in outcome.reason


@pytest.mark.parametrize(
    "piece", ["> ", "- ", "[", "* a\n", "[a]: <\n", "```\n", "a\n===\n", "> - ", "# [\n"]
)
def test_no_text_takes_long_to_read(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    started = time.thread_time()

    structure(text)
    structure("# " + text[:100_000].replace("\n", " "))

    assert time.thread_time() - started < 10


def test_what_nests_deeper_than_the_limit_is_not_seen() -> None:
    inside = "> " * (DEEPEST - 2) + "# seen\n"

    assert structure(inside).headings == ((1, "seen"),)
    assert structure("> " * (DEEPEST + 1) + "# unseen\n").headings == ()
