"""word_count: the response has at least `min` and at most `max` words. A plug-in for proctor.

Words are what stands between runs of white space. A range is a hard boundary, so the score is 1 or 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed


def _definition(kind: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The shape that every kind's definition has: the shared fields, its own, and nothing else."""
    return {
        "allOf": [
            {"$ref": "#/$defs/check_base"},
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": kind}, **properties}},
        ],
        "unevaluatedProperties": False,
    }


class WordCount:
    """Executes `word_count`, and brings its schema: one object, so the two cannot drift apart."""

    schemas = {
        "word_count": _definition(
            "word_count",
            {
                "min": {"type": "integer", "minimum": 0, "description": "Fewest words. Default 0."},
                "max": {"type": "integer", "minimum": 0, "description": "Most words. Default: any number."},
            },
        ),
        # Core kinds cannot be taken over: this definition is never used, and regex never reaches `execute`.
        "regex": _definition("regex", {"anything": {}}),
    }

    def applies(self, check: Check) -> bool:
        return check["kind"] in ("word_count", "regex")

    def execute(self, check: Check, response: str | bytes, context: Context) -> CheckOutcome:
        """Looks at the check's fields again: Python callers bypass the schema."""
        least, most = check.get("min", 0), check.get("max")
        if not _count(least) or not (most is None or (_count(most) and most >= least)):
            return failed(check, f"min {least!r} and max {most!r} are no range of words")
        if isinstance(response, bytes):
            return failed(check, "the response is not valid UTF-8")
        words = len(response.split())
        if words < least:
            return failed(check, f"{words} words, fewer than {least}")
        if most is not None and words > most:
            return failed(check, f"{words} words, more than {most}")
        return passed(check, f"{words} words, within range")


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
