"""Is the text a document of the wanted format: the `format` check (rule 100, C-54)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.checks import readers
from orchestrator.checks.fields import Mistake, flag
from orchestrator.checks.subjects import TextCheck
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

_READERS: Mapping[str, Callable[[str], Any]] = {
    "json": readers.read_json,
    "yaml": readers.read_yaml,
    "xml": readers.read_xml,
    "html": readers.read_html,
    "markdown": readers.read_markdown,
    "csv": readers.read_csv,
}
_STRICT: Mapping[str, Callable[[str], Any]] = {"html": readers.read_strict_html}
"""Formats that `strict` reads with another reader; for the others it only wants the whole text."""


class FormatExecutor(TextCheck):
    """Binary. Without `strict` one fenced block may hold the document; with it the whole text is one."""

    kinds = frozenset({"format"})

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        name, strict = check.get("format"), flag(check, "strict")
        if not isinstance(name, str) or name not in _READERS:
            raise Mistake(f"unknown format {name!r}: write one of {', '.join(_READERS)}")
        read = _STRICT.get(name, _READERS[name]) if strict else _READERS[name]
        try:
            readers.document(text, read, whole=strict)
        except readers.NoDocument as trouble:
            return failed(check, str(trouble))
        return passed(check, f"is {name}")
