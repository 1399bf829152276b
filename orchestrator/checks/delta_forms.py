"""A comparison of two analyser runs as JSON, SARIF 2.1.0 and Markdown."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from orchestrator.analyzers import Finding
from orchestrator.checks.causes import clip, printable
from orchestrator.checks.comparison import Comparison
from orchestrator.checks.contest import Ruling
from orchestrator.checks.delta_facts import by, matched, plain, sentence

State = Literal["introduced", "fixed", "suppressed", "gone", "unchanged"]
ROWS = 100
"""Findings of one kind in a Markdown table, and in the lines for a terminal."""
BY_SOURCE = "rule, path (renames followed), source line without white space, occurrence"
BY_MESSAGE = "rule, path, message, occurrence (saved reports hold no source lines)"
_LEVELS = {"error": "error", "warning": "warning", "note": "note", "info": "note", "none": "none"}
_BASELINE = {
    "introduced": "new",
    "fixed": "absent",
    "gone": "absent",
    "suppressed": "unchanged",
    "unchanged": "unchanged",
}
_TITLES = {
    "introduced": "Introduced",
    "suppressed": "Hidden, not mended",
    "gone": "Gone with files",
    "fixed": "Fixed",
}


@dataclass(frozen=True)
class Gate:
    """What was asked for, and how it came out."""

    ruling: Ruling
    minimum: float
    mode: str = "net"
    identity: str = BY_SOURCE

    @property
    def passed(self) -> bool:
        return not self.ruling.cause


def fates(compared: Comparison) -> Iterator[tuple[State, Finding, Finding]]:
    """(fate, the finding, where it was before) for every finding of either run."""
    found = compared.findings
    if found is None:
        return
    yield from (("introduced", f, f) for f in found.new)
    yield from (("suppressed", f, f) for f in found.suppressed)
    yield from (("gone", f, f) for f in found.gone)
    yield from (("fixed", f, f) for f in found.fixed)
    yield from (("unchanged", after, before) for before, after in found.unchanged)


def as_json(gate: Gate) -> dict[str, Any]:
    """One document. `before - fixed - gone - suppressed + introduced == after` where findings are counted
    and none is weighed."""
    compared = gate.ruling.compared
    document: dict[str, Any] = {"passed": gate.passed, "cause": gate.ruling.cause}
    if compared is None:
        return {**document, "reason": gate.ruling.reason, "guards": _guards(gate), **gate.ruling.facts}
    numbers = matched(compared)
    document |= {
        "reason": _reason(gate),
        "tool": compared.after.tool,
        "tool_version": compared.after.tool_version,
        "unit": compared.after.unit,
        "before": _number(compared.before.value),
        "after": _number(compared.after.value),
        "delta": _number(compared.delta),
        "min_delta": _number(gate.minimum),
        "mode": gate.mode,
        "fixed": numbers.get("fixed", 0),
        "introduced": numbers.get("new", 0),
        "unchanged": numbers.get("unchanged", 0),
        "moved": numbers.get("moved", 0),
        "suppressed": numbers.get("suppressed", 0),
        "gone": numbers.get("gone", 0),
        "counted_back": {"suppressions": _number(compared.hidden), "files_left": _number(compared.gone)},
        "suppressions": [f"{printable(s.path)}:{s.line}: {s.text}" for s in compared.suppressed],
        "counts": {"before": dict(compared.before.counts), "after": dict(compared.after.counts)},
        "files": None if compared.after.files is None else len(compared.after.files),
        "identity": gate.identity,
        "guards": _guards(gate),
        "findings": [_row(*fate) for fate in fates(compared)],
    }
    return document


def _row(state: State, finding: Finding, before: Finding) -> dict[str, Any]:
    row: dict[str, Any] = {
        "state": state,
        "rule": finding.rule,
        "path": printable(finding.path),
        "line": finding.line,
        "severity": finding.severity,
        "message": printable(finding.message),
    }
    if state == "unchanged" and (before.path, before.line) != (finding.path, finding.line):
        row["was"] = {"path": printable(before.path), "line": before.line}
    return row


def as_sarif(gate: Gate, version: str) -> dict[str, Any]:
    """A log with baselineState for every finding of either run, and suppressions where one was hidden."""
    compared = gate.ruling.compared
    rows = list(fates(compared)) if compared else []
    rules = sorted({finding.rule for _, finding, _ in rows})
    index = {rule: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    tool = compared.after if compared else None
    driver: dict[str, Any] = {
        "name": tool.tool if tool else "score_delta",
        "rules": [{"id": r} for r in rules],
    }
    if tool and tool.tool_version:
        driver["version"] = tool.tool_version
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver, "extensions": [{"name": "proctor", "version": version}]},
                "invocations": [{"executionSuccessful": compared is not None}],
                "columnKind": "unicodeCodePoints",
                "properties": {"passed": gate.passed, "reason": _reason(gate), "guards": _guards(gate)},
                "results": [_result(index, seen, *row) for row in rows],
            }
        ],
    }


def _result(
    index: dict[str, int], seen: Counter[str], state: State, finding: Finding, before: Finding
) -> dict[str, Any]:
    what = [finding.rule, finding.path, finding.key, finding.content or finding.message]
    known = hashlib.sha256(repr(what).encode()).hexdigest()
    side = f"{state == 'introduced'} {known}"
    seen[side] += 1
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index[finding.rule],
        "level": _LEVELS.get(finding.severity, "warning"),
        "message": {"text": printable(finding.message) or finding.rule},
        "baselineState": _BASELINE[state],
        "partialFingerprints": {"proctorIdentity/v1": f"{known}:{seen[side]}"},
        "properties": {"state": state},
    }
    if finding.path:
        place: dict[str, Any] = {
            "artifactLocation": {"uri": quote(finding.path.encode("utf-8", "surrogateescape"))}
        }
        if finding.line > 0:
            place["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": place}]
    if state == "suppressed":
        result["suppressions"] = [{"kind": "inSource", "justification": "a comment the change added"}]
    return result


def as_markdown(gate: Gate) -> str:
    """A page for a merge request."""
    return "\n".join(_markdown(gate)) + "\n"


def _markdown(gate: Gate) -> Iterator[str]:
    compared = gate.ruling.compared
    yield f"## {'Passed' if gate.passed else 'Failed'}: {_cell(_reason(gate))}"
    if compared is not None:
        yield ""
        yield f"| {compared.after.tool} {compared.after.tool_version} | before | after | delta |".replace(
            "  ", " "
        )
        yield "|---|---:|---:|---:|"
        values = (compared.before.value, compared.after.value)
        yield f"| {compared.after.unit} | {plain(values[0])} | {plain(values[1])} | {compared.delta:+.10g} |"
        yield from _rules(compared)
        for state in ("introduced", "suppressed", "gone", "fixed"):
            yield from _table(state, [f for s, f, _ in fates(compared) if s == state])
    yield from _guard_lines(gate)
    yield ""
    yield f"Findings are the same when these are: {gate.identity}."


def _rules(compared: Comparison) -> Iterator[str]:
    changed = by(compared, lambda finding: finding.rule)
    if changed:
        yield ""
        yield "| rule | before | after |"
        yield "|---|---:|---:|"
        yield from (f"| {_cell(rule)} | {old} | {new} |" for rule, (old, new) in changed.items())


def _table(state: str, findings: list[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield ""
    yield f"### {_TITLES[state]} ({len(findings)})"
    yield ""
    yield "| place | rule | message |"
    yield "|---|---|---|"
    for f in findings[:ROWS]:
        yield f"| {_cell(f.path)}:{f.line} | {_cell(f.rule)} | {_cell(clip(f.message, 160))} |"
    if len(findings) > ROWS:
        yield f"| ... | | {len(findings) - ROWS} more |"


def _guard_lines(gate: Gate) -> Iterator[str]:
    told = [guard for guard in gate.ruling.guards if guard.state != "passed"]
    if told:
        yield ""
        yield "### Guards"
        yield ""
    for guard in told:
        places = f": {', '.join(_cell(p) for p in guard.places[:10])}" if guard.places else ""
        yield f"- {guard.name} {guard.state}: {_cell(guard.says)}{places}"


def _reason(gate: Gate) -> str:
    compared = gate.ruling.compared
    said = sentence(compared.after.tool, compared, gate.minimum) if compared else ""
    return "; ".join(filter(None, (gate.ruling.reason, said)))


def _guards(gate: Gate) -> dict[str, Any]:
    return {guard.name: guard.to_json() for guard in gate.ruling.guards}


def _cell(text: str) -> str:
    """Text that cannot end a cell, begin a tag or a link, or be anything but itself."""
    text = printable(text).replace("\n", " ")
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def lines(gate: Gate) -> Iterable[str]:
    """A few lines for a terminal: the verdict, what is new, what the guards say."""
    compared = gate.ruling.compared
    yield f"{'passed' if gate.passed else 'failed'}: {_reason(gate)}"
    told = [row for row in fates(compared) if row[0] in ("introduced", "suppressed")] if compared else []
    for state, finding, _ in told[:ROWS]:
        mark = "+" if state == "introduced" else "~"
        place = f"{printable(finding.path)}:{finding.line}"
        yield f"  {mark} {place} {finding.rule}: {printable(finding.message)}"
    if len(told) > ROWS:
        yield f"  ... and {len(told) - ROWS} more; --json has them all"
    for guard in gate.ruling.guards:
        if guard.state not in ("passed", "failed"):
            yield f"  {guard.name} {guard.state}: {guard.says}"
