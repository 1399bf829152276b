"""A run as GitHub-flavoured Markdown, small enough for a step summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator import words
from orchestrator.checks import delta_findings
from orchestrator.dossier import Dossier
from orchestrator.report import Report, Row
from orchestrator.summary import STATUSES

LIMIT = 1024 * 1024
"""Bytes a step summary may have; a longer one is refused whole."""
BUDGET = 900 * 1024
"""Bytes of ours: a step may have written something before."""
REASON_SHOWN = 300
SLOWEST = 10
FINDINGS_SHOWN = 5
"""Places of findings in one row; the report page and SARIF have more."""


@dataclass(frozen=True)
class _Section:
    title: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((f"### {self.title}", "", *self.lines, "")) + "\n"

    @property
    def size(self) -> int:
        return len(self.text.encode())


def document(dossier: Dossier, budget: int = BUDGET) -> str:
    """At most `budget` bytes: the longest sections are left out first, and named."""
    head = "\n".join(_head(dossier)) + "\n\n"
    sections = [section for section in _sections(dossier) if section.lines]
    kept, left = _fitting(sections, budget - len(head.encode()) - 1000)
    text = head + "".join(section.text for section in kept)
    if left:
        titles = ", ".join(section.title.lower() for section in left)
        text += f"Left out for their length: {titles}. The run folder has them all.\n"
    return _cut(text, budget)


def _fitting(sections: list[_Section], room: int) -> tuple[list[_Section], list[_Section]]:
    kept = list(sections)
    while kept and sum(section.size for section in kept) > room:
        kept.remove(max(kept, key=lambda section: section.size))
    return kept, [section for section in sections if section not in kept]


def _head(dossier: Dossier) -> Iterable[str]:
    report = dossier.report
    told = [f"{n} {words.word(status).text}" for status, n in report.counts.items() if n]
    yield f"## {_mark(report)} {_cell(report.benchmark)} {_cell(report.benchmark_version)}"
    yield ""
    yield f"**{words.many(report.planned, 'trial')}: {', '.join(told) or 'none'}.** {_coverage(report)}"
    for warning in report.warnings:
        yield ""
        yield f"> Warning: {_cell(warning)}."


def _mark(report: Report) -> str:
    return {0: "✔ Passed:", 1: "✘ Failed:"}.get(report.exit_code, "! Not decided:")


def _coverage(report: Report) -> str:
    graded = report.counts["passed"] + report.counts["failed"]
    share = f" ({graded / report.planned:.0%})" if report.planned else ""
    return f"{graded} of {report.planned} are graded{share}."


def _sections(dossier: Dossier) -> Iterable[_Section]:
    report = dossier.report
    yield _Section("Gates", tuple(_gates(report)))
    yield _Section("Agents", tuple(_agents(report)))
    wrong = [row for row in report.rows if row.status == "failed"]
    yield _Section(f"Failed ({len(wrong)})", tuple(_reasons(wrong)))
    trouble = [row for row in report.rows if row.status not in ("passed", "failed")]
    yield _Section(f"No score ({len(trouble)})", tuple(_reasons(trouble)))
    yield _Section("Findings", tuple(_findings(dossier)))
    slow = sorted(report.rows, key=lambda row: -row.seconds)[:SLOWEST]
    yield _Section("Slowest", tuple(_table(slow) if len(report.rows) > SLOWEST else ()))
    yield _Section(f"All trials ({report.planned})", tuple(_table(report.rows)))


def _gates(report: Report) -> Iterable[str]:
    for result in report.gates:
        mark = "✔ met" if result.met else "✘ missed"
        yield f"- {mark}: {result.gate.kind} gate: {_cell(result.reason)}"


def _agents(report: Report) -> Iterable[str]:
    used = [status for status in STATUSES if report.counts[status] or status in ("passed", "failed")]
    if not report.agents:
        return
    yield (
        "| agent | " + " | ".join(words.word(status).text for status in used) + " | pass rate | mean score |"
    )
    yield "|---" * 1 + "|---:" * (len(used) + 2) + "|"
    for agent in report.agents:
        rate = "-"
        if agent.interval is not None and agent.headline:
            rate = f"{agent.interval.rate:.0%} ({agent.interval.low:.0%} to {agent.interval.high:.0%})"
        counts = " | ".join(str(agent.counts[status]) for status in used)
        name = _cell(words.agent_name(agent.agent))
        yield f"| {name} | {counts} | {rate} | {words.score(agent.mean_score if agent.headline else None)} |"
    yield ""
    yield "The range behind a pass rate is its 95 % interval; repeats of one task count as one cluster."


def _reasons(rows: list[Row]) -> Iterable[str]:
    if rows:
        yield "| task | agent | status | why |"
        yield "|---|---|---|---|"
    for row in rows:
        told = (_cell(_task(row)), _cell(words.agent_name(row.agent)), _status(row))
        yield f"| {' | '.join(told)} | {_cell(words.brief(row.reason, REASON_SHOWN))} |"


def _findings(dossier: Dossier) -> Iterable[str]:
    """What changes brought along and hid, with places; what they mended is counted."""
    rows: list[str] = []
    for row in dossier.report.rows:
        record = dossier.latest.get(row.trial)
        if record is None or record.verdict is None or row.status not in ("passed", "failed"):
            continue
        details = (outcome.details for outcome in record.verdict.outcomes)
        for found in filter(None, map(delta_findings.told, details)):
            cells = [_task(row), words.agent_name(row.agent), found.tool]
            numbers = [str(found.counts[fate]) for fate in ("new", "hidden", "fixed", "gone")]
            shown = [f for f in found.rows if f.fate in ("new", "hidden")][:FINDINGS_SHOWN]
            places = "; ".join(f"{f.path}:{f.line} {f.rule}" for f in shown)
            rows.append(f"| {' | '.join([*map(_cell, cells), *numbers, _cell(places)])} |")
    if rows:
        yield "| task | agent | tool | new | hidden | fixed | gone | new and hidden ones |"
        yield "|---|---|---|---:|---:|---:|---:|---|"
        yield from rows


def _table(rows: Iterable[Row]) -> Iterable[str]:
    yield "| task | agent | status | score | time |"
    yield "|---|---|---|---:|---:|"
    for row in rows:
        facts = f"{words.score(row.score)} | {words.seconds(row.seconds) if row.attempts else '-'}"
        yield f"| {_cell(_task(row))} | {_cell(words.agent_name(row.agent))} | {_status(row)} | {facts} |"


def _task(row: Row) -> str:
    return row.task + (f" #{row.repeat}" if row.repeat > 1 else "")


def _status(row: Row) -> str:
    word = words.word(row.status)
    return f"{word.mark} {word.text}"


def _cell(text: str) -> str:
    """Text that cannot end a cell, begin a tag, a link or a mention, or be anything but itself.

    >>> _cell("a|b <img> @me")
    'a\\\\|b \\\\<img\\\\> @\\u200bme'
    """
    text = words.safe(text).replace("\n", " ").replace("\t", " ")
    for mark in "\\`*_[]<>|#~!&$:":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("@", "@\u200b")


def _cut(text: str, budget: int) -> str:
    data = text.encode()
    return text if len(data) <= budget else data[:budget].decode("utf-8", "ignore")
