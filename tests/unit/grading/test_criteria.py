"""What judges read of a rubric (rules 31 to 39, C-29)."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.criteria import line_of, merge

STOCK: list[dict[str, Any]] = [
    {"kind": "must_contain_any", "values": ["sorry", "two\nlines"]},
    {"kind": "must_not_contain", "values": ["eval("]},
    {"kind": "target_match", "reference_path": "expected.answer"},
    {"kind": "command", "command": "pytest -q hidden/test_x.py", "expect": "test_transitions"},
    {"kind": "score_delta", "tool": "phpcs", "min_delta": 3},
]
SILENT: list[dict[str, Any]] = [
    {"kind": "regex", "patterns": ["secret"], "flags": "imsx"},
    {"kind": "composite", "rubric_ref": "rubric/sub@1.0"},
    {"kind": "json_schema", "schema_ref": "answer.schema.json"},
    {"kind": "php_lint", "wrapper": True},
    {"kind": "markdown_structure", "min_headings": 2},
    {"kind": "format", "format": "json"},
    {"kind": "fact_match", "source": "expected.facts", "threshold": 0.5},
    {"kind": "tool_usage", "source": "expected.tools"},
    {"kind": "llm_judge", "judge_prompt_ref": "prompt/x", "judges": ["model-x"], "threshold": 0.5},
]


def test_criteria_then_a_blank_line_then_one_line_for_each_check_in_order(rubric: Any) -> None:
    merged = merge(
        "Be kind.", rubric({"kind": "regex", "patterns": ["x"], "description": "Names the order."}, STOCK[1])
    )

    assert merged == 'Be kind.\n\n- Names the order.\n- The response contains none of: "eval(".'


def test_without_own_criteria_the_lines_stand_alone(rubric: Any) -> None:
    assert merge("", rubric(STOCK[1])) == '- The response contains none of: "eval(".'


def test_without_a_rubric_the_criteria_stay_as_they_are() -> None:
    assert merge(" as written \n", None) == " as written \n"


def test_a_rubric_with_nothing_to_say_leaves_the_criteria_as_they_are(rubric: Any) -> None:
    assert merge("Be kind.\n", rubric(*SILENT)) == "Be kind.\n"


@pytest.mark.parametrize("check", STOCK, ids=lambda c: c["kind"])
def test_five_kinds_have_a_stock_sentence_in_one_line(check: dict[str, Any]) -> None:
    line = line_of(check)

    assert line.endswith(".") and "\n" not in line


@pytest.mark.parametrize("check", SILENT, ids=lambda c: c["kind"])
def test_every_other_kind_is_silent_without_a_description(check: dict[str, Any]) -> None:
    assert line_of(check) == ""
    assert line_of(check | {"description": " Says\n this. "}) == "Says this."


def test_a_description_replaces_the_stock_sentence_and_a_blank_one_does_not() -> None:
    assert line_of(STOCK[0] | {"description": "Apologises."}) == "Apologises."
    assert "sorry" in line_of(STOCK[0] | {"description": "  "})


def test_no_machine_field_reaches_a_judge(rubric: Any) -> None:
    checks = [c | {"description": "Plain words."} for c in (*SILENT, *STOCK)] + STOCK

    merged = merge("Criteria.", rubric(*checks))

    for secret in ("imsx", "schema.json", "model-x", "prompt/x", "hidden/test_x.py", "rubric/sub", "secret"):
        assert secret not in merged


def test_the_sentences_for_oracles_name_expectation_and_tool() -> None:
    assert "before" in line_of(STOCK[3]) and "before" not in line_of({"kind": "command", "command": "x"})
    assert "phpcs result by at least 3" in line_of(STOCK[4])
    assert line_of({"kind": "score_delta", "tool": "audit", "min_delta": 0}).endswith(
        "worsen the audit result."
    )
    assert "by more than 2" in line_of({"kind": "score_delta", "tool": "audit", "min_delta": -2})
