"""Does the response hold, avoid or match what the check lists: must_contain_any, must_not_contain, regex."""

from __future__ import annotations

from orchestrator.checks.fields import Mistake, flag, texts
from orchestrator.checks.patterned import PatternedCheck
from orchestrator.checks.responses import folded, quoted
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed


class TextExecutor(PatternedCheck):
    """The three kinds that look at the text alone (rules 57 to 69, 150). Binary: 1.0 or 0.0 (rule 64).

    `regex_seconds` is the CPU time one pattern may take on one response.
    """

    kinds = frozenset({"must_contain_any", "must_not_contain", "regex"})

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        return self._match(check, text) if check["kind"] == "regex" else _contain(check, text)

    def _match(self, check: Check, text: str) -> CheckOutcome:
        """Every pattern is tried, also when one has decided: an author must see a bad one (rule 67)."""
        from orchestrator.checks.regex import PatternError, engine

        patterns = texts(check, "patterns")
        mode = check.get("mode", "any")
        if mode not in ("any", "all"):
            raise Mistake(f"unknown mode {mode!r}: write any or all")
        try:
            matched = [p for p in patterns if self._regex.search(p, check.get("flags"), text)]
        except PatternError as cause:
            return failed(check, str(cause), engine=engine())
        missed = [p for p in patterns if p not in matched]
        if matched if mode == "any" else not missed:
            return passed(check, f"matched {_shown(matched)}", engine=engine())
        return failed(check, f"no match for {_shown(missed)}", engine=engine())


def _contain(check: Check, text: str) -> CheckOutcome:
    values = texts(check, "values")
    if flag(check, "case_sensitive"):
        found = [v for v in values if v in text]
    else:
        held = folded(text)
        found = [v for v in values if v.casefold() in held]
    if check["kind"] == "must_contain_any":
        if found:
            return passed(check, f"contains {_shown(found)}")
        return failed(check, f"contains none of {_shown(values)}")
    if found:
        return failed(check, f"contains {_shown(found)}")
    return passed(check, f"contains none of {_shown(values)}")


def _shown(values: list[str], most: int = 3) -> str:
    """The first few values, for a reason."""
    first = ", ".join(quoted(value) for value in values[:most])
    more = len(values) - most
    return f"{first} and {more} more" if more > 0 else first
