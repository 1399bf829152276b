"""Was it better? The difference between two runs, with what can be claimed about it.

`compare(base, new)` for two; `compare_all` asks several questions at once and corrects for it (Holm).
Rules: C-45; fault B139 of other tools, which compare means of unlike runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from typing import Literal

from orchestrator.calibrate import REFERENCE_AGENTS
from orchestrator.errors import (
    EXIT_AUTHOR,
    EXIT_FAILED,
    EXIT_INFRASTRUCTURE,
    EXIT_OK,
    AuthoringError,
)
from orchestrator.history import statistics
from orchestrator.history.moves import Move, ToolMove, moves, spent
from orchestrator.history.pairing import (
    Pairing,
    Side,
    Subject,
    TaskPair,
    doubts,
    obstacles,
    pair_up,
    score_of,
    sides,
)
from orchestrator.history.statistics import Interval
from orchestrator.words import many

LEVEL = 0.05
"""How often, at most, a claim may be made where nothing changed."""
Verdict = Literal["better", "worse", "mixed", "none"]
"""mixed: more passes and lower scores, or the other way round, both claimed."""


@dataclass(frozen=True)
class Question:
    """One thing that is tested: do passes differ, do scores differ?"""

    measure: Literal["passes", "scores"]
    difference: float
    """New minus base, mean over tasks."""
    p_value: float
    p_adjusted: float
    """For all questions that were asked together."""


@dataclass(frozen=True)
class Comparison:
    """One agent of a run against one of another."""

    base: Side
    new: Side
    pairing: Pairing
    level: float
    questions: tuple[Question, ...]
    """passes; and scores, where they say more than passed or failed. None without a pair."""
    warnings: tuple[str, ...] = ()

    @property
    def fixed(self) -> tuple[str, ...]:
        return self._of("fixed")

    @property
    def broken(self) -> tuple[str, ...]:
        return self._of("broken")

    @property
    def flickering(self) -> tuple[str, ...]:
        return self._of("flickering")

    @property
    def pairs(self) -> int:
        """Trials graded on both sides."""
        return sum(len(task.pairs) for task in self.pairing.tasks)

    @property
    def rates(self) -> tuple[float, float] | None:
        """Pass rates of base and new, mean over the tasks; None without a pair."""
        tasks = self.pairing.tasks
        if not tasks:
            return None
        each = [[task.passed[side] / len(task.pairs) for task in tasks] for side in (0, 1)]
        return fsum(each[0]) / len(tasks), fsum(each[1]) / len(tasks)

    @property
    def scores(self) -> tuple[float, float] | None:
        """Mean scores of base and new over the tasks, 0 to 1."""
        tasks = self.pairing.tasks
        if not tasks:
            return None
        base = fsum(fsum(score_of(b) for b, _ in t.pairs) / len(t.pairs) for t in tasks)
        new = fsum(fsum(score_of(n) for _, n in t.pairs) / len(t.pairs) for t in tasks)
        return base / len(tasks), new / len(tasks)

    @property
    def discordant(self) -> tuple[int, int]:
        """Pairs that only base passed, and pairs that only new passed."""
        every = [pair for task in self.pairing.tasks for pair in task.pairs]
        return sum(b.passed > n.passed for b, n in every), sum(n.passed > b.passed for b, n in every)

    @property
    def verdict(self) -> Verdict:
        """What can be claimed at the level."""
        claimed = {q.difference > 0 for q in self.questions if q.p_adjusted <= self.level}
        if len(claimed) == 2:
            return "mixed"
        return "none" if not claimed else "better" if True in claimed else "worse"

    @property
    def regression(self) -> bool:
        """Whether something is claimed to be worse."""
        return any(q.difference < 0 and q.p_adjusted <= self.level for q in self.questions)

    @cached_property
    def score_interval(self) -> Interval | None:
        """Of the difference of mean scores; None without a task."""
        return statistics.bootstrap([t.gained_score for t in self.pairing.tasks], 1 - self.level)

    @cached_property
    def rate_interval(self) -> Interval | None:
        """Of the difference of pass rates."""
        return statistics.bootstrap([t.gained_rate for t in self.pairing.tasks], 1 - self.level)

    @cached_property
    def detectable(self) -> float | None:
        """The least true change of the pass rate that tasks like these mostly show; None: no change would."""
        return statistics.detectable([t.gained_rate for t in self.pairing.tasks], self.level)

    @cached_property
    def moves(self) -> tuple[ToolMove, ...]:
        """score_delta by tool and rule."""
        return moves(self.pairing.tasks)

    @cached_property
    def spent(self) -> dict[str, Move | None]:
        """seconds, cost and tokens, over the pairs in which both sides tell."""
        return spent(self.pairing.tasks)

    def _of(self, fate: str) -> tuple[str, ...]:
        return tuple(task.task for task in self.pairing.tasks if task.fate == fate)


def compare(
    base: Subject,
    new: Subject,
    *,
    level: float = LEVEL,
    across: bool = False,
    base_agent: str | None = None,
    new_agent: str | None = None,
) -> Comparison:
    """The one comparison of two runs. Raises what `compare_all` does, and AuthoringError when there are
    several agents to compare."""
    found = compare_all(base, [new], level=level, across=across, base_agent=base_agent, new_agent=new_agent)
    if len(found) > 1:
        agents = ", ".join(c.new.agent for c in found)
        raise AuthoringError(f"several agents can be compared: {agents}; name one with --new-agent")
    return found[0]


def compare_all(
    base: Subject,
    new: Sequence[Subject],
    *,
    level: float = LEVEL,
    across: bool = False,
    base_agent: str | None = None,
    new_agent: str | None = None,
) -> tuple[Comparison, ...]:
    """Every agent of every new run against base. All claims together are false with at most `level`.

    `across` compares what is refused otherwise: other benchmarks, major versions of rubrics, executors.
    Raises AuthoringError for that, for agents that cannot be told, and for runs without a shared task.
    """
    pairs = [pair for other in new for pair in sides(base, other, base_agent, new_agent)]
    return compare_pairs(pairs, level=level, across=across)


def compare_pairs(
    pairs: Iterable[tuple[Side, Side]], *, level: float = LEVEL, across: bool = False
) -> tuple[Comparison, ...]:
    """Pairs of (base, new) of any runs, corrected together. Raises what `compare_all` does."""
    found = [_pair(base, new, level, across) for base, new in pairs]
    adjusted = iter(statistics.holm([q.p_value for one in found for q in one.questions]))
    return tuple(
        replace(one, questions=tuple(replace(q, p_adjusted=next(adjusted)) for q in one.questions))
        for one in found
    )


def exit_code(comparisons: Iterable[Comparison]) -> int:
    """1 for a regression; where nothing could be compared, the exit code of whoever can mend that; else 0."""
    every = list(comparisons)
    if any(one.regression for one in every):
        return EXIT_FAILED
    empty = [one for one in every if not one.pairing.tasks]
    if any(one.pairing.ungraded for one in empty):
        return EXIT_INFRASTRUCTURE
    return EXIT_AUTHOR if empty else EXIT_OK


def _pair(base: Side, new: Side, level: float, across: bool) -> Comparison:
    pairing = pair_up(base, new)
    tasks = pairing.tasks
    if not (tasks or pairing.invalid or pairing.ungraded):
        raise AuthoringError(f"{base.subject.name} and {new.subject.name} have no task in common")
    against = obstacles(base, new, tasks)
    if against and not across:
        raise AuthoringError(
            f"{base.subject.name} and {new.subject.name} cannot be compared: {'; '.join(against)}. "
            "Scores of other rubrics or major versions mean something else; add --across-versions to "
            "compare them all the same"
        )
    return Comparison(
        base=base,
        new=new,
        pairing=pairing,
        level=level,
        questions=_questions(tasks),
        warnings=(*against, *doubts(base, new, tasks), *_losses(pairing), *_references(base, new)),
    )


def _questions(tasks: Sequence[TaskPair]) -> tuple[Question, ...]:
    if not tasks:
        return ()
    rate = fsum(task.gained_rate for task in tasks) / len(tasks)
    p_value = statistics.clustered_mcnemar([task.gained for task in tasks])
    found = [Question("passes", rate, p_value, p_value)]
    if any(score_of(trial) != trial.passed for task in tasks for pair in task.pairs for trial in pair):
        scores = [task.gained_score for task in tasks]
        p_value = statistics.sign_test(scores)
        found.append(Question("scores", fsum(scores) / len(tasks), p_value, p_value))
    return tuple(found)


def _losses(pairing: Pairing) -> tuple[str, ...]:
    if not pairing.lost:
        return ()
    return (
        f"{many(pairing.lost, 'pair')} of shared tasks left out for want of a score on one side (errored, "
        "not run, unscored): if those are the hard ones, the difference is not what it seems",
    )


def _references(base: Side, new: Side) -> tuple[str, ...]:
    """gold and noop tell of the tasks: where theirs changed, the ground moved, not the candidate."""
    found = []
    for agent in sorted(REFERENCE_AGENTS - {base.agent, new.agent}):
        if agent in base.subject.agents and agent in new.subject.agents:
            tasks = pair_up(Side(base.subject, agent), Side(new.subject, agent)).tasks
            turned = [task.task for task in tasks if task.gained]
            if turned:
                found.append(
                    f"{agent} changed on {many(len(turned), 'task')} ({', '.join(turned[:3])}): the tasks or "
                    "the machine moved, so differences there are not the candidate's"
                )
    return tuple(found)
