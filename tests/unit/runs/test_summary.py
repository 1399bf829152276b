"""Numbers that add up, and one exit code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.summary import STATUSES, Standing, standings, summarise


def standing(status: str, end: str = "graded", final: bool = True) -> Standing:
    return Standing(status, end, 1, final, "")


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([("passed", "graded"), ("unscored", "nothing_executable")], 0),
        ([("passed", "graded"), ("failed", "change_empty")], 1),
        ([("failed", "graded"), ("invalid", "task_invalid")], 2),
        ([("invalid", "task_invalid"), ("errored", "engine_gone")], 3),
        ([("failed", "graded"), ("not_run", "limit_unenforceable")], 3),
        ([("errored", "engine_gone"), ("errored", "harness_error")], 4),
        ([("errored", "harness_error"), ("not_run", "interrupted")], 130),
    ],
)
def test_the_gravest_owner_decides_the_exit_code(ends, code):
    found = {str(n): standing(*end) for n, end in enumerate(ends)}

    assert summarise(found, found).exit_code == code


def test_a_planned_trial_without_a_record_was_not_run():
    summary = summarise(["a", "b"], {"a": standing("passed")})

    assert summary.counts["not_run"] == 1 and summary.exit_code == 3


def test_a_trial_whose_attempts_never_ended_was_not_run():
    summary = summarise(["a"], {"a": standing("errored", "engine_gone", final=False)})

    assert summary.counts["not_run"] == 1 and summary.counts["errored"] == 0


def test_trials_outside_the_plan_do_not_count():
    assert summarise(["a"], {"a": standing("passed"), "old": standing("failed")}).planned == 1


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.sampled_from(STATUSES)), st.sets(st.text()))
def test_the_counts_are_exclusive_and_add_up_to_the_plan(found, more):
    planned = set(found) | more

    summary = summarise(planned, {trial: standing(status) for trial, status in found.items()})

    assert sum(summary.counts.values()) == summary.planned == len(planned)
    assert set(summary.counts) == set(STATUSES)


def test_errors_and_unscored_trials_are_left_out_of_the_pass_rate():
    found = {s: standing(s, "engine_gone" if s == "errored" else "graded") for s in STATUSES}

    assert summarise(found, found).pass_rate == 0.5


def test_a_final_attempt_beats_a_later_one_that_is_not(record):
    found = standings([record("a", 1), record("a", 2, "errored", final=False, end="engine_gone")])

    assert (found["a"].attempt, found["a"].status) == (1, "passed")
