"""Lint that teaches: what loads, works and still does not judge what was meant (rule 224; C-20 to C-26)."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import library
from orchestrator.advice import advise
from orchestrator.checks.target import TargetMatchExecutor
from orchestrator.checks.text import TextExecutor
from orchestrator.loading import Findings, parse_document, rubric_of
from orchestrator.rubrics import RubricStore, Stored, built_in

TEXT = (TextExecutor(), TargetMatchExecutor())
ASKS = "{id: asks, kind: must_contain_any, values: [refund]}"


def advice(*checks: str, scoring: str = "{combine: all_pass}", tried: bool = False) -> Findings:
    listed = "".join(f"  - {check}\n" for check in checks)
    doc = parse_document(f'id: a\nversion: "1.0"\nchecks:\n{listed}scoring: {scoring}\n', "a.yaml")
    entry = Stored(rubric_of(doc), doc)
    return advise(entry, RubricStore([entry]), TEXT if tried else ())


def said(*checks: str, scoring: str = "{combine: all_pass}", tried: bool = False) -> list[str]:
    found = advice(*checks, scoring=scoring, tried=tried)
    return [*map(str, found.errors), *map(str, found.warnings)]


@pytest.mark.parametrize("pattern", [r"\d*", "x?", "(?:)", "a|", "^"])
def test_a_pattern_that_matches_the_empty_text_asks_for_nothing(pattern: str) -> None:
    (line,) = said(f"{{kind: regex, flags: '', patterns: ['{pattern}']}}")

    assert line.startswith("a.yaml:4: checks[0].patterns[0]: matches the empty text and so every text")


@pytest.mark.parametrize("pattern", [r"\d+", r"\A\z", r"\A(?!.*\bTODO\b)", r"^\s*$"])
def test_patterns_that_mean_to_match_nothing_are_left_alone(pattern: str) -> None:
    assert said(f"{{kind: regex, flags: '', patterns: ['{pattern}']}}") == []


def test_a_pattern_that_does_not_compile_is_an_error() -> None:
    found = advice("{kind: regex, flags: '', patterns: ['x', '(']}")

    (error,) = found.errors
    assert error.path == "checks[0].patterns[1]" and "does not compile" in error.message


@pytest.mark.parametrize(
    ("scoring", "effect"),
    [
        (
            "{combine: weighted_avg, threshold: 0.6, weights: {asks: 0.3, short: 0.7}}",
            "70% of the weight: they pass alone",
        ),
        (
            "{combine: weighted_avg, threshold: 0.9, weights: {asks: 0.4, short: 0.6}}",
            "as much as all that matters",
        ),
    ],
)
def test_trivial_checks_must_not_dominate(scoring: str, effect: str) -> None:
    lines = said(ASKS, "{id: short, kind: regex, flags: s, patterns: ['^.{1,200}$']}", scoring=scoring)

    assert any("checks of form (short)" in line and effect in line for line in lines)


def test_checks_that_matter_may_dominate() -> None:
    scoring = "{combine: weighted_avg, threshold: 0.6, weights: {asks: 0.7, short: 0.3}}"

    assert said(ASKS, "{id: short, kind: regex, flags: s, patterns: ['^.{1,200}$']}", scoring=scoring) == []


@pytest.mark.parametrize(
    ("checks", "scoring", "words"),
    [
        ([ASKS], "{combine: min, threshold: 0}", "every score meets a threshold of 0"),
        (
            [ASKS, "{id: b, kind: must_contain_any, values: [invoice]}"],
            "{combine: weighted_avg, threshold: 1, weights: {asks: 1, b: 0}}",
            "scoring.weights.b: a weight of 0",
        ),
        (
            [ASKS, "{kind: must_not_contain, values: [sorry]}"],
            "{combine: any_pass}",
            "under any_pass an answer passes by not saying",
        ),
        ([ASKS, "{id: b, kind: must_contain_any, values: [refund]}"], None, "asks the same as checks[0]"),
        (
            ["{kind: must_contain_any, values: [Error 5]}", "{kind: must_not_contain, values: [error]}"],
            None,
            "every value holds what checks[1] forbids",
        ),
        (
            ["{kind: must_contain_any, values: [error, errors]}"],
            None,
            'values[1]: does nothing: it holds "error"',
        ),
        (["{kind: must_contain_any, values: [' error']}"], None, "begins or ends with white space"),
        (["{kind: regex, flags: '', patterns: ['/refund/i']}"], None, "patterns have no delimiters"),
        (
            ["{kind: llm_judge, judge_prompt_ref: p, judges: [j], threshold: 0.5}"],
            None,
            "llm_judge without a description says nothing",
        ),
        (["{kind: composite, rubric_ref: rubric/gone@1.0}"], None, "rubric/gone@1.0 is not there"),
        (["{kind: composite, rubric_ref: rubric/a@1.0}"], None, "runs in a circle"),
        (
            [ASKS],
            "{combine: weighted_avg, threshold: 0.5, weights: {ask: 1}}",
            'no check has the id "ask"',
        ),
        (
            [ASKS, "{kind: must_contain_any, values: [invoice]}"],
            "{combine: weighted_avg, threshold: 0.5, weights: {asks: 1}}",
            "checks[1]: has no id, so it weighs 1",
        ),
        ([ASKS], "{combine: median}", "no threshold: 0.5 holds"),
    ],
)
def test_what_an_author_seldom_means_is_named(checks: list[str], scoring: str | None, words: str) -> None:
    lines = said(*checks, scoring=scoring or "{combine: all_pass}")

    assert any(words in line for line in lines), lines


def test_a_rubric_that_an_empty_answer_passes_is_named() -> None:
    lines = said("{kind: must_not_contain, values: [sorry]}", tried=True)

    assert lines == [
        "a.yaml:4: checks: an empty answer passes: what is asked is only what must not be there; "
        "add a check that asks for something, unless other graders or rubrics do"
    ]


def test_an_oracle_asks_for_something() -> None:
    assert (
        said("{kind: must_not_contain, values: [sorry]}", "{kind: command, command: 'true'}", tried=True)
        == []
    )


@pytest.mark.parametrize("ref", library.files())
def test_a_built_in_rubric_gives_no_cause_for_advice(ref: str, tmp_path: Path) -> None:
    entry = built_in(ref)
    assert entry is not None

    found = advise(entry, RubricStore([entry], built_in), TEXT)

    assert (found.errors, found.warnings) == ((), ())
    assert entry.rubric.ref == ref and entry.rubric.label and entry.rubric.description
