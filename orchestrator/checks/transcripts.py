"""A recorded trajectory as text and as tool calls: ATIF documents, and plain lists of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard


class Unreadable(Exception):
    """A trajectory of no shape we know."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, as recorded."""

    name: str
    arguments: Any
    """A mapping; anything else stays as it was recorded."""


def calls(trajectory: Any) -> tuple[Call, ...]:
    """The tool calls in their order, those of embedded subagents at the end.

    ATIF: `steps[].tool_calls[]` of {function_name, arguments}. A plain list: items of {name, arguments}.
    Context that a subagent's trajectory copied from its parent is not counted again. Raises Unreadable.
    """
    if isinstance(trajectory, Mapping) and _is_list(trajectory.get("steps")):
        return tuple(_atif_calls(trajectory, inner=False))
    if _is_list(trajectory):
        return tuple(_call(item, "name", f"item {n}") for n, item in enumerate(trajectory))
    raise Unreadable("the trajectory is neither an ATIF document nor a list of {name, arguments}")


def transcript(trajectory: Any) -> str:
    """What was said, called and observed, one piece per line; another shape's JSON as it is."""
    if isinstance(trajectory, str):
        text = trajectory
    elif isinstance(trajectory, Mapping) and _is_list(trajectory.get("steps")):
        text = "".join(f"{piece}\n" for piece in _pieces(trajectory))
    elif _is_list(trajectory):
        text = "".join(f"{_line(item)}\n" for item in trajectory)
    else:
        text = _json(trajectory)
    return text.encode("utf-8", "replace").decode("utf-8")


def _atif_calls(trajectory: Mapping[str, Any], *, inner: bool) -> Iterator[Call]:
    for number, step in enumerate(trajectory["steps"], start=1):
        if not isinstance(step, Mapping):
            raise Unreadable(f"step {number} of the trajectory is no mapping")
        if inner and step.get("is_copied_context") is True:
            continue
        made = step.get("tool_calls") or ()
        if not _is_list(made):
            raise Unreadable(f"tool_calls of step {number} of the trajectory are no list")
        yield from (_call(item, "function_name", f"a tool call of step {number}") for item in made)
    for sub in _subagents(trajectory):
        yield from _atif_calls(sub, inner=True)


def _subagents(trajectory: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    subs = trajectory.get("subagent_trajectories") or ()
    for sub in subs if _is_list(subs) else ():
        if isinstance(sub, Mapping) and _is_list(sub.get("steps")):
            yield sub


def _call(item: Any, key: str, where: str) -> Call:
    name = item.get(key) if isinstance(item, Mapping) else None
    if not isinstance(name, str) or not name:
        raise Unreadable(f"{where} of the trajectory has no {key}")
    return Call(name, _arguments(item.get("arguments")))


def _arguments(value: Any) -> Any:
    """Some recorders keep arguments as JSON text."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read if isinstance(read, Mapping) else value
    return value


def _pieces(trajectory: Mapping[str, Any]) -> Iterator[str]:
    for step in trajectory["steps"]:
        if not isinstance(step, Mapping):
            continue
        yield from filter(None, (_content(step.get(key)) for key in ("message", "reasoning_content")))
        made, seen = step.get("tool_calls"), step.get("observation")
        yield from (_line(item) for item in (made if _is_list(made) else ()))
        results = seen.get("results") if isinstance(seen, Mapping) else None
        for result in results if _is_list(results) else ():
            yield from filter(None, [_content(result.get("content")) if isinstance(result, Mapping) else ""])
    for sub in _subagents(trajectory):
        yield from _pieces(sub)


def _line(item: Any) -> str:
    """A tool call as `name {"argument": "value"}`, anything else as JSON."""
    if not isinstance(item, Mapping):
        return item if isinstance(item, str) else _json(item)
    name = item.get("function_name", item.get("name"))
    if not isinstance(name, str):
        return _json(item)
    arguments = item.get("arguments")
    return f"{name} {arguments if isinstance(arguments, str) else _json(arguments or {})}"


def _content(value: Any) -> str:
    """Text, or the text parts of a list of parts."""
    if isinstance(value, str):
        return value
    parts = value if _is_list(value) else ()
    return "\n".join(p["text"] for p in parts if isinstance(p, Mapping) and isinstance(p.get("text"), str))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
