"""Limits: sizes to bytes, times to seconds, and what is too small to be meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from orchestrator.errors import Problem
from orchestrator.loading.located import Located
from orchestrator.loading.located import Path as Where
from orchestrator.units import SIZE_WANTED, TIME_WANTED, parse_size, parse_time

SIZES = ("memory", "disk", "output")
TIMES = ("agent_time", "oracle_time", "trial_time")
LEAST = {"memory": 6 << 20, "disk": 4 << 20}
"""Bytes; no engine starts a room with less, so a smaller number is a forgotten unit."""


def limit_problems(
    doc: Located, at: Where | None, task: Any, place: Callable[..., Where] | None = None
) -> Iterator[Problem]:
    """What is wrong with `task["limits"]`; `place` maps a path in the task to one in the document."""
    limits = task.get("limits") if isinstance(task, dict) else None
    for name, value in limits.items() if isinstance(limits, dict) else ():
        where = place("limits", name) if place else (*(at or ()), "limits", name)
        if name in SIZES:
            yield from _size_problems(doc, where, name, value)
        elif name in TIMES:
            yield from time_problems(doc, where, value)


def time_problems(doc: Located, where: Where, value: Any) -> Iterator[Problem]:
    """What is wrong with a time; another type than the schema's is not said again."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return
    try:
        parse_time(value)
    except ValueError:
        yield doc.problem(where, f"{value!r} is not a time", f"write {TIME_WANTED}")


def _size_problems(doc: Located, where: Where, name: str, value: Any) -> Iterator[Problem]:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return
    try:
        size = parse_size(value)
    except ValueError:
        yield doc.problem(where, f"{value!r} is not a size", f"write {SIZE_WANTED}")
        return
    if size < (least := LEAST.get(name, 0)):
        seen = f"{value!r} is less than the {least >> 20}M of {name} that a room needs"
        yield doc.problem(where, seen, 'write more, or the unit that was meant, such as "512M"')


def parsed_limits(limits: dict[str, Any]) -> dict[str, Any]:
    """Limits that have no problem, as bytes and seconds."""
    units: dict[str, Callable[[Any], float]] = {
        **dict.fromkeys(SIZES, parse_size),
        **dict.fromkeys(TIMES, parse_time),
    }
    return {name: units[name](value) if name in units else value for name, value in limits.items()}
