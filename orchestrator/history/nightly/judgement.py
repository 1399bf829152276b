"""From a night's trials to findings and gates. Pure, but for the trials that are run again to confirm.

A regression is suspected when the night's own trials claim one at the stated level, all comparisons of the
night corrected together. It counts once it is confirmed; no way of confirming can make an alarm of a night
that was not suspected, so false alarms are never more than the level allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from orchestrator import gates as benchmark_gates
from orchestrator.calibrate import REFERENCE_AGENTS
from orchestrator.documents.nightly import REGRESSION, Confirm, Finding, GateEnd, Night, NightGate
from orchestrator.documents.record import TrialRecord
from orchestrator.history.claims import claim, points
from orchestrator.history.compare import Comparison, compare_pairs
from orchestrator.history.pairing import Side, Subject

Again = Callable[[Side, tuple[str, ...]], "Rerun | None"]
"""Runs tasks of a side's agent again; None when that could not be done."""


@dataclass(frozen=True)
class Rerun:
    """Fresh trials of some tasks."""

    subject: Subject
    folder: str


@dataclass(frozen=True)
class Judged:
    """One comparison of the night."""

    comparison: Comparison
    """As it counts: with the tasks that were run again, where some were."""
    suspected: bool
    confirmed: bool
    rerun: str | None = None


def judge(
    pairs: Sequence[tuple[Side, Side]],
    *,
    level: float,
    confirm: Confirm,
    earlier: Sequence[Night],
    again: Again,
) -> tuple[Judged, ...]:
    """Every (baseline, night) pair. `earlier` are the nights before, the oldest first.

    Raises AuthoringError for pairs that cannot be compared.
    """
    found = compare_pairs(pairs, level=level)
    if confirm.by == "reruns":
        return _with_reruns(found, level, again)
    if confirm.by == "nights":
        return tuple(
            Judged(one, one.regression, one.regression and _often(one.new, confirm, earlier)) for one in found
        )
    return tuple(Judged(one, one.regression, one.regression) for one in found)


def _with_reruns(found: tuple[Comparison, ...], level: float, again: Again) -> tuple[Judged, ...]:
    """The tasks that turned are run again, and their fresh trials take the place of the night's: those were
    picked because they differ, the fresh ones were not. Broken and fixed ones alike, for to look again at the
    losses alone would keep every lucky gain, and most true losses of a few points would not be confirmed."""
    if not any(one.regression for one in found):
        return tuple(Judged(one, False, False) for one in found)
    reruns = [again(one.new, turned(one)) if one.regression else None for one in found]
    pairs = [
        (one.base, one.new if fresh is None else replaced(one.new, fresh.subject))
        for one, fresh in zip(found, reruns, strict=True)
    ]
    second = compare_pairs(pairs, level=level)
    return tuple(
        Judged(
            then,
            first.regression,
            fresh is not None and then.regression,
            None if fresh is None else fresh.folder,
        )
        for first, fresh, then in zip(found, reruns, second, strict=True)
    )


def turned(one: Comparison) -> tuple[str, ...]:
    """The tasks that are to be run again: those with another number of passes, or another score."""
    return tuple(task.task for task in one.pairing.tasks if task.gained or task.gained_score)


def replaced(side: Side, fresh: Subject) -> Side:
    """The side with fresh trials in the place of those of the same tasks."""
    new = tuple(trial for trial in fresh.trials if trial.agent == side.agent)
    tasks = {trial.task for trial in new}
    kept = tuple(t for t in side.subject.trials if t.agent != side.agent or t.task not in tasks)
    return Side(replace(side.subject, trials=(*kept, *new)), side.agent)


def _often(side: Side, confirm: Confirm, earlier: Sequence[Night]) -> bool:
    """Whether enough of the nights before suspected the same; tonight counts as one."""
    window = earlier[-(confirm.of - 1) :] if confirm.of > 1 else ()
    about = (side.subject.benchmark, side.agent)
    before = sum(any(f.suspected and (f.benchmark, f.agent) == about for f in n.findings) for n in window)
    return before + 1 >= confirm.k


def finding(judged: Judged) -> Finding:
    """For the ledger."""
    one = judged.comparison
    passes = next((q for q in one.questions if q.measure == "passes"), None)
    return Finding(
        benchmark=one.new.subject.benchmark,
        agent=one.new.agent,
        claim=claim(one),
        verdict=one.verdict,
        suspected=judged.suspected,
        confirmed=judged.confirmed,
        rerun=judged.rerun,
        difference=None if passes is None else passes.difference,
        p_adjusted=None if passes is None else passes.p_adjusted,
        broken=one.broken,
        fixed=one.fixed,
    )


def gate_ends(
    gates: Sequence[NightGate],
    benchmark: str,
    agents: Sequence[str],
    findings: Sequence[Finding],
    has_baseline: bool,
    latest: Mapping[str, TrialRecord],
) -> tuple[GateEnd, ...]:
    """Every gate for every candidate it holds for, on one benchmark. What cannot be measured is missed."""
    found: list[GateEnd] = []
    for gate in gates:
        if gate.metric == REGRESSION:
            found += _regression(gate, benchmark, agents, findings, has_baseline)
            continue
        for result in benchmark_gates.evaluate([gate.plain()], agents, latest):
            about = (gate.metric, gate.kind, benchmark, result.agent, result.met, result.reason)
            found.append(_end(*about))
    return tuple(found)


def _regression(
    gate: NightGate, benchmark: str, agents: Sequence[str], findings: Sequence[Finding], has_baseline: bool
) -> list[GateEnd]:
    by_agent = {f.agent: f for f in findings if f.benchmark == benchmark}
    fits = [agent for agent in agents if fnmatchcase(agent, gate.agent)]
    if not fits:
        reason = f"regression could not be measured: no candidate fits {gate.agent}"
        return [_end(REGRESSION, gate.kind, benchmark, gate.agent, False, reason)]
    told = []
    for agent in fits:
        held = by_agent.get(agent)
        if held is not None:
            told.append(_end(REGRESSION, gate.kind, benchmark, agent, *_said(held)))
        elif not has_baseline:
            reason = "there is no baseline yet; this night can be the first"
            told.append(_end(REGRESSION, gate.kind, benchmark, agent, True, reason))
        elif not by_agent or agent not in REFERENCE_AGENTS:
            why = "has no such candidate; choose another" if by_agent else "is not comparable with this night"
            reason = f"regression could not be measured: the baseline {why}"
            told.append(_end(REGRESSION, gate.kind, benchmark, agent, False, reason))
    if not told:
        reason = "regression could not be measured: gold and noop are compared only among themselves"
        told.append(_end(REGRESSION, gate.kind, benchmark, gate.agent, False, reason))
    return told


def _said(held: Finding) -> tuple[bool, str]:
    if held.difference is None:
        return False, f"regression could not be measured. {held.claim}"
    if held.confirmed:
        return False, f"a regression is confirmed. {held.claim}"
    if held.suspected:
        return True, f"a regression was suspected and not confirmed. {held.claim}"
    return True, f"no regression: {points(held.difference)} points against the baseline"


def _end(metric: str, kind: str, benchmark: str, agent: str, met: bool, reason: str) -> GateEnd:
    return GateEnd(metric=metric, kind=kind, benchmark=benchmark, agent=agent, met=met, reason=reason)
