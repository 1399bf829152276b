"""Is the text JSON that satisfies a JSON Schema: the `json_schema` check (rules 97 and 106, C-54)."""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from orchestrator.checks import readers
from orchestrator.checks.fields import Mistake
from orchestrator.checks.patterned import PatternedCheck
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

if TYPE_CHECKING:
    from orchestrator.checks.validation import Schema

_KEPT = 64


class JsonSchemaExecutor(PatternedCheck):
    """Binary. The whole text is JSON, or else its only fenced block is.

    The schema's draft is its `$schema`, else 2020-12. Formats are enforced, patterns are matched by PCRE2
    within limits, and no reference leaves the schema's own file. `regex_seconds` is the CPU time that one
    pattern may take on one text.
    """

    kinds = frozenset({"json_schema"})

    def __init__(self, regex_seconds: float = 3.0) -> None:
        super().__init__(regex_seconds)
        self._ready: OrderedDict[str, Schema] = OrderedDict()
        self._lock = Lock()

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        from orchestrator.checks.validation import Endless

        schema = self._prepared(_schema(check, context))
        try:
            errors = schema.errors(readers.document(text, readers.read_json))
        except readers.NoDocument as trouble:
            return failed(check, str(trouble))
        except Endless as trouble:
            return failed(check, str(trouble))
        if errors:
            more = f" and {len(errors) - 3} more" if errors[3:] else ""
            return failed(check, "; ".join(errors[:3]) + more, errors=errors)
        return passed(check, "; ".join(["satisfies the schema", *schema.notes]))

    def _prepared(self, schema: Any) -> Schema:
        """The schema made ready, kept for the next responses."""
        from orchestrator.checks.validation import prepare

        try:
            key = json.dumps(schema)
        except (TypeError, ValueError, RecursionError) as cause:
            raise Mistake(f"schema is no JSON: {cause}") from None
        with self._lock:
            if key in self._ready:
                self._ready.move_to_end(key)
                return self._ready[key]
        made = prepare(schema, self._regex)
        with self._lock:
            self._ready[key] = made
            if len(self._ready) > _KEPT:
                self._ready.popitem(last=False)
        return made


def _schema(check: Check, context: Context) -> Any:
    if ("schema" in check) == ("schema_ref" in check):
        raise Mistake("give exactly one of schema and schema_ref")
    if "schema" in check:
        return check["schema"]
    from orchestrator.checks import schema_files  # loads jsonschema: only when a check asks for it

    return schema_files.load(check["schema_ref"], context.root)
