"""Checks written as Python functions of (response, context): pure, weighted, with credit in part.

They join a rubric's other checks under the kind `function` and are combined like any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from orchestrator.combine import meets
from orchestrator.contract import Check, Context
from orchestrator.errors import AuthoringError, Problem
from orchestrator.outcomes import CheckOutcome, failed, passed

KIND = "function"

Answer = bool | float | tuple[bool | float, str]
"""What a rule returns: met or not, or its share from 0 to 1; with a reason, if it has one."""
Function = Callable[[str, Mapping[str, Any]], Answer]


class RuleError(AuthoringError, ValueError):
    """A rule, or what it needs, is not as it must be; told before anything is evaluated."""


@dataclass(frozen=True)
class Rule:
    """One function as a check (rules 183 to 191).

    >>> def terms(response, context):
    ...     return sum(t in response for t in context["terms"]) / len(context["terms"])
    >>> Rule("terms", terms, weight=0.5, requires=("terms",)).weight
    0.5
    """

    name: str
    """Its id in the rubric: small letters, digits and _."""
    function: Function = field(repr=False)
    """Same input, same answer: no clock, no chance, no state. The context it is given cannot be changed."""
    weight: float = 1.0
    """0 to 1; counts under weighted_avg."""
    threshold: float = 1.0
    """The share that passes. The score counts in part below it."""
    requires: tuple[str, ...] = ()
    """Keys, or dot-paths, that the context must have; looked for before anything is evaluated."""
    description: str = ""

    def __post_init__(self) -> None:
        """Raises RuleError for a weight or threshold outside 0 to 1 and for a thing that cannot be called."""
        object.__setattr__(self, "requires", _keys(self.requires))
        for what in ("weight", "threshold"):
            if not _share(getattr(self, what)):
                raise _fault(self.name, f"{what} {getattr(self, what)!r} is not a number from 0 to 1")
        if not callable(self.function):
            raise _fault(self.name, f"{self.function!r} is no function of (response, context)")

    @property
    def check(self) -> dict[str, Any]:
        """The rule as a check of a rubric."""
        said = {"description": self.description} if self.description else {}
        return {"kind": KIND, "id": self.name, **said}


class RuleExecutor:
    """Executes the checks that given rules stand behind."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = {rule.name: rule for rule in rules}

    def applies(self, check: Check) -> bool:
        return check["kind"] == KIND and check.get("id") in self._rules

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        """A rule that raises has failed; what it raised is in the details under `<name>_error` (rule 187)."""
        rule = self._rules[check["id"]]
        if isinstance(response, bytes):
            return failed(check, "the response is not valid UTF-8")
        try:
            answer = rule.function(response, MappingProxyType(dict(context)))
        except Exception as mishap:
            return _broken(check, "the rule raised", f"{type(mishap).__name__}: {mishap}")
        score, reason = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, "")
        if not _number(score) and not isinstance(score, bool):
            hint = "return True, False or a number from 0 to 1"
            return _broken(check, "the rule did not answer:", f"it returned {score!r}; {hint}")
        return _outcome(check, rule, float(score), str(reason))


def missing(rules: Iterable[Rule], context: Mapping[str, Any]) -> tuple[str, ...]:
    """What the rules require and `context` does not have, each once (rule 191).

    >>> missing([Rule("a", len, requires=("user.tier", "limit"))], {"user": {}, "limit": 3})
    ('user.tier',)
    """
    wanted = dict.fromkeys(key for rule in rules for key in rule.requires)
    return tuple(key for key in wanted if not _has(context, key))


def refuse_missing(rules: Iterable[Rule], context: Mapping[str, Any]) -> None:
    """Raises RuleError naming every key that is missing and the rules that need it."""
    lacking = missing(rules := tuple(rules), context)
    if lacking:
        needs = {key: ", ".join(r.name for r in rules if key in r.requires) for key in lacking}
        raise RuleError(
            Problem("", 0, f"context.{key}", f"is missing; needed by {names}", "pass it with the context")
            for key, names in needs.items()
        )


def _broken(check: Check, what: str, told: str) -> CheckOutcome:
    return replace(failed(check, f"{what} {told}"), details={f"{check['id']}_error": told})


def _outcome(check: Check, rule: Rule, score: float, reason: str) -> CheckOutcome:
    said = reason or rule.description
    if not math.isfinite(score):
        return failed(check, said, score)
    shown = f"{min(1.0, max(0.0, score)):.4g} of 1" if 0 < score < 1 else ("met" if score >= 1 else "not met")
    words = f"{shown}: {said}" if said else shown
    return (passed if meets(score, rule.threshold) else failed)(check, words, score)


def _keys(keys: Any) -> tuple[str, ...]:
    return (keys,) if isinstance(keys, str) else tuple(keys)


def _has(context: Mapping[str, Any], key: str) -> bool:
    if key in context:
        return True
    value: Any = context
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _share(value: Any) -> bool:
    return _number(value) and math.isfinite(value) and 0 <= value <= 1


def _fault(name: str, message: str) -> RuleError:
    return RuleError(Problem("", 0, f"rule {name}", message))
