"""A plug-in as a third party would write it: a new kind, its schema, and a claim on a core kind."""

from __future__ import annotations

from typing import Any

from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed


def definition(kind: str, **properties: Any) -> dict[str, Any]:
    own = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": kind}} | properties}
    return {"allOf": [{"$ref": "#/$defs/check_base"}, own], "unevaluatedProperties": False}


COUNT = {"type": "integer", "minimum": 0}


class WordCount:
    """word_count: the response has at least `min` (default 0) and at most `max` words."""

    schemas = {
        "word_count": definition("word_count", min=COUNT, max=COUNT),
        "regex": definition("regex"),
    }

    def applies(self, check: Check) -> bool:
        return check["kind"] in ("word_count", "regex")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        least, most = check.get("min", 0), check.get("max")
        if not _count(least) or not (most is None or (_count(most) and most >= least)):
            return failed(check, f"min {least!r} and max {most!r} are no range of words")
        if isinstance(response, bytes):
            return failed(check, "the response is not valid UTF-8")
        words = len(response.split())
        if words < least:
            return failed(check, f"{words} words are fewer than {least}")
        if most is not None and words > most:
            return failed(check, f"{words} words are more than {most}")
        return passed(check, f"{words} words")


class NotTheRealText:
    """Takes the name of a core plug-in; never comes into play."""

    def applies(self, check: Check) -> bool:
        raise AssertionError("a shadowed plug-in was asked")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        raise AssertionError("a shadowed plug-in was asked")


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
