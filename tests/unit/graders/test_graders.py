"""Graders that read what the question expects, and how grades become a question's score."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator import graders
from orchestrator.agents import AgentReport
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.errors import AuthoringError
from orchestrator.outcomes import Grade, Verdict, question_score
from orchestrator.plugins import Registry

KINDS = Registry.load().graders
CALLS = [{"name": "search", "arguments": {"q": "php"}}, {"name": "open", "arguments": {"page": 2}}]


def benchmark(*tasks: Task) -> Benchmark:
    return Benchmark(id="b", version="1.0", tasks=tasks, root="/", file="b.yaml")


def grade(spec: str, expected: dict[str, Any], response: str | bytes = "", trajectory: Any = None) -> Grade:
    grader = graders.make(spec, KINDS, benchmark(), Config())
    report = AgentReport(response=response, trajectory=trajectory)
    return grader.grade(Task(id="q", expected=expected), report, None, "")


@pytest.mark.parametrize(
    ("verdict", "score"),
    [
        (None, None),
        (Verdict("rubric/r@1.0", None, None, "nothing executed", ()), None),
        (Verdict("rubric/r@1.0", 0.25, False, "a quarter", ()), 1.25),
        (Verdict("rubric/r@1.0", 0.0, False, "nothing right", ()), 0.0),
    ],
)
def test_rubric_checks_is_five_times_the_score_and_a_skip_is_no_zero(
    verdict: Verdict | None, score: float | None
) -> None:
    grader = graders.make("rubric_checks", KINDS, benchmark(), Config())

    assert grader.grade(Task(id="q"), AgentReport(), verdict, "").score == score


@pytest.mark.parametrize(
    ("wanted", "response", "score"),
    [
        ("json", '{"a": 1}', 5.0),
        ("json", 'Here:\n```json\n{"a": 1}\n```\n', 5.0),
        ({"format": "json", "strict": True}, 'Here:\n```json\n{"a": 1}\n```\n', 0.0),
        ("json", "no", 0.0),
        ("json", b"\xff", 0.0),
    ],
)
def test_format_reads_the_question(wanted: Any, response: str | bytes, score: float) -> None:
    assert grade("format", {"format": wanted}, response).score == score


def test_fact_match_is_the_share_of_the_questions_facts() -> None:
    found = grade("fact_match", {"facts": ["Disk  full", "noon", "Ada", "1815"]}, "the disk full at NOON")

    assert found.score == 2.5
    assert '"Ada"' in found.reason


@pytest.mark.parametrize(
    ("wanted", "score"),
    [
        (["open", "search"], 5.0),
        ([{"name": "open", "arguments": {"page": 2}}, "fetch"], 2.5),
        ([{"name": "open", "arguments": {"page": 3}}], 0.0),
        ({"calls": ["search", "open"], "in_order": True}, 5.0),
        ({"calls": ["open", "search"], "in_order": True}, 2.5),
        ({"calls": ["open", "search"], "in_order": False}, 5.0),
        ({"calls": ["search", "search"], "in_order": True}, 2.5),
    ],
)
def test_tool_usage_looks_at_names_arguments_and_order(wanted: Any, score: float) -> None:
    assert grade("tool_usage", {"expected_tools": wanted}, trajectory=CALLS).score == score


def test_the_longest_ordered_run_counts_not_the_first_one() -> None:
    made = [{"name": name} for name in "cabxc"]

    assert (
        grade("tool_usage", {"expected_tools": {"calls": list("abc"), "in_order": True}}, "", made).score == 5
    )
    assert grade(
        "tool_usage", {"expected_tools": {"calls": list("cba"), "in_order": True}}, "", made
    ).score == (pytest.approx(10 / 3))


@pytest.mark.parametrize("spec", ["format", "fact_match", "tool_usage"])
def test_a_grader_with_nothing_to_read_gives_no_grade(spec: str) -> None:
    assert grade(spec, {}, "x", CALLS).score is None


def test_without_a_record_of_calls_there_is_no_grade() -> None:
    assert grade("tool_usage", {"expected_tools": ["search"]}).score is None
    assert grade("tool_usage", {"expected_tools": ["search"]}, trajectory="prose").score == 0


def test_the_mean_leaves_out_who_did_not_grade() -> None:
    grades = [Grade("a", 5.0, ""), Grade("b", None, ""), Grade("c", 2.0, "")]

    assert question_score(grades) == 3.5
    assert question_score([Grade("b", None, "")]) is None


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.1, 5.1])
def test_a_graders_impossible_score_is_a_fault_and_never_a_grade(score: float) -> None:
    with pytest.raises(ValueError, match="must be 0 to 5"):
        Grade("plug-in", score, "")


def test_every_mistake_of_every_task_is_told_before_a_run() -> None:
    tasks = (
        Task(id="a", graders=("vibes", "judge:nobody", "panel:none", "format:json")),
        Task(
            id="b", graders=("format", "fact_match", "tool_usage"), expected={"format": "docx", "facts": []}
        ),
        Task(id="c", graders=("tool_usage",), expected={"expected_tools": [{"nome": "x"}]}),
        Task(
            id="d", graders=("vibes", "tool_usage"), expected={"expected_tools": {"calls": ["x"], "order": 1}}
        ),
        Task(id="e", graders=("rubric_checks", "rubric_checks:ai_eval")),
        Task(id="f", graders=("rubric_checks:some",)),
    )

    with pytest.raises(AuthoringError) as caught:
        graders.make_all(benchmark(*tasks), KINDS, Config())

    said = [f"{p.path}: {p.message}" for p in caught.value.problems]
    for words in (
        'task a.graders: unknown grader "vibes"; known graders: fact_match, format, judge',
        'task a.graders: proctor.yaml has no judge "nobody"; it has none',
        'task a.graders: proctor.yaml has no panel "none"',
        'task a.graders: the grader format takes no argument, but was given "json"',
        "task b.graders: format cannot read expected.format: unknown format 'docx'",
        "task b.graders: fact_match cannot read expected.facts: reference 'expected.facts' is an empty list",
        "task c.graders: tool_usage cannot read expected.expected_tools: expected call 0",
        'task d.graders: unknown grader "vibes"',
        "task d.graders: tool_usage cannot read expected.expected_tools: write a list of calls",
        "task e.graders: rubric_checks is chosen twice",
        'task f.graders: rubric_checks has no set of executors "some": write rubric_checks:ai_eval',
    ):
        assert any(line.startswith(words) for line in said), (words, said)
    assert len(said) == 12
