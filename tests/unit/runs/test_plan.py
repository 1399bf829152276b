"""Which trials a run consists of."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.documents.benchmark import Task, TaskLimits
from orchestrator.errors import AuthoringError
from orchestrator.plan import Plan, make, trial_id


def test_every_task_meets_every_agent_once_per_repeat(benchmark):
    plan = make(benchmark("a", "b"), ["gold", "noop"], repeats=2)

    assert [(t.repeat, t.agent, t.task) for t in plan.trials] == [
        (1, "gold", "a"),
        (1, "gold", "b"),
        (1, "noop", "a"),
        (1, "noop", "b"),
        (2, "gold", "a"),
        (2, "gold", "b"),
        (2, "noop", "a"),
        (2, "noop", "b"),
    ]


def test_a_plan_survives_a_file(benchmark):
    plan = make(benchmark("a", "b/c"), ["gold", "command:echo 'ü\u2028'"], repeats=2)

    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_a_damaged_plan_is_one_sentence(benchmark):
    data = make(benchmark("a"), ["gold"]).to_json()
    data["trials"][0]["colour"] = "red"

    with pytest.raises(AuthoringError, match="plan is damaged"):
        Plan.from_json(data)


@pytest.mark.parametrize("other", ["A__b", "a/b", "a__b ", "a.b", "a-b", "a\u2028b", "a" * 300])
def test_ids_that_look_alike_stay_apart(other):
    ids = {trial_id("a__b", "gold", 1), trial_id(other, "gold", 1)}

    assert len({i.lower() for i in ids}) == 2


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1), st.integers(1, 99)), unique=True))
def test_trial_ids_are_file_names_and_never_collide_whatever_the_case(triples):
    ids = [trial_id(*triple) for triple in triples]

    assert len({i.lower() for i in ids}) == len(triples)
    for name in ids:
        assert name.isascii() and len(name) < 200
        assert not set(name) & set('/\\:*?"<>| \0') and not name.startswith((".", "-", "~"))


def test_plain_ids_stay_readable():
    assert trial_id("django__django-11099", "gold", 3) == "django__django-11099.gold.3"
    assert trial_id("x", "command:./solve.sh --fast", 1).startswith("x.command-solve-sh-fast~")


def test_several_globs_choose_tasks_in_the_benchmarks_order(benchmark):
    plan = make(benchmark("php-1", "py-1", "php-2"), ["gold"], tasks_glob="py-*, php-2")

    assert [t.task for t in plan.trials] == ["py-1", "php-2"]


def test_a_glob_that_matches_nothing_is_named_beside_what_there_is(benchmark):
    with pytest.raises(AuthoringError, match=r"no task of demo matches go-\*; it has a, b"):
        make(benchmark("a", "b"), ["gold"], tasks_glob="a,go-*")


@pytest.mark.parametrize(
    ("agents", "repeats", "said"),
    [([], 1, "no agent"), (["gold", "gold"], 1, "--repeats"), (["gold"], 0, "at least 1")],
)
def test_a_request_that_makes_no_sense_is_refused(benchmark, agents, repeats, said):
    with pytest.raises(AuthoringError, match=said):
        make(benchmark("a"), agents, repeats)


def test_only_what_a_task_asks_for_counts_against_the_budgets(benchmark):
    asking = Task(id="big", limits=TaskLimits(cpus=2.0, memory=1 << 30))

    plain, big = make(benchmark("plain", asking), ["gold"]).trials

    assert (plain.cpus, plain.memory) == (0.0, 0)
    assert (big.cpus, big.memory) == (2.0, 1 << 30)


def test_the_digest_changes_with_every_input(benchmark):
    def digest(task=None, agent="gold", inputs=None, repeat=0, **fields):
        plan = make(benchmark(task or Task(id="a"), **fields), [agent], 2, inputs=inputs)
        return plan.trials[repeat].digest

    digests = [
        digest(),
        digest(Task(id="a", input="other words")),
        digest(agent="noop"),
        digest(inputs=lambda task, agent: {"fix": "1"}),
        digest(inputs=lambda task, agent: {"fix": "2"}),
        digest(version="1.1"),
        digest(repeat=1),
    ]

    assert len(set(digests)) == len(digests)
    assert digest() == digests[0]


def test_the_folder_a_benchmark_lies_in_is_no_input(benchmark, tmp_path):
    here, there = benchmark("a"), benchmark("a", root=tmp_path / "elsewhere")

    assert make(here, ["gold"]) == make(there, ["gold"])
