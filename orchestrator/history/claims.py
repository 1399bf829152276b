"""A comparison in words and as plain values: what can be claimed, and what cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.history.compare import Comparison, Question, exit_code
from orchestrator.history.moves import Move, ToolMove
from orchestrator.history.pairing import Side, TaskPair
from orchestrator.history.statistics import POWER, Interval, fewest_tasks, mcnemar
from orchestrator.words import many


def claim(one: Comparison) -> str:
    """One sentence: what the difference is worth."""
    if not one.pairing.tasks:
        return f"Nothing can be claimed: no task has a score on both sides ({_without(one)})."
    if one.verdict == "none":
        return f"No difference can be claimed: {_little(one)}; {_blind(one)}."
    said = {"better": "is better", "worse": "is worse", "mixed": "is better in one way and worse in another"}
    return f"{named(one)[1]} {said[one.verdict]}: {_turned(one)} ({_chance(one)}); {_amounts(one)}."


def named(one: Comparison) -> tuple[str, str]:
    """What base and new are called: by their agents where those differ, else by their runs."""
    if one.base.agent != one.new.agent:
        return one.base.agent, one.new.agent
    return one.base.subject.name, one.new.subject.name


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """One document: the first comparison's facts at its top, and every comparison under `comparisons`."""
    every = [plain(one) for one in comparisons]
    return {**every[0], "comparisons": every, "exit_code": exit_code(comparisons)}


def plain(one: Comparison) -> dict[str, Any]:
    """Everything about one comparison."""
    pairing = one.pairing
    return {
        "runs": {"base": _side(one.base), "new": _side(one.new)},
        "claim": claim(one),
        "verdict": one.verdict,
        "regression": one.regression,
        "level": one.level,
        "tasks": len(pairing.tasks),
        "pairs": one.pairs,
        "fixed": list(one.fixed),
        "broken": list(one.broken),
        "flickering": list(one.flickering),
        "new": list(pairing.new),
        "missing": list(pairing.missing),
        "invalid": list(pairing.invalid),
        "ungraded": list(pairing.ungraded),
        "lost_pairs": pairing.lost,
        "mcnemar": _mcnemar(one),
        "bootstrap": _interval(one.score_interval),
        "pass_rate": {**_two(one.rates), **_interval(one.rate_interval)},
        "score": {**_two(one.scores), "p_value": _p(one, "scores"), "p_adjusted": _p(one, "scores", True)},
        "detectable": {"pass_rate": one.detectable, "power": POWER},
        "deltas": [_tool(move) for move in one.moves],
        "spent": {name: None if move is None else _move(move) for name, move in one.spent.items()},
        "by_task": [_task(task) for task in pairing.tasks],
        "warnings": list(one.warnings),
    }


def percent(share: float) -> str:
    """
    >>> percent(0.125), percent(1.0)
    ('12.5 %', '100 %')
    """
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def points(difference: float) -> str:
    """Percentage points, with a sign.

    >>> points(-0.05), points(0.0)
    ('-5.0', '+0.0')
    """
    return f"{100 * difference:+.1f}".replace("-0.0", "+0.0")


def p_word(p_value: float) -> str:
    """
    >>> p_word(0.03125), p_word(0.0000001), p_word(1.0)
    ('p = 0.031', 'p < 0.0001', 'p = 1')
    """
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def _turned(one: Comparison) -> str:
    tasks = len(one.pairing.tasks)
    flickering = f", {len(one.flickering)} flickering" if one.flickering else ""
    count = many(tasks, "task")
    return f"{len(one.broken)} broken and {len(one.fixed)} fixed{flickering} of {count}"


def _little(one: Comparison) -> str:
    if all(question.difference == 0 and question.p_value == 1 for question in one.questions):
        return _turned(one)
    return f"{_turned(one)}, which may be chance ({_chance(one)})"


def _chance(one: Comparison) -> str:
    return ", ".join(_p_of(question, len(one.questions) > 1) for question in one.questions)


def _p_of(question: Question, several: bool) -> str:
    of = f"{question.measure}: " if several else ""
    corrected = question.p_adjusted > question.p_value
    told = p_word(question.p_adjusted if corrected else question.p_value)
    return f"{of}{told}" + (" corrected for several questions" if corrected else "")


def _amounts(one: Comparison) -> str:
    rates, interval, tested = one.rates, one.rate_interval, {q.measure for q in one.questions}
    assert rates is not None and interval is not None
    said = f"the pass rate went from {percent(rates[0])} to {percent(rates[1])} ({_range(interval)})"
    if "scores" in tested and one.score_interval is not None:
        said += f", the mean score by {points(one.score_interval.mean)} ({_range(one.score_interval)})"
    return said


def _range(interval: Interval) -> str:
    ends = f"{points(interval.low)} to {points(interval.high)} points"
    return f"{percent(interval.level)} interval of the difference {ends}"


def _blind(one: Comparison) -> str:
    tasks, least = len(one.pairing.tasks), one.detectable
    if least is None:
        fewest = fewest_tasks(one.level)
        wanted = f"at this level {many(fewest, 'task')} at least must turn the same way"
        return f"{wanted}; the runs share only {many(tasks, 'task')}"
    return (
        f"a true change of the pass rate by less than about {100 * least:.0f} points would mostly go unseen"
    )


def _without(one: Comparison) -> str:
    pairing = one.pairing
    told = [f"{len(pairing.ungraded)} without one", f"{len(pairing.invalid)} invalid"]
    return ", ".join(word for word in told if not word.startswith("0 "))


def _side(side: Side) -> dict[str, Any]:
    about = side.subject
    return {
        "run": about.name,
        "run_id": about.run_id,
        "agent": side.agent,
        "benchmark": about.benchmark,
        "benchmark_version": about.benchmark_version,
        "started": about.started,
        "machine": about.machine,
    }


def _mcnemar(one: Comparison) -> dict[str, Any]:
    broken, fixed = one.discordant
    tasks = [task.gained for task in one.pairing.tasks]
    return {
        "broken": sum(gained < 0 for gained in tasks),
        "fixed": sum(gained > 0 for gained in tasks),
        "p_value": _p(one, "passes"),
        "p_adjusted": _p(one, "passes", True),
        "clustered": any(len(task.pairs) > 1 for task in one.pairing.tasks),
        "by_pairs": {"broken": broken, "fixed": fixed, "p_value": mcnemar(broken, fixed)},
    }


def _p(one: Comparison, measure: str, adjusted: bool = False) -> float | None:
    found = next((q for q in one.questions if q.measure == measure), None)
    return None if found is None else found.p_adjusted if adjusted else found.p_value


def _interval(interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {"difference": None, "low": None, "high": None, "level": None, "resamples": 0}
    return {
        "difference": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "resamples": interval.resamples,
    }


def _two(values: tuple[float, float] | None) -> dict[str, Any]:
    base, new = values or (None, None)
    return {"base": base, "new": new}


def _tool(move: ToolMove) -> dict[str, Any]:
    rules = [{**asdict(rule), "difference": rule.difference} for rule in move.rules]
    return {**asdict(move), "difference": move.difference, "rules": rules}


def _move(move: Move) -> dict[str, Any]:
    return {**asdict(move), "ratio": move.ratio}


def _task(task: TaskPair) -> dict[str, Any]:
    base, new = task.passed
    return {
        "task": task.task,
        "fate": task.fate,
        "pairs": len(task.pairs),
        "passed": {"base": base, "new": new},
        "score_difference": task.gained_score,
    }
