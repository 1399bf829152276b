"""Did the agent call the expected tools, by its own record: tool_usage (rules 102, 104 and 107; C-4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.checks.fields import Mistake, flag
from orchestrator.checks.paths import PathError, resolve
from orchestrator.checks.transcripts import Call, Unreadable, calls
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

_ANY = object()


@dataclass(frozen=True)
class Wanted:
    """One expected call."""

    name: str
    arguments: Any = _ANY
    """_ANY: whatever they were."""

    def __str__(self) -> str:
        if self.arguments is _ANY:
            return self.name
        return f"{self.name} {json.dumps(self.arguments, ensure_ascii=False, default=str)}"[:200]


class ToolUsageExecutor:
    """The score is the share of expected calls found; it passes when all were.

    `source` leads to the expected calls: names, or {name, arguments}. Each recorded call stands for one
    expected call. Further calls do not matter, and order does only with `in_order`, which is no field of the
    rubric kind but of the grader that reads a question's expected_tools. With `match_args` the arguments that
    an expected call names must be equal, as JSON, to the recorded ones, all of them; without it only names
    count.
    """

    needs = frozenset({"trajectory"})

    def applies(self, check: Check) -> bool:
        return bool(check["kind"] == "tool_usage")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        try:
            wanted = wanted_calls(resolve(context, check.get("source")), flag(check, "match_args"))
            in_order = flag(check, "in_order")
            made = calls(context.trajectory)
        except (PathError, Mistake, Unreadable) as cause:
            return failed(check, str(cause))
        missing = _out_of_order(wanted, made) if in_order else _missing(wanted, made)
        found = len(wanted) - len(missing)
        facts = {"expected": len(wanted), "found": found, "calls": len(made)}
        listed = " in their order" if in_order else ""
        reason = f"{found} of {len(wanted)} expected calls{listed} among {len(made)} recorded"
        if not missing:
            return passed(check, reason, **facts)
        named = ", ".join(str(w) for w in missing[:3]) + (", ..." if missing[3:] else "")
        return failed(check, f"{reason}; not made: {named}", found / len(wanted), **facts)


def _missing(wanted: Sequence[Wanted], made: Sequence[Call]) -> list[Wanted]:
    """What no recorded call is left for; those that name arguments choose first."""
    left = list(made)
    missing = []
    for want in sorted(wanted, key=lambda w: w.arguments is _ANY):
        hit = next((n for n, call in enumerate(left) if _answers(call, want)), None)
        if hit is None:
            missing.append(want)
        else:
            del left[hit]
    return missing


def _out_of_order(wanted: Sequence[Wanted], recorded: Sequence[Call]) -> list[Wanted]:
    """What is left over of the longest run of expected calls that were made one after the other."""
    made = [call for call in recorded if any(_answers(call, want) for want in wanted)]
    best = [[0] * (len(made) + 1) for _ in range(len(wanted) + 1)]
    for i, want in reversed(list(enumerate(wanted))):
        for j, call in reversed(list(enumerate(made))):
            took = 1 + best[i + 1][j + 1] if _answers(call, want) else 0
            best[i][j] = max(took, best[i + 1][j], best[i][j + 1])
    missing, i, j = [], 0, 0
    while i < len(wanted):
        if j < len(made) and best[i][j] == best[i][j + 1]:
            j += 1
        elif best[i][j] == best[i + 1][j]:
            missing.append(wanted[i])
            i += 1
        else:
            i, j = i + 1, j + 1
    return missing


def _answers(call: Call, want: Wanted) -> bool:
    if call.name != want.name:
        return False
    return want.arguments is _ANY or same_json(call.arguments, want.arguments)


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1.

    >>> same_json({"a": [1, True]}, {"a": [1.0, True]}), same_json(True, 1)
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def wanted_calls(value: Any, match_args: bool) -> tuple[Wanted, ...]:
    """The expected calls as a question lists them. Raises Mistake for what is no such list."""
    items = value if _is_list(value) else (value,)
    if not items:
        raise Mistake("the list of expected calls is empty")
    return tuple(_one(item, match_args, number) for number, item in enumerate(items))


def _one(item: Any, match_args: bool, number: int) -> Wanted:
    name = item.get("name") if isinstance(item, Mapping) else item
    if not isinstance(name, str) or not name:
        raise Mistake(f"expected call {number} is neither a tool's name nor {{name, arguments}}")
    if not isinstance(item, Mapping) or not match_args or "arguments" not in item:
        return Wanted(name)
    if not isinstance(item["arguments"], Mapping):
        raise Mistake(f"arguments of expected call {number} are no mapping")
    return Wanted(name, item["arguments"])


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
