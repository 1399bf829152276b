"""Two measurements against each other, and what a change hid instead of mending it (C-11)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.analyzers import Analyzer, Finding, Measurement
from orchestrator.analyzers import delta as matching
from orchestrator.analyzers.suppressions import Suppression
from orchestrator.analyzers.suppressions import added as added_suppressions
from orchestrator.checks.causes import clip, printable
from orchestrator.contract import ChangedFile

ROWS_KEPT = 50
"""Findings of each kind listed in an outcome."""


@dataclass(frozen=True)
class Comparison:
    """Both measurements, and what is counted back before they are compared."""

    before: Measurement
    after: Measurement
    findings: matching.Delta | None
    joined: int
    """Findings in files that were not analysed before: they balance those gone with other files."""
    suppressed: tuple[Suppression, ...]
    hidden: int
    """New suppressions that must be counted back."""
    allow: frozenset[str]
    """What the task lets pass: "suppressions", "deletions"."""

    @property
    def gone(self) -> int:
        """Findings counted back because their files left the analysed set."""
        if self.findings is None or "deletions" in self.allow:
            return 0
        return max(0, len(self.findings.gone) - self.joined)

    @property
    def delta(self) -> float:
        # + 0.0 turns minus zero into zero.
        return self.after.improvement_over(self.before) - self.hidden - self.gone + 0.0


def compare(
    analyzer: Analyzer,
    before: Measurement,
    after: Measurement,
    changes: Collection[ChangedFile],
    allow: frozenset[str] = frozenset(),
) -> Comparison:
    """`changes` is what lies between the two: renames, contents, and the comments it adds."""
    findings, joined = None, 0
    if before.findings is not None and after.findings is not None:
        findings = _matched(before, after, changes)
        joined = _joined(before, findings, changes)
    syntax = getattr(analyzer, "suppresses", None)
    suppressed = added_suppressions(changes, syntax) if syntax else ()
    defeated = getattr(analyzer, "sees_suppressed", False) or "suppressions" in allow
    hidden = 0 if defeated else len(suppressed)
    return Comparison(before, after, findings, joined, suppressed, hidden, allow)


def _joined(before: Measurement, findings: matching.Delta, changes: Collection[ChangedFile]) -> int:
    if before.files is None:
        return 0
    renamed = {c.path for c in changes if c.status == "renamed" and c.old_path in before.files}
    known = before.files | renamed
    return sum(finding.path not in known for finding in findings.new)


def _matched(before: Measurement, after: Measurement, changes: Collection[ChangedFile]) -> matching.Delta:
    renames = {c.old_path: c.path for c in changes if c.status == "renamed" and c.old_path is not None}
    old_side = {c.old_path or c.path: c.before for c in changes}
    new_side = {c.path: c.after for c in changes}
    left: set[str] = set()
    if before.files is not None and after.files is not None:
        left = {path for path in before.files if renames.get(path, path) not in after.files}
    return matching.compare(
        _with_content(before.findings or (), old_side),
        _with_content(after.findings or (), new_side),
        renames=renames,
        left=left,
        line_map=matching.line_map({c.old_path or c.path: (c.before, c.after) for c in changes}),
    )


def _with_content(findings: tuple[Finding, ...], texts: Mapping[str, bytes | None]) -> list[Finding]:
    """Source lines for findings in files the change touches; elsewhere both sides are equal anyway."""
    lines = {path: text.splitlines() for path, text in texts.items() if text is not None}
    found = []
    for finding in findings:
        source = lines.get(finding.path, [])
        if 0 < finding.line <= len(source):
            finding = replace(finding, content=matching.squeezed(source[finding.line - 1]))
        found.append(finding)
    return found


def facts_of(compared: Comparison, minimum: float) -> dict[str, Any]:
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
        "counts": {"before": dict(compared.before.counts), "after": dict(compared.after.counts)},
        "allow": sorted(compared.allow),
        "suppressed": [f"{printable(s.path)}:{s.line}: {s.text}" for s in compared.suppressed[:ROWS_KEPT]],
        "counted_back": {"suppressions": compared.hidden, "files_left": compared.gone},
        "measurement": compared.after.to_json(),
    }
    if compared.findings is not None:
        found = compared.findings
        facts |= {
            "matched": {
                "fixed": len(found.fixed),
                "new": len(found.new),
                "unchanged": len(found.unchanged),
                "moved": len(found.moved),
                "gone": len(found.gone),
            },
            "fixed": _rows(found.fixed),
            "new": _rows(found.new),
            "gone": _rows(found.gone),
            "files_left": sorted({printable(f.path) for f in found.gone})[:ROWS_KEPT],
        }
    return facts


def _rows(findings: tuple[Finding, ...]) -> list[list[Any]]:
    return [
        [printable(f.path), f.line, f.rule, f.severity, clip(printable(f.message), 200)]
        for f in findings[:ROWS_KEPT]
    ]


def sentence(tool: str, compared: Comparison, minimum: float) -> str:
    """The reason: both values, the delta, and what was counted back."""
    text = (
        f"{tool}: {_plain(compared.before.value)} {compared.after.unit} before, "
        f"{_plain(compared.after.value)} after, delta {compared.delta:+.10g} (at least {_plain(minimum)})"
    )
    if compared.findings is not None:
        found = compared.findings
        text += f"; {len(found.fixed)} fixed, {len(found.new)} new, {len(found.unchanged)} unchanged"
    if compared.gone:
        text += f"; {compared.gone} counted back for files that are not analysed any more"
    if compared.suppressed:
        counted = "counted back" if compared.hidden else "not counted back"
        text += f"; {len(compared.suppressed)} new suppressions, {counted}"
    return text


def _plain(value: float) -> str:
    return f"{value:.10g}"
