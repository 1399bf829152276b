"""How long there is left."""

from __future__ import annotations

import math

from orchestrator.deadline import Deadline


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_nearer_limit_wins_and_is_the_one_cause():
    trial = Deadline.after(5, "trial_time", clock=Clock())

    assert trial.within(60, "agent_time").cause == "trial_time"
    assert trial.within(1, "agent_time").cause == "agent_time"
    assert trial.within(5, "agent_time").cause == "trial_time"


def test_an_inner_limit_shrinks_as_the_outer_one_runs_out():
    clock = Clock()
    trial = Deadline.after(5, "trial_time", clock=clock)
    clock.now += 4

    inner = trial.within(60, "oracle_time")

    assert inner.remaining() == 1.0
    assert inner.timeout() == 1.0


def test_an_expired_deadline_has_nothing_left_but_never_less():
    clock = Clock()
    deadline = Deadline.after(1, "trial_time", clock=clock)
    clock.now += 9

    assert deadline.expired and deadline.remaining() == 0.0


def test_no_limit_has_no_timeout():
    deadline = Deadline.after(None, "trial_time")

    assert deadline.timeout() is None and math.isinf(deadline.remaining()) and not deadline.expired
    assert deadline.within(None, "agent_time").cause == ""
