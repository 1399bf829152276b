"""How many of the question's facts does the text name: fact_match (rule 101, C-54)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.checks.fields import share
from orchestrator.checks.paths import PathError, texts
from orchestrator.checks.responses import quoted
from orchestrator.checks.subjects import TextCheck
from orchestrator.checks.target import normalized
from orchestrator.combine import meets
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

PathResolver = Callable[[Mapping[str, Any], Any], Sequence[str]]


class FactMatchExecutor(TextCheck):
    """The score is the share of facts found. A fact is found when its text occurs in the looked-at text,
    both without regard to case and runs of white space. `resolver` is an injected service (rule 149)."""

    kinds = frozenset({"fact_match"})

    def __init__(self, resolver: PathResolver = texts) -> None:
        self._resolver = resolver

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        threshold = share(check, "threshold")
        try:
            facts = self._resolver(context, check.get("source"))
        except PathError as cause:
            return failed(check, str(cause))
        held = normalized(text)
        missing = [fact for fact in facts if normalized(fact) not in held]
        score = (len(facts) - len(missing)) / len(facts)
        named = ", ".join(quoted(fact) for fact in missing[:3]) + (", ..." if missing[3:] else "")
        reason = f"{len(facts) - len(missing)} of {len(facts)} facts found"
        reason += f", not found: {named}" if missing else ""
        outcome = passed if meets(score, threshold) else failed
        return outcome(check, f"{reason}; {threshold:g} wanted", score, missing=len(missing))
