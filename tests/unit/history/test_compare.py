"""Comparing runs: what is paired, what is refused, what is claimed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.errors import AuthoringError
from orchestrator.history.claims import as_json, claim
from orchestrator.history.compare import Comparison, compare, compare_all, exit_code
from orchestrator.history.facts import TrialFacts
from orchestrator.history.pairing import Subject
from tests.unit.history.conftest import MakeRun, delta_outcome


def subject(name: str, tasks: dict[str, Any], agent: str = "command:a", **more: Any) -> Subject:
    """A run made of {task: marks}; see conftest.Marks."""
    words = {"p": "passed", "f": "failed", "e": "errored", "i": "invalid", "u": "unscored", "n": "not_run"}
    rubric = more.pop("rubric", "rubric/r@1.0")
    trials = tuple(
        TrialFacts(
            f"{task}.{n}", task, agent, n,
            words[mark] if isinstance(mark, str) else ("passed" if mark >= 0.7 else "failed"),
            "graded", {"p": 1.0, "f": 0.0}.get(mark) if isinstance(mark, str) else mark,
            None, 1.0, "", rubric, "all", 1,
        )
        for task, marks in tasks.items()
        for n, mark in enumerate(marks, 1)
    )  # fmt: skip
    return Subject(name, f"id-{name}", "demo", "1.0", (agent,), trials, **more)


def pair(base: dict[str, Any], new: dict[str, Any], **options: Any) -> Comparison:
    return compare(subject("base", base), subject("new", new), **options)


def many(prefix: str, count: int, marks: str) -> dict[str, str]:
    return {f"{prefix}{n}": marks for n in range(count)}


def test_every_task_has_exactly_one_fate() -> None:
    base = {"a": "f", "b": "p", "c": "p", "d": "f", "gone": "p", "wrong": "i", "lost": "p"}
    new = {"a": "p", "b": "f", "c": "p", "d": "f", "fresh": "p", "wrong": "p", "lost": "e"}

    found = pair(base, new)

    assert (found.fixed, found.broken, found.flickering) == (("a",), ("b",), ())
    assert found.pairing.new == ("fresh",)
    assert found.pairing.missing == ("gone",)
    assert found.pairing.invalid == ("wrong",)
    assert found.pairing.ungraded == ("lost",)
    assert (found.pairs, found.pairing.lost) == (4, 1)


@pytest.mark.parametrize(
    ("base", "new", "fate"),
    [
        ("ppp", "fff", "broken"),
        ("ppf", "pff", "broken"),
        ("fff", "pfp", "fixed"),
        ("ppp", "ppf", "flickering"),
        ("pf", "pf", "flickering"),
        ("pp", "pf", "flickering"),
        ("ppp", "ppp", "unchanged"),
        ("fff", "fff", "unchanged"),
    ],
)
def test_with_repeats_what_most_of_them_say_decides(base: str, new: str, fate: str) -> None:
    (task,) = pair({"t": base}, {"t": new}).pairing.tasks

    assert task.fate == fate


def test_means_of_unlike_runs_are_never_compared() -> None:
    """B139: ten tasks against eight of them and two new ones: only the eight count."""
    base = {**many("t", 8, "p"), "hard1": "f", "hard2": "f"}
    new = {**many("t", 8, "p"), "easy1": "p", "easy2": "p"}

    found = pair(base, new)

    assert found.rates == (1.0, 1.0)
    assert found.pairing.missing == ("hard1", "hard2")
    assert found.pairing.new == ("easy1", "easy2")


@pytest.mark.parametrize(
    ("rubric", "told"),
    [("rubric/r@2.0", "had rubric/r@1.0 and has rubric/r@2.0 now"), ("rubric/other@1.0", "rubric/other@1.0")],
)
def test_scores_of_another_rubric_or_major_version_are_refused_unless_told(rubric: str, told: str) -> None:
    """B139, rule 9."""
    base, new = subject("base", many("t", 3, "p")), subject("new", many("t", 3, "f"), rubric=rubric)

    with pytest.raises(AuthoringError, match=told):
        compare(base, new)

    assert compare(base, new, across=True).warnings[0] == f"t0, t1, t2 had rubric/r@1.0 and has {rubric} now"


def test_a_minor_version_is_compared_and_named() -> None:
    base, new = subject("base", {"t": "p"}), subject("new", {"t": "p"}, rubric="rubric/r@1.1")

    assert compare(base, new).warnings == ("rubric/r@1.0 became rubric/r@1.1",)


def test_a_run_against_itself_is_told() -> None:
    one = subject("base", {"t": "p"})

    assert compare(one, one).warnings == ("both are the same run",)


def test_runs_without_a_task_in_common_are_the_authors_to_mend() -> None:
    with pytest.raises(AuthoringError, match="no task in common"):
        pair({"a": "p"}, {"b": "p"})


def test_what_has_no_score_is_nobodys_loss_and_cannot_open_a_gate() -> None:
    nothing = pair(many("t", 8, "p"), many("t", 8, "e"))
    wrong = pair(many("t", 8, "p"), many("t", 8, "i"))
    most = pair(many("t", 8, "pp"), many("t", 8, "pe"))

    assert (nothing.regression, exit_code([nothing]), exit_code([wrong])) == (False, 3, 2)
    assert claim(nothing) == "Nothing can be claimed: no task has a score on both sides (8 without one)."
    assert exit_code([most]) == 0
    assert "8 pairs of shared tasks left out for want of a score" in most.warnings[0]


def test_a_regression_is_claimed_from_six_broken_tasks_on() -> None:
    five = pair(many("t", 40, "p"), {**many("t", 40, "p"), **many("t", 5, "f")})
    six = pair(many("t", 40, "p"), {**many("t", 40, "p"), **many("t", 6, "f")})

    assert (five.verdict, exit_code([five])) == ("none", 0)
    assert (six.verdict, exit_code([six])) == ("worse", 1)
    assert claim(six) == (
        "new is worse: 6 broken and 0 fixed of 40 tasks (p = 0.031); the pass rate went from 100 % to 85 % "
        "(95 % interval of the difference -27.5 to -5.0 points)."
    )
    assert claim(five).startswith(
        "No difference can be claimed: 5 broken and 0 fixed of 40 tasks, which may be"
    )
    assert claim(five).endswith(
        "a true change of the pass rate by less than about 15 points would mostly go unseen."
    )


def test_a_gain_is_claimed_likewise_and_is_no_failure() -> None:
    found = pair(many("t", 40, "f"), {**many("t", 40, "f"), **many("t", 9, "p")})

    assert (found.verdict, found.regression, exit_code([found])) == ("better", False, 0)
    assert claim(found).startswith("new is better: 0 broken and 9 fixed of 40 tasks (p = 0.0039)")


def test_too_few_tasks_are_told_to_prove_nothing() -> None:
    found = pair(many("t", 4, "p"), many("t", 4, "f"))

    assert found.verdict == "none"
    assert claim(found).endswith(
        "at this level 6 tasks at least must turn the same way; the runs share only 4 tasks."
    )


def test_repeats_of_three_broken_tasks_are_no_nine_pieces_of_evidence() -> None:
    found = pair(many("t", 30, "ppp"), {**many("t", 30, "ppp"), **many("t", 3, "fff")})

    assert found.discordant == (9, 0)
    assert found.verdict == "none"


def test_scores_that_say_more_than_passed_are_a_question_of_their_own() -> None:
    base = {f"t{n}": [0.9] for n in range(12)}
    new = {f"t{n}": [0.8] for n in range(12)}

    found = pair(base, new)

    assert [q.measure for q in found.questions] == ["passes", "scores"]
    assert found.verdict == "worse"
    assert found.broken == ()
    assert "the mean score by -10.0" in claim(found)


def test_several_comparisons_are_corrected_together() -> None:
    base = subject("base", many("t", 40, "p"))
    worse = subject("worse", {**many("t", 40, "p"), **many("t", 6, "f")})
    same = subject("same", many("t", 40, "p"))

    alone, together = compare(base, worse), compare_all(base, [worse, same])

    assert alone.regression
    assert together[0].questions[0].p_adjusted == pytest.approx(2 * 0.03125)
    assert not together[0].regression
    assert "corrected for several questions" in claim(together[0])


def test_runs_that_differ_only_in_their_agent_are_compared_by_task() -> None:
    base, new = subject("r1", {"t": "p"}, agent="command:old"), subject("r2", {"t": "f"}, agent="command:new")

    found = compare(base, new)

    assert (found.base.agent, found.new.agent, found.broken) == ("command:old", "command:new", ("t",))


def runs(*tables: dict[str, dict[str, Any]]) -> list[Subject]:
    """Runs with several agents: {agent: {task: marks}}."""
    found = []
    for number, table in enumerate(tables):
        parts = [subject(f"r{number}", tasks, agent=agent) for agent, tasks in table.items()]
        trials = tuple(trial for part in parts for trial in part.trials)
        found.append(Subject(f"r{number}", f"id-{number}", "demo", "1.0", tuple(table), trials))
    return found


def test_agents_of_equal_name_are_compared_and_the_two_that_are_left() -> None:
    base, new = runs(
        {"gold": {"t": "p"}, "command:a": {"t": "p"}, "command:x": {"t": "p"}},
        {"gold": {"t": "p"}, "command:a": {"t": "f"}, "command:y": {"t": "f"}},
    )

    found = compare_all(base, [new])

    assert [(c.base.agent, c.new.agent) for c in found] == [("command:a",) * 2, ("command:x", "command:y")]


def test_agents_that_cannot_be_told_apart_are_asked_for() -> None:
    base, new = runs({"command:a": {"t": "p"}, "command:b": {"t": "p"}}, {"command:c": {"t": "f"}})

    with pytest.raises(AuthoringError, match="--base-agent and --new-agent"):
        compare_all(base, [new])
    with pytest.raises(AuthoringError, match="r0 has no agent command:z; it has command:a, command:b"):
        compare_all(base, [new], base_agent="command:z")
    (named,) = compare_all(base, [new], base_agent="command:b")
    (within,) = compare_all(base, [base], base_agent="command:a", new_agent="command:b")
    assert (named.base.agent, named.new.agent) == ("command:b", "command:c")
    assert (within.base.agent, within.new.agent) == ("command:a", "command:b")


def test_where_gold_changed_the_ground_moved_and_not_the_candidate() -> None:
    base, new = runs(
        {"gold": {"t": "p"}, "command:a": {"t": "p"}}, {"gold": {"t": "f"}, "command:a": {"t": "f"}}
    )

    (found,) = compare_all(base, [new])

    assert found.new.agent == "command:a"
    assert "gold changed on 1 task (t)" in found.warnings[0]


def test_runs_of_gold_alone_are_compared_like_any_other() -> None:
    base, new = runs({"gold": {"t": "p"}}, {"gold": {"t": "f"}})

    assert compare(base, new).broken == ("t",)


MARKS = st.dictionaries(
    st.sampled_from("abcdefghij"), st.text("pfeiu", min_size=1, max_size=3), min_size=1, max_size=10
)


@given(MARKS, MARKS)
@settings(max_examples=120, deadline=None)
def test_a_comparison_turned_around_says_the_opposite(first: dict[str, str], second: dict[str, str]) -> None:
    if not set(first) & set(second):
        return
    one, other = pair(first, second), pair(second, first)

    assert set(one.fixed) == set(other.broken) and set(one.broken) == set(other.fixed)
    assert set(one.pairing.new) == set(other.pairing.missing)
    assert [q.p_value for q in one.questions] == [q.p_value for q in other.questions]
    fates = [*one.fixed, *one.broken, *one.flickering, *one.pairing.invalid, *one.pairing.ungraded]
    unchanged = [t.task for t in one.pairing.tasks if t.fate == "unchanged"]
    assert sorted(fates + unchanged) == sorted(set(first) & set(second))


@given(MARKS)
@settings(max_examples=60, deadline=None)
def test_a_run_against_itself_differs_in_nothing(tasks: dict[str, str]) -> None:
    found = pair(tasks, tasks)

    assert found.fixed == found.broken == ()
    assert found.verdict == "none"
    assert all(q.difference == 0 and q.p_value == 1 for q in found.questions)


# What the command says


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROCTOR_STORE", raising=False)
    return tmp_path


def proctor(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


def test_the_document_has_what_machines_ask_for(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    base = make_run("a", many("t", 20, "p"))
    new = make_run("b", {**many("t", 20, "p"), **many("t", 7, "f")})

    code = proctor("compare", base, new, "--json")

    told = json.loads(capsys.readouterr().out)
    assert code == told["exit_code"] == 1
    assert told["broken"] == [f"t{n}" for n in range(7)]
    assert told["fixed"] == []
    assert told["mcnemar"]["p_value"] == 0.015625
    assert told["bootstrap"]["difference"] == pytest.approx(-0.35)
    assert told["bootstrap"]["low"] < -0.35 < told["bootstrap"]["high"] < 0
    assert "is worse: 7 broken and 0 fixed of 20 tasks" in told["claim"]
    assert told["comparisons"][0]["claim"] == told["claim"]


def test_the_claim_comes_first_and_the_tasks_by_name(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    def fields(rule_after: int, cost: float) -> Any:
        outcome = delta_outcome("phpcs", 10.0 - rule_after, LineLength=[10, rule_after])
        return lambda task, repeat: {"outcomes": (outcome,), "usage": {"cost": cost}, "seconds": cost}

    make_run("a", {"t1": "pp", "t2": "pf", "t3": "ff"}, fields=fields(2, 1.0))
    make_run("b", {"t1": "ff", "t2": "pf", "t3": "pp"}, fields=fields(5, 2.0))

    assert proctor("compare", "id-a", "id-b") == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("No difference can be claimed: 1 broken and 1 fixed, 1 flickering of 3 tasks")
    for line in (
        "  broken      1: t1 (2/2 -> 0/2)",
        "  fixed       1: t3 (0/2 -> 2/2)",
        "  flickering  1: t2 (1/2 -> 1/2)",
        "  phpcs       mean delta +8 -> +5 over 6 pairs",
        "              LineLength: mended 48 -> 30",
        "  cost        6 -> 12 (2.00 times, typically 2.00 times)",
    ):
        assert line in lines


def test_runs_that_are_none_or_unlike_are_one_sentence_and_exit_2(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], here: Path
) -> None:
    make_run("a", {"t": "p"})
    make_run("b", {"t": "p"}, fields=lambda task, repeat: {"rubric": "rubric/r@2.0"})

    assert proctor("compare", "id-a", "nothing") == 2
    assert proctor("compare", "id-a", here) == 2
    assert proctor("compare", "id-a", "id-b") == 2
    assert proctor("compare", "id-a", "id-b", "--across-versions") == 0

    told = capsys.readouterr()
    assert [line.partition(":")[0] for line in told.err.splitlines()] == ["proctor"] * 3
    assert "add --across-versions" in told.err
    assert "Warning: t had rubric/r@1.0 and has rubric/r@2.0 now." in told.out


def test_a_run_that_only_the_index_holds_is_compared_like_one_that_is_here(
    make_run: MakeRun, here: Path
) -> None:
    from orchestrator.history.index import Index

    folder = make_run("a", {"t1": "pf", "t2": "e"}, header={"machine": {"name": "m"}})
    with Index.current(here / "runs", {}) as index:
        row = index.find("id-a")
        held = index.subject(row)
        (folder / "run.json").rename(folder / "away.json")

        assert index.subject(row) == held


@pytest.mark.parametrize("text", ["\x1b[2J", "\u202e"])
def test_names_of_a_candidates_making_do_not_steer_the_terminal(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    make_run("a", {"t": "p"}, agent=f"command:{text}")
    make_run("b", {"t": "p"}, agent=f"command:{text}")

    proctor("compare", "id-a", "id-b")

    assert text not in capsys.readouterr().out


def test_as_json_is_strict_json_whatever_is_missing() -> None:
    document = as_json([pair({"t": "e"}, {"t": "e"})])

    assert json.loads(json.dumps(document, allow_nan=False))["mcnemar"]["p_value"] is None
