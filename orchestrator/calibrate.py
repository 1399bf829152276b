"""What stored runs say about a rubric: where its threshold could lie, which checks pass how often, and what
moved since another version (C-44; rules 192 to 194). Pure: records in, numbers out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from orchestrator import library
from orchestrator.combine import meets
from orchestrator.documents.record import TrialRecord
from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES, Rubric

ENOUGH = 30
"""Scores; below this a percentile says little (C-44)."""
PERCENTILES = (5, 10, 15, 25, 50, 75, 90)
USUAL = (10, 15)
"""Where thresholds are usually set: 85 to 90 of 100 past scores would have passed."""
REFERENCE_AGENTS = frozenset({"gold", "noop"})
"""They show that a task works; their scores are no sample of anybody's work."""
MOVED_WEIGHT = 0.05
"""Change of a check's share of all weights that is told."""
MOVED_RATE = 0.05
"""Least change of a pass rate that is told, when it is more than chance, too."""
CHANCE = 1.96
"""Standard deviations beyond which a change of a pass rate is hardly chance (5 %, two-sided)."""


@dataclass(frozen=True)
class CheckRate:
    """How often one check passed where it was executed."""

    name: str
    passed: int
    executed: int
    mean: float
    histogram: tuple[int, ...] = ()
    """Of its scores, as in `Sample`."""

    @property
    def rate(self) -> float:
        return self.passed / self.executed


@dataclass(frozen=True)
class Sample:
    """The scored trials of one rubric version."""

    ref: str
    scores: tuple[float, ...]
    """Sorted."""
    passed: int
    checks: tuple[CheckRate, ...]
    left_out: int = 0
    """Trials of it without a score: errored, unscored."""

    def percentile(self, percent: float) -> float:
        """The score below which `percent` of 100 lie, between neighbours in proportion. Needs one score."""
        place = (len(self.scores) - 1) * Fraction(percent) / 100
        low = math.floor(place)
        high = min(low + 1, len(self.scores) - 1)
        share = float(place - low)
        return self.scores[low] + (self.scores[high] - self.scores[low]) * share

    @property
    def mean(self) -> float:
        return math.fsum(self.scores) / len(self.scores)

    def passing(self, threshold: float) -> int:
        """How many of the scores meet a threshold."""
        return sum(meets(score, threshold) for score in self.scores)

    @property
    def histogram(self) -> tuple[int, ...]:
        """Ten counts: scores from 0 to below 0.1, ..., from 0.9 to 1."""
        return _histogram(self.scores)


@dataclass(frozen=True)
class Proposal:
    """A threshold for a rubric version, and what speaks against believing in it."""

    threshold: float
    percent: float
    passing: int
    """Of the sample's scores at that threshold."""
    warnings: tuple[str, ...] = field(default=())


def refs(records: Iterable[TrialRecord]) -> tuple[str, ...]:
    """Every rubric that graded something in `records`, in order of first appearance."""
    return tuple(dict.fromkeys(r.verdict.rubric for r in records if r.verdict is not None))


def sample(records: Iterable[TrialRecord], ref: str, agents: Collection[str] = ()) -> Sample:
    """The scored trials of one rubric version; of the named agents, or of all but gold and noop."""
    scores: list[float] = []
    passed = left_out = 0
    told: dict[str, list[tuple[bool, float]]] = {}
    for record in records:
        verdict = record.verdict
        if verdict is None or verdict.rubric != ref or not _counts(record.agent.name, agents):
            continue
        if verdict.score is None:
            left_out += 1
            continue
        scores.append(verdict.score)
        passed += verdict.passed is True
        for outcome in verdict.outcomes:
            if outcome.status in ("passed", "failed"):
                held = told.setdefault(outcome.id or outcome.kind, [])
                held.append((outcome.status == "passed", outcome.score or 0.0))
    return Sample(ref, tuple(sorted(scores)), passed, tuple(_rate(n, r) for n, r in told.items()), left_out)


def propose(of: Sample, rubric: Rubric | None = None, percent: float = USUAL[0]) -> Proposal:
    """The threshold that `percent` of 100 past scores miss, rounded down to four places.

    `rubric` is the document itself, for what only it can tell. Raises ValueError without a score.
    """
    if not of.scores:
        raise ValueError(f"{of.ref} has no score to calibrate on")
    threshold = math.floor(of.percentile(percent) * 1e4 + 1e-6) / 1e4
    warnings = []
    if len(of.scores) < ENOUGH:
        warnings.append(f"{len(of.scores)} scores are fewer than {ENOUGH}: take the percentiles as a guess")
    if of.scores[0] == of.scores[-1]:
        warnings.append(f"every score is {of.scores[0]:.4g}: there is nothing to set a threshold between")
    if threshold == 0:
        warnings.append("the proposed threshold is 0, which everything meets: look at the checks first")
    if rubric and rubric.scoring.combine not in NUMERIC_MODES:
        warnings.append(f"{rubric.scoring.combine} does not use a threshold: the rates of its checks matter")
    return Proposal(threshold, percent, of.passing(threshold), tuple(warnings))


def drift(
    old: Sample, new: Sample, old_rubric: Rubric | None = None, new_rubric: Rubric | None = None
) -> tuple[str, ...]:
    """What moved between two versions of a rubric, one sentence each; nothing when nothing did.

    Weights, scoring and what checks ask need both documents; pass rates need both samples.
    """
    found = []
    if old_rubric and new_rubric:
        found += _document_drift(old_rubric, new_rubric)
    before, after = {c.name: c for c in old.checks}, {c.name: c for c in new.checks}
    for name in before.keys() & after.keys():
        if moved := _rate_drift(before[name], after[name]):
            found.append(moved)
    if old.scores and new.scores:
        whole = (
            CheckRate("the whole rubric", old.passed, len(old.scores), old.mean),
            CheckRate("the whole rubric", new.passed, len(new.scores), new.mean),
        )
        found += [moved] if (moved := _rate_drift(*whole)) else []
    return tuple(sorted(found))


def rewritten(kept: Sequence[tuple[str, Rubric]]) -> tuple[str, ...]:
    """Where runs applied different texts under one ref, what differs; `kept` has them by run, newest last.

    The scores of such runs are not of one kind, though their version says so (rule 192).
    """
    found = []
    for run, rubric in kept[:-1]:
        last, newest = kept[-1]
        if moved := _document_drift(rubric, newest):
            told = f"{run} and {last} applied different texts of {newest.ref}: {'; '.join(moved)}"
            found.append(f"{told}; a changed rubric needs a version of its own")
    return tuple(found)


def shares(rubric: Rubric) -> dict[str, float]:
    """Each check's part of all weights, by id, or by its place when it has none.

    >>> from orchestrator.documents.rubric import Scoring
    >>> checks = ({"kind": "regex", "id": "a"}, {"kind": "regex"})
    >>> scoring = Scoring(combine="weighted_avg", weights={"a": 3})
    >>> shares(Rubric(id="r", version="1.0", checks=checks, scoring=scoring))
    {'a': 0.75, 'checks[1]': 0.25}
    """
    weights = {
        str(check.get("id") or f"checks[{number}]"): rubric.scoring.weights.get(str(check.get("id", "")), 1.0)
        for number, check in enumerate(rubric.checks)
    }
    total = math.fsum(weights.values())
    return {name: weight / total if total else 0.0 for name, weight in weights.items()}


def versions(known: Iterable[str], ref: str) -> tuple[str, ...]:
    """The other versions of a rubric among `known`, oldest first.

    >>> versions(["rubric/a@1.10", "rubric/a@1.9", "rubric/b@1.0", "rubric/a@2.0"], "rubric/a@2.0")
    ('rubric/a@1.9', 'rubric/a@1.10')
    """
    name = ref.partition("@")[0]
    others = {other for other in known if other != ref and other.partition("@")[0] == name}
    return tuple(sorted(others, key=library.order))


def _counts(agent: str, agents: Collection[str]) -> bool:
    return agent in agents if agents else agent not in REFERENCE_AGENTS


def _rate(name: str, results: Sequence[tuple[bool, float]]) -> CheckRate:
    scores = [score for _, score in results]
    passed = sum(ok for ok, _ in results)
    return CheckRate(name, passed, len(results), math.fsum(scores) / len(results), _histogram(scores))


def _histogram(scores: Iterable[float]) -> tuple[int, ...]:
    bins = [0] * 10
    for score in scores:
        bins[min(9, int(score * 10 + 1e-9))] += 1
    return tuple(bins)


def _document_drift(old: Rubric, new: Rubric) -> list[str]:
    """What may move scores: the rule that combines, the weights, and what checks ask."""
    found = _scoring_drift(old, new)
    before, after = _asked(old), _asked(new)
    same = before.keys() & after.keys()
    found += [f"{name} asks something else" for name in same if before[name] != after[name]]
    return sorted(found)


def _asked(rubric: Rubric) -> dict[str, dict[str, object]]:
    """Each check without the words that are for readers, by id or by place."""
    silent = ("description", "metadata")
    return {
        str(check.get("id") or f"checks[{number}]"): {k: v for k, v in check.items() if k not in silent}
        for number, check in enumerate(rubric.checks)
    }


def _scoring_drift(old: Rubric, new: Rubric) -> list[str]:
    found = []
    if old.scoring.combine != new.scoring.combine:
        found.append(f"combine went from {old.scoring.combine} to {new.scoring.combine}")
    levels = [DEFAULT_THRESHOLD if r.scoring.threshold is None else r.scoring.threshold for r in (old, new)]
    if levels[0] != levels[1]:
        found.append(f"the threshold went from {levels[0]:g} to {levels[1]:g}")
    found += _share_drift(shares(old), shares(new))
    return found


def _share_drift(old: Mapping[str, float], new: Mapping[str, float]) -> list[str]:
    found = [f"{name} is new, with {new[name]:.0%} of the weight" for name in new if name not in old]
    found += [f"{name} is gone; it had {old[name]:.0%} of the weight" for name in old if name not in new]
    for name in old.keys() & new.keys():
        if abs(new[name] - old[name]) >= MOVED_WEIGHT - 1e-9:
            found.append(f"{name} went from {old[name]:.0%} to {new[name]:.0%} of the weight")
    return found


def _rate_drift(old: CheckRate, new: CheckRate) -> str:
    """Two proportions, compared by their pooled deviation."""
    pooled = (old.passed + new.passed) / (old.executed + new.executed)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / old.executed + 1 / new.executed))
    moved = abs(new.rate - old.rate)
    if moved < MOVED_RATE or moved <= CHANCE * deviation:
        return ""
    counts = f"{old.passed} of {old.executed}, then {new.passed} of {new.executed}"
    return f"{old.name}: the pass rate went from {old.rate:.0%} to {new.rate:.0%} ({counts})"
