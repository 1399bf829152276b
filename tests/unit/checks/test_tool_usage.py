"""tool_usage: the expected calls among the recorded ones, of ATIF documents and of plain lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.checks.tool_usage import ToolUsageExecutor
from orchestrator.checks.transcripts import Call, Unreadable, calls, transcript
from orchestrator.grading import evaluate
from orchestrator.loading import parse_rubric
from orchestrator.outcomes import CheckOutcome

PLAIN = [
    {"name": "search", "arguments": {"query": "limit", "top": 5}},
    {"name": "read", "arguments": '{"path": "a.py"}'},
    {"name": "search", "arguments": {"query": "bound"}},
    {"name": "finish"},
]
ATIF = {
    "schema_version": "ATIF-v1.8",
    "agent": {"name": "a", "version": "1"},
    "steps": [
        {"step_id": 1, "source": "user", "message": "Mend it."},
        {
            "step_id": 2,
            "source": "agent",
            "message": [{"type": "text", "text": "Looking."}, {"type": "image", "source": {"path": "x"}}],
            "reasoning_content": "Where is it?",
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "search", "arguments": {"query": "limit", "top": 5}},
                {"tool_call_id": "2", "function_name": "read", "arguments": {"path": "a.py"}},
            ],
            "observation": {"results": [{"source_call_id": "1", "content": "a.py:7"}]},
        },
    ],
    "subagent_trajectories": [
        {
            "trajectory_id": "t2",
            "steps": [
                {
                    "step_id": 1,
                    "source": "agent",
                    "message": "",
                    "is_copied_context": True,
                    "tool_calls": [{"tool_call_id": "1", "function_name": "read", "arguments": {}}],
                },
                {
                    "step_id": 2,
                    "source": "agent",
                    "message": "",
                    "tool_calls": [{"tool_call_id": "9", "function_name": "finish", "arguments": {}}],
                },
            ],
        }
    ],
}


@pytest.fixture
def check(run: Callable[..., CheckOutcome]) -> Callable[..., CheckOutcome]:
    def execute(expected: Any, trajectory: Any = PLAIN, **fields: Any) -> CheckOutcome:
        checked = {"kind": "tool_usage", "source": "expected.tools", **fields}
        return run(ToolUsageExecutor(), checked, row={"expected": {"tools": expected}}, trajectory=trajectory)

    return execute


@pytest.mark.parametrize("trajectory", [PLAIN, ATIF], ids=["plain", "atif"])
def test_every_expected_call_was_made(check: Callable[..., CheckOutcome], trajectory: Any) -> None:
    expected = ["finish", "read", {"name": "search", "arguments": {"top": 5.0, "query": "limit"}}]

    outcome = check(expected, trajectory, match_args=True)

    assert (outcome.status, outcome.score) == ("passed", 1.0)


def test_the_score_is_the_share_found_and_what_is_missing_is_named(
    check: Callable[..., CheckOutcome],
) -> None:
    outcome = check(["search", "read", "delete", "finish"])

    assert (outcome.status, outcome.score) == ("failed", 0.75)
    assert outcome.reason == "3 of 4 expected calls among 4 recorded; not made: delete"


def test_one_recorded_call_stands_for_one_expected_call(check: Callable[..., CheckOutcome]) -> None:
    assert check(["search", "search"]).passed
    assert check(["search", "search", "search"]).score == pytest.approx(2 / 3)


def test_arguments_count_only_when_asked_for(check: Callable[..., CheckOutcome]) -> None:
    expected = [{"name": "read", "arguments": {"path": "b.py"}}]

    assert check(expected).passed
    assert not check(expected, match_args=True).passed


def test_arguments_are_compared_as_json_and_whole(check: Callable[..., CheckOutcome]) -> None:
    assert not check([{"name": "search", "arguments": {"query": "limit"}}], match_args=True).passed
    assert not check(
        [{"name": "a", "arguments": {"n": 1}}], [{"name": "a", "arguments": {"n": True}}], match_args=True
    ).passed


def test_a_call_with_arguments_chooses_before_one_without(check: Callable[..., CheckOutcome]) -> None:
    expected = ["search", {"name": "search", "arguments": {"query": "limit", "top": 5}}]

    assert check(expected, match_args=True).passed


def test_no_call_at_all_is_a_fail_not_a_skip(check: Callable[..., CheckOutcome]) -> None:
    assert (check(["search"], []).status, check(["search"], []).score) == ("failed", 0.0)


def test_without_a_trajectory_it_is_skipped_by_name() -> None:
    rubric = parse_rubric(
        'id: r\nversion: "1.0"\nscoring: {combine: all_pass}\n'
        "checks: [{kind: tool_usage, source: expected.tools}]\n"
    )

    verdict = evaluate(rubric, "", {"expected": {"tools": ["a"]}}, [ToolUsageExecutor()])

    assert verdict.score is None
    assert verdict.skipped[0].reason.startswith("tool_usage needs a recorded trajectory")


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ([], "is empty"),
        ([7], "expected call 0"),
        ([{"arguments": {}}], "expected call 0"),
        ([{"name": "a", "arguments": [1]}], "arguments of expected call 0 are no mapping"),
        ([""], "expected call 0"),
    ],
)
def test_an_authors_mistake_fails_the_check_and_is_named(
    check: Callable[..., CheckOutcome], expected: Any, words: str
) -> None:
    outcome = check(expected, match_args=True)

    assert outcome.status == "failed"
    assert words in outcome.reason


@pytest.mark.parametrize(
    "trajectory", ["text", 7, {}, {"steps": 3}, {"steps": [1]}, {"steps": [{"tool_calls": "x"}]}, [1], [{}]]
)
def test_a_trajectory_of_no_known_shape_is_no_pass(
    check: Callable[..., CheckOutcome], trajectory: Any
) -> None:
    with pytest.raises(Unreadable):
        calls(trajectory)
    assert check(["a"], trajectory).status == "failed"


def test_calls_keep_their_order_and_copied_context_counts_once() -> None:
    assert [call.name for call in calls(ATIF)] == ["search", "read", "finish"]
    assert calls(PLAIN)[1] == Call("read", {"path": "a.py"})


def test_a_transcript_holds_what_was_said_called_and_seen() -> None:
    text = transcript(ATIF)

    for piece in ("Mend it.", "Looking.", "Where is it?", 'read {"path": "a.py"}', "a.py:7"):
        assert piece in text
    assert 'read {"path": "a.py"}' in transcript(PLAIN)
    assert transcript("as it is") == "as it is"
    assert transcript({"a": "é"}) == '{"a": "é"}'
