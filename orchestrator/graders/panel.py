"""panel:NAME: several judges, one grade.

average            the mean
weighted_average   the mean by the judges' weights
median             the middle; of an even number the mean of the middle two (C-37)
majority_vote      a judge is for the response when its score reaches the benchmark's
                   question_pass_threshold; the grade is the mean of the side with more judges, and of those
                   against when it is a tie
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from math import fsum

from orchestrator.agents import AgentReport
from orchestrator.combine import meets
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.documents.scoring import Aggregation
from orchestrator.errors import AuthoringError
from orchestrator.graders.judge import Judge, Opinion
from orchestrator.outcomes import Grade, Verdict


class Panel:
    """The grader `panel:NAME`. One judge without an answer leaves the panel without a grade: a grade of
    fewer judges would be another grade."""

    def __init__(
        self, name: str, judges: Sequence[Judge], aggregation: Aggregation, threshold: float
    ) -> None:
        self.name = f"panel:{name}"
        self.judges = tuple(judges)
        self._aggregation = aggregation
        self._threshold = threshold

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark, config: Config) -> Panel:
        if arg not in config.panels:
            known = ", ".join(config.panels) or "none"
            raise AuthoringError(f'proctor.yaml has no panel "{arg}"; it has {known}')
        panel = config.panels[arg]
        judges = [Judge.for_spec(name, benchmark, config) for name in panel.judges]
        return cls(arg, judges, panel.aggregation, benchmark.scoring.question_pass_threshold)

    def ready(self) -> None:
        """Raises AuthoringError when a judge's key is not there."""
        for judge in self.judges:
            judge.ready()

    def abandon(self) -> None:
        for judge in self.judges:
            judge.abandon()

    def problems(self, task: Task) -> tuple[str, ...]:
        return ()

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        if not criteria.strip():
            return Grade(self.name, None, "there are no criteria for judges to read")
        opinions: dict[str, Opinion] = {}
        for judge in self.judges:
            opinions[judge.name] = heard = judge.opinion(task, report, criteria)
            if heard.end:
                break  # the others' answers would change nothing
        facts = {name: {"score": o.score, "reason": o.reason, **o.facts} for name, o in opinions.items()}
        kept = {name: data for o in opinions.values() for name, data in o.kept.items()}
        if heard.end:
            return Grade(self.name, None, heard.reason, facts, heard.end, kept)
        scores = [o.score for o in opinions.values() if o.score is not None]
        weights = [judge.endpoint.model.weight for judge in self.judges]
        score = aggregate(self._aggregation, scores, weights, self._threshold)
        each = ", ".join(
            f"{name.partition(':')[2]} {score:g}" for name, score in zip(opinions, scores, strict=True)
        )
        return Grade(self.name, score, f"{self._aggregation} of {each}", facts, "", kept)


def aggregate(how: Aggregation, scores: Sequence[float], weights: Sequence[float], threshold: float) -> float:
    """One score of several; weights are positive, and as many as the scores.

    >>> aggregate("median", [1, 5, 4, 3], [1, 1, 1, 1], 3.5)
    3.5
    >>> aggregate("majority_vote", [5, 4, 0], [1, 1, 1], 3.5)
    4.5
    >>> aggregate("weighted_average", [5, 2], [2, 1], 3.5)
    4.0
    """
    if how == "median":
        return float(statistics.median(scores))
    if how == "majority_vote":
        votes = [meets(score, threshold) for score in scores]
        carried = 2 * sum(votes) > len(votes)
        scores = [score for score, vote in zip(scores, votes, strict=True) if vote == carried]
    if how == "weighted_average":
        return fsum(s * w for s, w in zip(scores, weights, strict=True)) / fsum(weights)
    return fsum(scores) / len(scores)
