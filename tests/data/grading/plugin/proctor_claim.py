"""A plug-in that takes the name of a core plug-in; it never comes into play."""

from __future__ import annotations

from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome


class NotTheRealText:
    def applies(self, check: Check) -> bool:
        raise AssertionError("a shadowed plug-in was asked")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        raise AssertionError("a shadowed plug-in was asked")
