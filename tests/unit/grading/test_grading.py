"""Dispatch, skips, composites, faults and the shape of a verdict (rules 40 to 51, 87 to 96, 141 to 150)."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from orchestrator.contract import Context
from orchestrator.documents.benchmark import Environment, Task
from orchestrator.errors import TaskInvalid
from orchestrator.grading import verdict_json
from orchestrator.outcomes import CheckOutcome
from sandboxes.errors import EngineGone, Evicted

SORRY = {"kind": "must_contain_any", "values": ["sorry"]}
PROBE = {"kind": "probe"}


def composite(ref: str, **more: Any) -> dict[str, Any]:
    return {"kind": "composite", "rubric_ref": ref} | more


# --- dispatch ---------------------------------------------------------------------------------------


def test_checks_are_evaluated_in_listed_order_and_need_no_id(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric(SORRY, {"kind": "regex", "patterns": ["x"]}, SORRY), "sorry")

    assert [o.kind for o in verdict.outcomes] == ["must_contain_any", "regex", "must_contain_any"]
    assert {o.check_id for o in verdict.outcomes} == {""}


def test_the_first_executor_that_applies_gets_the_check(rubric: Any, grade: Any, stub: Any) -> None:
    first, second = stub("probe"), stub("probe")

    grade(rubric(PROBE), executors=(first, second))

    assert (first.calls, second.calls) == (1, 0)


def test_a_check_without_an_executor_is_left_out_and_named(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric(SORRY, {"kind": "json_schema"}, {"kind": "tool_usage"}), "sorry")

    assert (verdict.score, verdict.passed) == (1.0, True)
    assert [o.kind for o in verdict.skipped] == ["json_schema", "tool_usage"]
    assert "2 of 3 checks not executed: json_schema, tool_usage" in verdict.reason


def test_nothing_executable_is_no_score_and_no_error(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric({"kind": "llm_judge"}, {"kind": "fact_match"}))

    assert (verdict.score, verdict.passed, verdict.outcomes) == (None, None, ())
    assert "llm_judge" in verdict.reason and "fact_match" in verdict.reason


def test_a_judge_by_model_is_never_executed_even_when_a_plugin_offers_to(
    rubric: Any, grade: Any, stub: Any
) -> None:
    eager = stub("llm_judge")

    assert grade(rubric({"kind": "llm_judge"}), executors=(eager,)).score is None
    assert eager.calls == 0


@pytest.mark.parametrize("kind", ["command", "score_delta"])
def test_an_oracle_without_a_sandbox_is_skipped_by_name_and_nothing_runs(
    kind: str, rubric: Any, grade: Any, stub: Any
) -> None:
    oracle = stub(kind, needs=frozenset({"judge"}))

    verdict = grade(rubric({"kind": kind}, SORRY), "sorry", executors=(oracle, *_text()))

    assert verdict.score == 1.0
    assert "needs a sandbox" in verdict.skipped[0].reason
    assert oracle.calls == 0


def test_an_oracle_with_a_sandbox_is_combined_like_any_text_check(rubric: Any, grade: Any, stub: Any) -> None:
    oracle = stub("command", needs=frozenset({"judge"}))
    context = Context({}, judge=object())  # type: ignore[arg-type]

    verdict = grade(
        rubric({"kind": "command"}, SORRY, combine="weighted_avg"),
        "no",
        context,
        executors=(oracle, *_text()),
    )

    assert verdict.score == 0.5


def test_a_trajectory_makes_a_check_that_needs_one_executable(rubric: Any, grade: Any, stub: Any) -> None:
    reader = stub("tool_usage", needs=frozenset({"trajectory"}))

    assert grade(rubric({"kind": "tool_usage"}), executors=(reader,)).score is None
    assert (
        grade(rubric({"kind": "tool_usage"}), "", Context({}, trajectory=[]), executors=(reader,)).score
        == 1.0
    )


def test_the_ai_eval_set_runs_the_five_kinds_and_is_recorded(rubric: Any, grade: Any, stub: Any) -> None:
    plugin, oracle = stub("json_schema"), stub("command")

    verdict = grade(
        rubric(SORRY, {"kind": "json_schema"}, {"kind": "command"}),
        "sorry",
        executors=(*_text(), plugin, oracle),
        executor_set="ai_eval",
    )

    assert [o.kind for o in verdict.skipped] == ["json_schema", "command"]
    assert verdict.executors == "ai_eval"
    assert grade(rubric(SORRY)).executors == "all"


def test_the_context_is_the_question_row(rubric: Any, grade: Any) -> None:
    check = {"kind": "target_match", "reference_path": "expected.answer"}

    assert grade(rubric(check), "Yes", {"expected": {"answer": "yes"}}).passed


# --- faults -----------------------------------------------------------------------------------------


def test_an_executors_exception_fails_its_check_with_type_and_text(
    rubric: Any, grade: Any, stub: Any
) -> None:
    verdict = grade(
        rubric(PROBE, SORRY, combine="any_pass"),
        "sorry",
        executors=(stub("probe", ValueError("odd")), *_text()),
    )

    assert "ValueError: odd" in verdict.outcomes[0].reason
    assert (verdict.outcomes[0].status, verdict.passed) == ("failed", True)


def test_an_oracles_own_bug_is_no_score(rubric: Any, grade: Any, stub: Any) -> None:
    oracle = stub("probe", ValueError("odd"))
    oracle.needs = frozenset({"judge"})

    verdict = grade(rubric(PROBE, SORRY), "sorry", Context({}, judge=object()), executors=(oracle, *_text()))

    assert (verdict.score, verdict.passed) == (None, None)
    assert verdict.outcomes[0].details["end"] == "harness_error"
    assert "ValueError: odd" in verdict.outcomes[0].reason


def test_infrastructure_trouble_is_an_error_and_no_score_while_the_others_go_on(
    rubric: Any, grade: Any, stub: Any
) -> None:
    broken = stub("probe", EngineGone("no answer"))

    verdict = grade(rubric(PROBE, SORRY, combine="any_pass"), "sorry", executors=(broken, *_text()))

    assert [o.status for o in verdict.outcomes] == ["error", "passed"]
    assert (verdict.score, verdict.passed, verdict.errored) == (None, None, True)
    assert verdict.outcomes[0].details["end"] == "engine_gone"


@pytest.mark.parametrize(
    "fault", [TaskInvalid("gold fails"), Evicted("stopped"), KeyboardInterrupt(), MemoryError()]
)
def test_what_is_nobodys_score_travels_up(fault: BaseException, rubric: Any, grade: Any, stub: Any) -> None:
    with pytest.raises(type(fault)):
        grade(rubric(PROBE), executors=(stub("probe", fault),))


@pytest.mark.parametrize(
    ("returned", "cause"),
    [
        (True, "returned bool"),
        (CheckOutcome("", "probe", "passed", 1.0, "", {"n": math.nan}), "not JSON"),
        (CheckOutcome("", "probe", "great", 1.0, ""), "unknown status"),  # type: ignore[arg-type]
        (CheckOutcome("", "probe", "passed", math.nan, "computed"), "not a finite number"),
    ],
)
def test_an_executor_that_breaks_its_contract_fails_the_check(
    returned: Any, cause: str, rubric: Any, grade: Any, stub: Any
) -> None:
    verdict = grade(rubric(PROBE), executors=(stub("probe", returned),))

    assert (verdict.outcomes[0].status, verdict.score) == ("failed", 0.0)
    assert cause in verdict.outcomes[0].reason


def test_an_outcome_always_carries_its_own_checks_id_and_kind(rubric: Any, grade: Any, stub: Any) -> None:
    impostor = CheckOutcome("other", "regex", "passed", 1.0, "")

    outcome = grade(rubric({"id": "mine", "kind": "probe"}), executors=(stub("probe", impostor),)).outcomes[0]

    assert (outcome.check_id, outcome.kind) == ("mine", "probe")


def test_a_check_without_a_kind_fails_and_the_others_go_on(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric({"values": ["x"]}, SORRY), "sorry")

    assert [o.status for o in verdict.outcomes] == ["failed", "passed"]


# --- composites -------------------------------------------------------------------------------------


def store(*rubrics: Any) -> Any:
    return {r.ref: r for r in rubrics}.get


def test_a_composite_is_one_outcome_with_the_sub_rubrics_own_verdict(rubric: Any, grade: Any) -> None:
    sub = rubric(SORRY, {"kind": "must_contain_any", "values": ["z"]}, {"kind": "llm_judge"},
                 id="sub", combine="weighted_avg", threshold=0.4)  # fmt: skip

    verdict = grade(
        rubric(composite("rubric/sub@1.0", id="tone"), SORRY, combine="weighted_avg", weights={"tone": 3}),
        "sorry",
        rubrics=store(sub),
    )

    tone = verdict.outcomes[0]
    assert (tone.check_id, tone.kind, tone.score, tone.passed) == ("tone", "composite", 0.5, True)
    assert "1 of 3 checks not executed: llm_judge" in tone.reason
    assert verdict.score == 0.625


def chain(rubric: Any, length: int) -> list[Any]:
    """Rubrics 0 to `length`, each holding a text check and a composite of the next one."""
    made = [rubric(SORRY, composite(f"rubric/r{n + 1}@1.0"), id=f"r{n}") for n in range(length)]
    return [*made, rubric(SORRY, id=f"r{length}")]


def test_composites_nest_three_levels_deep(rubric: Any, grade: Any) -> None:
    rubrics = chain(rubric, 3)

    verdict = grade(rubrics[0], "sorry", rubrics=store(*rubrics))

    assert verdict.passed and "not executed" not in verdict.outcomes[1].reason


def test_the_fourth_level_is_skipped_and_the_run_goes_on(rubric: Any, grade: Any) -> None:
    rubrics = chain(rubric, 4)

    verdict = grade(rubrics[0], "sorry", rubrics=store(*rubrics))

    assert verdict.passed
    assert verdict.reason.endswith("; not executed within composites: composite of rubric/r3@1.0")


def test_a_cycle_ends_and_its_composite_is_skipped(rubric: Any, grade: Any) -> None:
    selfish = rubric(SORRY, composite("rubric/r@1.0"))

    verdict = grade(selfish, "sorry", rubrics=store(selfish))

    assert verdict.passed
    assert "cycle: rubric/r@1.0 > rubric/r@1.0" in verdict.skipped[0].reason


def test_a_ref_that_names_nothing_is_skipped_with_the_ref_in_the_reason(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric(composite("rubric/gone@2.0"), SORRY), "sorry")

    assert verdict.passed
    assert "rubric/gone@2.0" in verdict.skipped[0].reason


def test_a_disabled_rubric_is_as_good_as_none(rubric: Any, grade: Any) -> None:
    retired = rubric(SORRY, id="old").model_copy(update={"enabled": False})

    verdict = grade(rubric(composite(retired.ref)), "sorry", rubrics=store(retired))

    assert verdict.score is None
    assert "disabled" in " ".join(grade(retired, "sorry").warnings)


def test_a_sub_rubric_with_nothing_executable_makes_its_composite_non_executable(
    rubric: Any, grade: Any
) -> None:
    empty = rubric({"kind": "llm_judge"}, id="empty")

    verdict = grade(rubric(composite(empty.ref), SORRY), "sorry", rubrics=store(empty))

    assert verdict.passed
    assert "llm_judge" in verdict.skipped[0].reason


def test_an_error_below_a_composite_is_an_error_above(rubric: Any, grade: Any, stub: Any) -> None:
    sub = rubric(PROBE, id="sub")

    verdict = grade(
        rubric(composite(sub.ref)), rubrics=store(sub), executors=(stub("probe", EngineGone("x")),)
    )

    assert verdict.errored and verdict.score is None


@pytest.mark.parametrize("ref", [None, "sub@1.0", "rubric/sub", "rubric/Sub@1.0", "rubric/sub@", 5])
def test_a_malformed_ref_fails_loudly(ref: Any, rubric: Any, grade: Any) -> None:
    verdict = grade(rubric(composite(ref)))

    assert verdict.outcomes[0].status == "failed"
    assert "malformed" in verdict.outcomes[0].reason


# --- the verdict ------------------------------------------------------------------------------------


def test_chrf_counts_with_its_score_in_an_average_and_as_a_fail_in_all_pass(rubric: Any, grade: Any) -> None:
    check = {"kind": "target_match", "reference_path": "expected.a", "mode": "chrf", "threshold": 0.95}
    row = {"expected": {"a": "the quick brown fox"}}

    averaged = grade(rubric(check, combine="weighted_avg"), "the quick brown fix", row)
    strict = grade(rubric(check), "the quick brown fix", row)

    assert 0.5 < averaged.score < 0.95 and averaged.passed
    assert (strict.score, strict.passed) == (0.0, False)


def test_a_weight_for_an_unknown_id_and_a_double_id_are_warnings(rubric: Any, grade: Any) -> None:
    twice = SORRY | {"id": "a"}

    warnings = grade(
        rubric(twice, twice, combine="weighted_avg", weights={"contry": 1, "a": 1}), "sorry"
    ).warnings

    assert any("scoring.weights.contry" in w for w in warnings)
    assert any("2 checks share the id 'a'" in w for w in warnings)


def test_warnings_of_a_composites_rubric_are_shown_above(rubric: Any, grade: Any) -> None:
    sub = rubric(SORRY, id="sub", weights={"stray": 1})

    assert grade(rubric(composite(sub.ref)), rubrics=store(sub)).warnings == (
        "rubric/sub@1.0: scoring.weights.stray matches no check id and changes nothing",
    )


def test_suggestions_come_from_failed_checks_alone(rubric: Any, grade: Any, stub: Any) -> None:
    failing = {"id": "polite", "kind": "must_contain_any", "values": ["sorry"]}

    verdict = grade(
        rubric(failing, {"kind": "llm_judge"}, PROBE, {"kind": "must_not_contain", "values": ["z"]}),
        "no",
        executors=(stub("probe", EngineGone("x")), *_text()),
    )

    assert verdict.suggestions == ('[polite] contains none of "sorry"',)


def test_the_json_of_a_verdict_has_exactly_the_agreed_shape(rubric: Any, grade: Any, stub: Any) -> None:
    verdict = grade(rubric(SORRY | {"id": "s"}, {"kind": "llm_judge"}), "sorry")

    shown = json.loads(json.dumps(verdict_json(verdict), allow_nan=False))

    assert list(shown) == [
        *("rubric", "score", "passed", "reason", "outcomes", "skipped", "warnings", "route", "executors")
    ]
    assert shown["rubric"] == "rubric/r@1.0"
    assert shown["outcomes"] == [
        {"id": "s", "kind": "must_contain_any", "score": 1.0, "passed": True, "reason": 'contains "sorry"'}
    ]
    assert set(shown["skipped"][0]) == {"id", "kind", "reason"}


def test_an_errored_check_is_null_in_the_json_and_never_a_zero(rubric: Any, grade: Any, stub: Any) -> None:
    shown = verdict_json(grade(rubric(PROBE), executors=(stub("probe", EngineGone("x")),)))

    assert (shown["score"], shown["passed"]) == (None, None)
    assert (shown["outcomes"][0]["score"], shown["outcomes"][0]["passed"]) == (None, None)


def test_only_what_clearly_passed_is_accepted_and_what_was_not_judged_goes_nowhere(
    rubric: Any, grade: Any, stub: Any
) -> None:
    broken = (stub("probe", EngineGone("x")),)

    assert grade(rubric(SORRY), "sorry").route == "accept"
    assert grade(rubric(SORRY), "no").route == "review"
    assert grade(rubric({"kind": "llm_judge"})).route == "review"
    assert verdict_json(grade(rubric(PROBE), executors=broken))["route"] is None


def test_a_bad_rule_does_not_stop_the_others(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric({"kind": "regex", "patterns": ["("]}, SORRY, combine="any_pass"), "sorry")

    assert verdict.passed
    assert '"(" does not compile' in verdict.outcomes[0].reason


def test_a_verdict_cannot_be_changed(rubric: Any, grade: Any) -> None:
    verdict = grade(rubric(SORRY), "sorry")

    with pytest.raises(AttributeError):
        verdict.score = 1.0
    with pytest.raises(AttributeError):
        verdict.outcomes[0].score = 1.0


def test_attaching_a_rubric_executes_nothing_until_a_grader_or_a_room_asks_for_it() -> None:
    ref = "rubric/r@1.0"

    assert not Task(id="q", rubric_ref=ref).grades_rubric
    assert Task(id="q", rubric_ref=ref, graders=("rubric_checks",)).grades_rubric
    assert Task(id="q", rubric_ref=ref, environment=Environment(host=True)).grades_rubric
    assert not Task(id="q", rubric_ref=ref, environment=Environment(host=True), graders=()).grades_rubric


def test_many_questions_share_a_rubric_and_others_have_their_own(rubric: Any, grade: Any) -> None:
    resolve = store(
        rubric(SORRY, id="tone"), rubric({"kind": "must_contain_any", "values": ["42"]}, id="fact")
    )
    questions = {"Q1": "rubric/tone@1.0", "Q2": "rubric/tone@1.0", "Q3": "rubric/fact@1.0"}

    verdicts = {name: grade(resolve(ref), "so sorry") for name, ref in questions.items()}

    assert {name: v.rubric for name, v in verdicts.items()} == questions
    assert [v.passed for v in verdicts.values()] == [True, True, False]


def test_an_unknown_set_of_executors_is_refused(rubric: Any, grade: Any) -> None:
    with pytest.raises(ValueError, match="some"):
        grade(rubric(SORRY), executor_set="some")


def _text() -> Any:
    from orchestrator.checks.target import TargetMatchExecutor
    from orchestrator.checks.text import TextExecutor

    return (TextExecutor(), TargetMatchExecutor())
