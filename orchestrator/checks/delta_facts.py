"""What a comparison says in an outcome: the sentence for people, the facts for the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator.analyzers import Finding
from orchestrator.checks.causes import clip, printable
from orchestrator.checks.comparison import Comparison

ROWS_KEPT = 50
"""Findings of each kind, rules and files listed in an outcome."""


def facts_of(compared: Comparison, minimum: float, mode: str = "net") -> dict[str, Any]:
    """Everything behind the verdict, JSON-serialisable, tables bounded."""
    facts: dict[str, Any] = {
        "tool": compared.after.tool,
        "tool_version": compared.after.tool_version,
        "unit": compared.after.unit,
        "higher_is_better": compared.after.higher_is_better,
        "before": compared.before.value,
        "after": compared.after.value,
        "delta": compared.delta,
        "min_delta": minimum,
        "mode": mode,
        "counts": {"before": dict(compared.before.counts), "after": dict(compared.after.counts)},
        "allow": sorted(compared.allow),
        "suppressed": [f"{printable(s.path)}:{s.line}: {s.text}" for s in compared.suppressed[:ROWS_KEPT]],
        "counted_back": {"suppressions": compared.hidden, "files_left": compared.gone},
        "measurement": compared.after.to_json(),
    }
    if compared.weights:
        facts["weights"] = dict(compared.weights)
    if compared.findings is not None:
        found = compared.findings
        facts |= {
            "matched": matched(compared),
            "fixed": _rows(found.fixed),
            "new": _rows(found.new),
            "gone": _rows(found.gone),
            "hidden": _rows(found.suppressed),
            "files_left": [printable(path) for path in compared.left[:ROWS_KEPT]],
            "by_rule": by(compared, lambda finding: finding.rule),
            "by_file": by(compared, lambda finding: printable(finding.path)),
        }
    return facts


def matched(compared: Comparison) -> dict[str, int]:
    """How many findings met which fate."""
    found = compared.findings
    if found is None:
        return {}
    return {
        "fixed": len(found.fixed),
        "new": len(found.new),
        "unchanged": len(found.unchanged),
        "moved": len(found.moved),
        "gone": len(found.gone),
        "suppressed": len(found.suppressed),
    }


def by(compared: Comparison, key: Any, limit: int = ROWS_KEPT) -> dict[str, list[int]]:
    """[before, after] by rule or by file, most changed first, only where something changed."""
    before, after = (Counter(map(key, m.findings or ())) for m in (compared.known, compared.after))
    changed = [name for name in before.keys() | after.keys() if before[name] != after[name]]
    changed.sort(key=lambda name: (-abs(before[name] - after[name]), name))
    return {name: [before[name], after[name]] for name in changed[:limit]}


def _rows(findings: Sequence[Finding]) -> list[list[Any]]:
    return [
        [printable(f.path), f.line, f.rule, f.severity, clip(printable(f.message), 200)]
        for f in findings[:ROWS_KEPT]
    ]


def sentence(tool: str, compared: Comparison, minimum: float) -> str:
    """The reason: both values, the delta, and what was counted back."""
    return "; ".join(_clauses(tool, compared, minimum))


def _clauses(tool: str, compared: Comparison, minimum: float) -> Iterable[str]:
    before, after = compared.before, compared.after
    yield (
        f"{tool}: {_counted(before.value, after.unit)} before, {plain(after.value)} after, "
        f"delta {compared.delta:+.10g} (at least {plain(minimum)})"
    )
    if compared.findings is not None:
        found = compared.findings
        yield f"{len(found.fixed)} fixed, {len(found.new)} new, {len(found.unchanged)} unchanged"
    if compared.gone:
        yield f"{plain(compared.gone)} counted back for files that are not analysed any more"
    if compared.suppressed:
        counted = f"{plain(compared.hidden)} counted back" if compared.hidden else "not counted back"
        yield f"{_counted(len(compared.suppressed), 'new suppressions')}, {counted}"


def _counted(value: float, unit: str) -> str:
    """
    >>> _counted(1.0, "findings")
    '1 finding'
    """
    return f"{plain(value)} {unit.removesuffix('s') if value == 1 else unit}"


def plain(value: float) -> str:
    """
    >>> plain(3.0)
    '3'
    """
    return f"{value:.10g}"
