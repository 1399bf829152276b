"""Simulated nights: an unchanged world alarms no more often than the level says, and a true loss is seen.

bench/nights.py does the same at length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.documents.nightly import Confirm
from orchestrator.history.nightly.judgement import Rerun, judge
from orchestrator.history.pairing import Side, Subject
from orchestrator.history.statistics import mcnemar
from tests.unit.history.test_compare import subject

AGENT = "command:a"
TASKS, REPEATS = 40, 3
REFUSED = Confirm(by="nothing")


def throw(random: np.random.Generator, rates: Any, *, alike: bool) -> Subject:
    throws = random.random((len(rates), 1 if alike else REPEATS))
    passed = np.broadcast_to(throws < rates[:, None], (len(rates), REPEATS))
    return subject(
        "night", {f"t{n}": "".join("p" if x else "f" for x in row) for n, row in enumerate(passed)}
    )


def nights(count: int, loss: float, confirm: Confirm, *, alike: bool) -> tuple[float, float]:
    """How often a night is an alarm, and how often McNemar's test on single trials would make it one."""
    random = np.random.default_rng(4)
    alarms, naive = 0, 0
    for _ in range(count):
        rates = random.beta(2, 1.5, TASKS)
        after = np.where(random.random(TASKS) < loss, 0.0, rates)
        base, new = (throw(random, r, alike=alike) for r in (rates, after))

        def again(side: Side, tasks: tuple[str, ...], after: Any = after) -> Rerun:
            return Rerun(throw(random, after, alike=alike), "again")

        (judged,) = judge(
            [(Side(base, AGENT), Side(new, AGENT))], level=0.1, confirm=confirm, earlier=(), again=again
        )
        alarms += judged.confirmed
        worse, better = judged.comparison.discordant
        naive += worse > better and mcnemar(worse, better) <= 0.1
    return alarms / count, naive / count


@pytest.mark.parametrize("alike", [False, True])
def test_an_unchanged_world_alarms_no_more_often_than_the_level(alike: bool) -> None:
    """Level 0.1, two-sided: at most one night of twenty is called worse; 0.085 is four deviations above."""
    at_once, _ = nights(500, 0.0, REFUSED, alike=alike)
    confirmed, _ = nights(200, 0.0, Confirm(by="reruns"), alike=alike)

    assert 0 < at_once <= 0.085
    assert confirmed <= 0.02


def test_taking_trials_for_evidence_where_repeats_agree_would_cry_wolf() -> None:
    ours, naive = nights(400, 0.0, REFUSED, alike=True)

    assert naive > 0.12 > ours


def test_a_true_loss_is_seen_and_confirmed() -> None:
    seen, _ = nights(60, 0.5, REFUSED, alike=False)
    confirmed, _ = nights(60, 0.5, Confirm(by="reruns"), alike=False)

    assert seen >= 0.95
    assert confirmed >= 0.95
