"""Rubrics from Python (rules 174 to 191, 196 to 198, 223, 225)."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orchestrator
from orchestrator import Rubric, Rule, RuleError, check, load_rubric
from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_rubric

YAML = """id: mine
version: "2.0"
checks:
  - {kind: must_contain_any, id: says, values: [yes]}
  - {kind: composite, id: manner, rubric_ref: rubric/manner@1.0}
scoring: {combine: weighted_avg, threshold: 0.6, weights: {says: 0.6, manner: 0.4}}
""".replace("[yes]", '["yes"]')
MANNER = """id: manner
version: "1.0"
checks: [{kind: must_not_contain, values: [sorry]}]
scoring: {combine: all_pass}
"""


def always(answer: Any, **options: Any) -> Rule:
    return Rule(options.pop("name", "rule"), lambda response, context: answer, **options)


def result_of(rule: Rule, response: str = "x", context: Any = None, threshold: float = 0.5) -> Any:
    return Rubric.build("r", rule, threshold=threshold).evaluate(response, context)


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = "import sys, orchestrator; print([m for m in sys.modules if m.startswith('orchestrator.')])"

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.strip() == "[]"


def test_the_names_are_found_and_others_are_not() -> None:
    assert orchestrator.Rubric is Rubric and "load_rubric" in dir(orchestrator)
    with pytest.raises(AttributeError):
        _ = orchestrator.rubric_of_dreams


def test_a_rubric_is_loaded_from_a_file_with_the_rubrics_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(YAML)
    (tmp_path / "manner.yaml").write_text(MANNER)

    rubric = Rubric.from_yaml(tmp_path / "mine.yaml")
    result = rubric.evaluate("yes, sorry")

    assert (rubric.ref, rubric.id, rubric.threshold) == ("rubric/mine@2.0", "mine", 0.6)
    assert (result.score, result.passed, result.grade) == (0.6, True, 3.0)


@pytest.mark.parametrize("name", ["bug_fix", "bug_fix@1.0", "rubric/bug_fix@1.0"])
def test_a_built_in_rubric_is_loaded_by_name(name: str) -> None:
    assert load_rubric(name).ref == "rubric/bug_fix@1.0"


def test_a_file_is_loaded_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(MANNER)
    (tmp_path / "bare").write_text(MANNER)
    monkeypatch.chdir(tmp_path)

    refs = {load_rubric(place).ref for place in ("mine.yaml", "./mine.yaml", "bare", Path("mine.yaml"))}

    assert refs == {"rubric/manner@1.0"}


def test_a_name_that_is_nothing_is_told_what_there_is() -> None:
    with pytest.raises(AuthoringError, match="there are bug_fix, code_review"):
        load_rubric("bugfix")
    with pytest.raises(AuthoringError, match="no such file"):
        load_rubric("no/such.yaml")


def test_building_is_as_strict_as_a_file() -> None:
    with pytest.raises(AuthoringError) as caught:
        Rubric.build(
            "r",
            check("regex", id="a", patterns=["x"], flagz="i"),
            check("regex", id="a", patterns=[]),
            combine="all_pass",
        )

    said = str(caught.value)
    assert "flagz" in said and "already that of checks[0]" in said and "checks[1].patterns" in said


def test_what_is_built_can_be_written_and_read_back() -> None:
    built = Rubric.build("r", check("regex", id="a", weight=1, patterns=["é+"], flags=""), threshold=0.5)

    assert parse_rubric(built.to_yaml()) == built.document
    assert Rubric.from_text(built.to_yaml()) == built


def test_functions_have_no_yaml() -> None:
    with pytest.raises(AuthoringError, match="holds Python functions"):
        Rubric.build("r", always(True)).to_yaml()


@pytest.mark.parametrize("weight", [-0.1, 1.5, float("nan"), float("inf"), True, "1"])
def test_a_weight_outside_0_to_1_is_refused_at_construction(weight: Any) -> None:
    with pytest.raises(ValueError, match="is not a number from 0 to 1"):
        always(True, weight=weight)


def test_weights_that_must_add_up_to_one_are_summed_once_at_construction() -> None:
    rules = [always(True, name="a", weight=0.5), always(True, name="b", weight=0.4)]

    with pytest.raises(ValueError, match=r"0\.9000"):
        Rubric.build("r", *rules, weights_sum_to_one=True)

    assert Rubric.build("r", *rules).evaluate("x").score == 1.0
    assert Rubric.build("r", rules[0], always(True, name="c", weight=0.5004), weights_sum_to_one=True)


def test_a_weight_needs_an_id() -> None:
    with pytest.raises(AuthoringError, match="has a weight and no id"):
        Rubric.build("r", check("regex", weight=0.5, patterns=["x"]))


@pytest.mark.parametrize(
    ("answer", "score", "passed"),
    [
        (True, 1.0, True),
        (False, 0.0, False),
        (0.5, 0.5, False),
        (1, 1.0, True),
        (0, 0.0, False),
        ((0.25, "one of four"), 0.25, False),
        (7.5, 1.0, True),
        (-2.0, 0.0, False),
        (float("nan"), 0.0, False),
        (float("inf"), 0.0, False),
        (None, 0.0, False),
        ("yes", 0.0, False),
        ((1, 2, 3), 0.0, False),
    ],
)
def test_a_rule_answers_yes_no_or_a_share_and_nothing_else(answer: Any, score: float, passed: bool) -> None:
    result = result_of(always(answer))

    assert result.score == score
    assert result.outcomes[0].passed is passed


def test_a_rule_may_pass_below_the_whole() -> None:
    assert result_of(always(0.5, threshold=0.5)).outcomes[0].passed


def test_a_rule_that_raises_has_failed_is_told_and_stops_nothing() -> None:
    def bad(response: str, context: Any) -> bool:
        raise RuntimeError("no such thing")

    result = Rubric.build("r", Rule("bad", bad), always(True, name="good"), threshold=0.5).evaluate("x")

    assert dict(result.rule_results) == {
        "bad_error": "RuntimeError: no such thing",
        "bad": False,
        "good": True,
    }
    assert (result.score, result.passed) == (0.5, True)
    assert result.suggestions == ("[bad] the rule raised RuntimeError: no such thing",)


def test_missing_context_is_found_before_anything_is_evaluated() -> None:
    called: list[str] = []
    eager = Rule("eager", lambda response, context: bool(called.append("eager")))
    needing = Rule("needing", lambda response, context: True, requires=("user.tier", "limit"))
    rubric = Rubric.build("r", eager, needing)

    with pytest.raises(RuleError) as caught:
        rubric.evaluate("x", {"user": {"name": "a"}})

    assert called == []
    assert "context.limit" in str(caught.value) and "context.user.tier" in str(caught.value)
    assert rubric.evaluate("x", {"user": {"tier": 1}, "limit": None}).passed is not None


def test_a_rule_cannot_change_the_context_and_its_absence_is_an_empty_one() -> None:
    def meddling(response: str, context: Any) -> bool:
        context["seen"] = True
        return True

    assert "TypeError" in str(result_of(Rule("m", meddling)).rule_results["m_error"])
    assert result_of(Rule("e", lambda response, context: len(context) == 0)).passed


def test_text_that_is_not_unicode_fails_a_rule() -> None:
    assert Rubric.build("r", always(True)).evaluate(b"\xff").passed is False


def test_the_result_tells_what_it_is_of_and_cannot_be_changed() -> None:
    rubric = Rubric.build("r", always(True), check("command", id="c", command="true"), version="3.1")

    result = rubric.evaluate("x", {"tier": 1})

    assert dict(result.metadata) == {
        "rubric": "rubric/r@3.1",
        "rule_count": 2,
        "context_keys": ("tier",),
    }
    assert [o.name for o in result.skipped] == ["c"] and "1 of 2 checks not executed" in result.reason
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.verdict = None
    with pytest.raises(TypeError):
        result.metadata["rubric"] = "other"


def test_nothing_executable_is_no_score_and_goes_where_unscored_ones_go() -> None:
    result = Rubric.build("r", check("command", command="true"), combine="all_pass").evaluate("x")

    assert (result.score, result.passed, result.grade) == (None, None, None)
    assert result.route(unscored="ask") == "ask"
    assert result.summary().startswith("rubric/r@1.0: unscored\n")


def test_the_verdict_decides_the_route() -> None:
    assert result_of(always(True)).route() == "accept"
    assert result_of(always(False)).route(failed="fallback") == "fallback"


def test_advice_comes_with_the_rubric() -> None:
    rubric = Rubric.build("r", check("regex", id="a", patterns=["x"]), combine="min")

    assert any("no threshold" in line for line in rubric.advice())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6), st.floats(0, 1), st.text()
)
def test_the_score_is_the_weighted_mean_and_always_the_same(
    parts: list[tuple[float, float]], threshold: float, response: str
) -> None:
    rules = [always(s, name=f"r{n}", weight=w) for n, (s, w) in enumerate(parts)]
    rubric = Rubric.build("r", *rules, threshold=threshold)
    total = sum(w for _, w in parts)

    first, second = rubric.evaluate(response), rubric.evaluate(response)

    assert first == second
    if total > 1e-9:
        assert first.score == pytest.approx(sum(s * w for s, w in parts) / total)
    assert 0 <= first.score <= 1
