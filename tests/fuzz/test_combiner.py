"""Whatever checks come to: the score that a second, naive arithmetic has, or none.

A silent pass would be a verdict that passes below its threshold, with nothing executed, with a check in
error, with weights of zero, or on a score that is no number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.combine import combine
from orchestrator.contract import Context
from orchestrator.documents.rubric import Rubric, Scoring
from orchestrator.errors import AuthoringError
from orchestrator.grading import evaluate, verdict_json
from orchestrator.outcomes import CheckOutcome, Verdict

MODES = ("all_pass", "any_pass", "weighted_avg", "min", "max", "median")
IDS = st.sampled_from(["", "a", "b", "c"])
GRID = st.integers(0, 10).map(lambda n: n / 10) | st.integers(0, 8).map(lambda n: n / 8)
NEAR = st.sampled_from([0, 1e-12, -1e-12, 1e-7, -1e-7, 1e-4, -1e-4])
SHARES = GRID | st.floats(0, 1) | st.sampled_from([1 / 3, 5e-324, 1 - 1e-16, 0, 1])
ANY = st.floats() | st.integers(-3, 3) | st.sampled_from([math.nan, math.inf, -math.inf, True])
Raw = tuple[str, str, float]
DONE = st.sampled_from(["passed", "failed"])
EXECUTED = st.tuples(IDS, DONE, SHARES)
RAW = st.one_of(
    st.lists(EXECUTED, min_size=1, max_size=5),
    st.lists(EXECUTED, min_size=2, max_size=4).map(lambda some: [*some, ("a", "skipped", 0.0)]),
    st.lists(
        st.tuples(IDS, st.sampled_from(["passed", "failed", "skipped", "error"]), SHARES | ANY), max_size=5
    ),
)
WEIGHTS = st.one_of(
    st.dictionaries(st.sampled_from("abcd"), GRID, max_size=4),
    st.just({"a": 0, "b": 0, "c": 0}),
    st.sampled_from([{"a": 1e300, "b": 1e-300}, {"a": 1, "b": 2}]),
    st.dictionaries(st.sampled_from("abcd"), ANY, max_size=2),
)


@st.composite
def thresholds(draw: st.DrawFn) -> float | None:
    """Often just beside what scores come to."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.none() | ANY)
    return min(1.0, max(0.0, draw(GRID) + draw(NEAR)))


SCORINGS = st.builds(
    Scoring.model_construct,
    combine=st.sampled_from([*MODES, "weighted_avg", "weighted_avg"]),
    threshold=thresholds(),
    weights=WEIGHTS,
)


@settings(max_examples=300, deadline=None)
@given(RAW, SCORINGS)
def test_the_score_is_the_naive_one(raw: list[Raw], scoring: Scoring) -> None:
    outcomes = [CheckOutcome(name, "probe", status, score, "") for name, status, score in raw]  # type: ignore[arg-type]
    for outcome, (_, status, score) in zip(outcomes, raw, strict=True):
        sane(outcome, status, score)
    try:
        found = combine(outcomes, scoring)
    except AuthoringError:
        assert not usable(scoring)
        return
    assert usable(scoring)
    score, passed = naively(outcomes, scoring)
    assert found.reason
    assert (found.score is None) == (score is None)
    if score is None:
        assert found.passed is None
        return
    assert found.score is not None and 0 <= found.score <= 1
    assert abs(Fraction(found.score) - score) <= Fraction(1, 10**15)
    assert passed is None or found.passed is passed


def sane(outcome: CheckOutcome, status: str, score: float) -> None:
    """A score that is no number never passes; the others are clamped."""
    if status in ("skipped", "error"):
        assert (outcome.status, outcome.score) == (status, None)
    elif isinstance(score, bool) or not math.isfinite(score):
        assert (outcome.status, outcome.score) == ("failed", 0.0)
    else:
        assert (outcome.status, outcome.score) == (status, min(1.0, max(0.0, score)))


def usable(scoring: Scoring) -> bool:
    weights, least = [*scoring.weights.values()], scoring.threshold
    if any(isinstance(number, bool) for number in (*weights, least)):
        return False
    return all(math.isfinite(n) and n >= 0 for n in weights) and (least is None or 0 <= least <= 1)


def naively(outcomes: list[CheckOutcome], scoring: Scoring) -> tuple[Fraction | None, bool | None]:
    """(score, passed); passed is None where the score lies too near the threshold to tell."""
    if any(o.status == "error" for o in outcomes):
        return None, None
    done = [o for o in outcomes if o.status in ("passed", "failed")]
    if not done:
        return None, None
    if scoring.combine in ("all_pass", "any_pass"):
        flags = [o.status == "passed" for o in done]
        good = all(flags) if scoring.combine == "all_pass" else any(flags)
        return Fraction(int(good)), good
    scores = sorted(exact(o.score) for o in done)
    score = {"min": scores[0], "max": scores[-1], "median": middle(scores)}.get(scoring.combine)
    if score is None:
        weights = [exact(scoring.weights.get(o.check_id, 1) if o.check_id else 1) for o in done]
        if not any(weights):
            return Fraction(0), False
        pairs = zip(weights, (exact(o.score) for o in done), strict=True)
        score = sum((w * s for w, s in pairs), Fraction(0)) / sum(weights)
    away = score - (exact(0.5 if scoring.threshold is None else scoring.threshold) - Fraction(1, 10**9))
    return score, None if abs(away) < Fraction(1, 10**14) else away > 0


def middle(scores: list[Fraction]) -> Fraction:
    low, high = scores[(len(scores) - 1) // 2], scores[len(scores) // 2]
    return (low + high) / 2


def exact(number: Any) -> Fraction:
    return Fraction(str(number))


class Wild:
    """An executor that does anything at all."""

    def applies(self, check: Any) -> bool:
        return check["kind"] == "wild"

    def execute(self, check: Any, response: Any, context: Context) -> Any:
        does = check["does"]
        if isinstance(does, Exception):
            raise does
        return does


DEEDS = st.one_of(
    st.builds(
        CheckOutcome,
        IDS,
        st.text(max_size=3),
        st.sampled_from(["passed", "failed", "fine"]),
        SHARES | ANY,
        st.just(""),
    ),
    st.sampled_from([None, True, 1.0, ValueError("x"), KeyError("y"), RecursionError(), ZeroDivisionError()]),
    st.builds(
        lambda d: CheckOutcome("", "wild", "passed", 1.0, "", d),
        st.dictionaries(IDS, st.floats() | st.binary()),
    ),
)
CHECKS = st.one_of(
    st.builds(lambda deed, name: {"kind": "wild", "id": name, "does": deed}, DEEDS, IDS),
    st.builds(
        lambda ref: {"kind": "composite", "rubric_ref": ref},
        st.sampled_from("abcd").map("rubric/{}@1.0".format),
    ),
    st.sampled_from([{"kind": "nobody"}, {"kind": "llm_judge"}, {}, {"kind": None}, {"kind": "composite"}]),
)
VALID = st.builds(
    Scoring,
    combine=st.sampled_from(MODES),
    threshold=st.none() | st.floats(0, 1),
    weights=st.dictionaries(st.sampled_from("abcd"), st.floats(0, 10), max_size=3),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.lists(CHECKS, min_size=1, max_size=3), VALID), min_size=1, max_size=4))
def test_no_executor_and_no_nest_of_rubrics_breaks_an_evaluation(drawn: Any) -> None:
    rubrics = {
        f"rubric/{name}@1.0": Rubric.model_construct(
            id=name, version="1.0", checks=tuple(checks), scoring=scoring, enabled=True
        )
        for name, (checks, scoring) in zip("abcd", drawn, strict=False)
    }

    verdict = evaluate(rubrics["rubric/a@1.0"], "text", {}, [Wild()], rubrics.get)

    assert verdict.passed is not True or deserved(verdict, rubrics)
    verdict_json(verdict)


def deserved(verdict: Verdict, rubrics: Any) -> bool:
    """The pass follows from outcomes that are sound."""
    sound = all(
        o.score is not None and math.isfinite(o.score) and 0 <= o.score <= 1
        for o in verdict.outcomes
        if o.executed
    )
    _, passed = naively([*verdict.outcomes, *verdict.skipped], rubrics[verdict.rubric].scoring)
    return sound and any(o.executed for o in verdict.outcomes) and passed is not False
