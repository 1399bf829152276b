"""The source system's table: which kinds it executes, and that every kind has an executor here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator import schemas
from orchestrator.contract import Context
from orchestrator.documents.rubric import Rubric
from orchestrator.grading import AI_EVAL_KINDS, NEVER_EXECUTED, evaluate
from orchestrator.outcomes import Verdict
from orchestrator.plugins import Registry

ROW = {"expected": {"text": "right", "facts": ["right"], "tools": ["search"]}}
CHECKS: list[dict[str, Any]] = [
    {"kind": "must_contain_any", "values": ["right"]},
    {"kind": "must_not_contain", "values": ["wrong"]},
    {"kind": "regex", "patterns": ["^right"]},
    {"kind": "target_match", "reference_path": "expected.text"},
    {"kind": "composite", "rubric_ref": "rubric/inner@1.0"},
    {"kind": "json_schema", "schema": True},
    {"kind": "php_lint"},
    {"kind": "markdown_structure", "min_headings": 0},
    {"kind": "format", "format": "markdown"},
    {"kind": "fact_match", "source": "expected.facts", "threshold": 1},
    {"kind": "tool_usage", "source": "expected.tools"},
    {"kind": "llm_judge", "judge_prompt_ref": "p", "judges": ["m"], "threshold": 0.5},
    {"kind": "command", "command": "true"},
    {"kind": "score_delta", "tool": "phpcs", "min_delta": 1},
]
"""One of each kind, in the schema's order."""
IN_TEXT = {"must_contain_any", "must_not_contain", "regex", "target_match", "composite", "json_schema",
           "markdown_structure", "format", "fact_match"}  # fmt: skip
"""What runs here with nothing but a text."""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry.load()


@pytest.fixture
def verdict(registry: Registry) -> Callable[..., Verdict]:
    def grade(**more: Any) -> Verdict:
        scoring = {"combine": "weighted_avg"}
        inner = Rubric.model_validate(
            {"id": "inner", "version": "1.0", "checks": CHECKS[:1], "scoring": {"combine": "all_pass"}}
        )
        rubric = Rubric.model_validate({"id": "r", "version": "1.0", "checks": CHECKS, "scoring": scoring})
        context = Context(ROW, trajectory=more.pop("trajectory", None))
        return evaluate(rubric, "right", context, registry.executors, lambda ref: inner, **more)

    return grade


def test_every_kind_of_the_schema_is_in_the_table() -> None:
    assert [check["kind"] for check in CHECKS] == [
        ref["$ref"].removeprefix("#/$defs/check_")
        for ref in schemas.load("rubric")["$defs"]["check"]["oneOf"]
    ]


def test_the_ai_eval_set_executes_exactly_the_five_kinds_of_the_source(
    verdict: Callable[..., Verdict],
) -> None:
    found = verdict(executor_set="ai_eval", trajectory=[{"name": "search"}])

    assert {o.kind for o in found.outcomes} == AI_EVAL_KINDS
    assert {o.kind for o in found.outcomes} == {check["kind"] for check in CHECKS[:5]}
    assert [o.kind for o in found.skipped] == [c["kind"] for c in CHECKS[5:]]
    assert found.executors == "ai_eval"
    assert "9 of 14 checks not executed" in found.reason


def test_here_every_kind_but_llm_judge_has_an_executor(registry: Registry) -> None:
    own = {"composite", *NEVER_EXECUTED}

    for check in CHECKS:
        takers = [e for e in registry.executors if e.applies(check)]
        assert len(takers) == (0 if check["kind"] in own else 1), check["kind"]


def test_a_text_alone_is_judged_by_all_kinds_that_need_no_more(verdict: Callable[..., Verdict]) -> None:
    found = verdict()

    assert {o.kind for o in found.outcomes} == IN_TEXT
    assert [o.kind for o in found.outcomes if not o.passed] == ["json_schema", "format"]


def test_a_trajectory_adds_tool_usage(verdict: Callable[..., Verdict]) -> None:
    found = verdict(trajectory=[{"name": "search"}])

    assert {o.kind for o in found.outcomes} == IN_TEXT | {"tool_usage"}
