"""A run's report as people read it: one table of trials, counts that add up, what to type next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator import words
from orchestrator.cli.printing import console, draw, fit, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from orchestrator.confidence import Interval
    from orchestrator.gates import GateResult
    from orchestrator.report import Report, Row

GRADED = ("passed", "failed")
REASON_WIDTH = 40
"""A column narrower than this is no place for sentences."""
HEAD_LINES = 3
"""Lines of a drawn table before its first row."""


def print_report(report: Report, folder: str) -> None:
    """The whole report on stdout: trials, totals by agent, notes, the next command."""
    out = console()
    out.print(f"{words.safe(report.benchmark)} {report.benchmark_version}: {headline(report)}", markup=False)
    draw_trials(out, report)
    if len(report.agents) > 1 or report.planned > len(report.agents):
        draw(out, agents(report, out.is_terminal))
    for line in notes(report, folder):
        out.print(line, markup=False, soft_wrap=True)


def headline(report: Report) -> str:
    """The counts that are not zero; they add up to the trials planned.

    "12 trials: 4 passed, 8 failed"
    """
    told = [f"{n} {words.word(status).text}" for status, n in report.counts.items() if n]
    return f"{words.many(report.planned, 'trial')}: " + (", ".join(told) or "none")


def draw_trials(out: Console, report: Report) -> None:
    """Task x agent, and the reason of each: in a column of its own where that is wide enough to read, else
    below each line."""
    from rich.measure import Measurement

    bare = trials(report, out.is_terminal, reasons=False)
    if not out.is_terminal or out.width - Measurement.get(out, out.options, bare).maximum >= REASON_WIDTH:
        draw(out, trials(report, out.is_terminal))
        return
    from rich.padding import Padding
    from rich.text import Text

    fit(out, bare)
    rows = iter(in_order(report))
    for n, line in enumerate(out.render_lines(bare, pad=False)):
        out.print(Text.assemble(*((s.text, s.style or "") for s in line)), no_wrap=True, overflow="ellipsis")
        row = next(rows, None) if n >= HEAD_LINES else None
        if row is not None:
            out.print(Padding(Text(_reason(row), style="dim"), (0, 1, 0, 3)))


def trials(report: Report, terminal: bool, *, reasons: bool = True) -> Table:
    """Task x agent, a line each."""
    repeated = any(row.repeat > 1 for row in report.rows)
    columns = ["task", "agent", *(["repeat"] if repeated else []), "status", "score", "time"]
    columns += ["reason"] if reasons else []
    made = table(*columns, terminal=terminal, folding="reason", right=frozenset(("score", "time", "repeat")))
    called = words.short_names(line.agent for line in report.agents)
    above = ""
    for row in in_order(report):
        again = terminal and row.task == above
        above = row.task
        cells: list[str | Text] = ["" if again else words.safe(row.task), called[row.agent]]
        if repeated:
            cells.append(str(row.repeat))
        facts = [*_facts(row), _reason(row)] if reasons else _facts(row)
        made.add_row(*map(_text, cells), status(row.status), *map(_text, facts))
    return made


def in_order(report: Report) -> list[Row]:
    """The rows of one task together, tasks as they were planned."""
    order = {task: n for n, task in enumerate(dict.fromkeys(row.task for row in report.rows))}
    return sorted(report.rows, key=lambda row: order[row.task])


def agents(report: Report, terminal: bool) -> Table:
    """One line per agent: its counts, its pass rate and how sure that is, its mean score on both scales
    (C-41)."""
    used = [s for s in report.counts if report.counts[s] or s in GRADED]
    columns = ["agent", *(words.word(s).text for s in used), "pass rate", "95% interval"]
    columns += ["mean score", "grade of 5"]
    made = table(*columns, terminal=terminal, right=frozenset(columns[1:]))
    called = words.short_names(line.agent for line in report.agents)
    for line in report.agents:
        rate = "-" if line.pass_rate is None or not line.headline else f"{line.pass_rate:.0%}"
        mean = line.mean_score if line.headline else None
        made.add_row(
            *map(
                _text,
                [
                    called[line.agent],
                    *(str(line.counts[s]) for s in used),
                    rate,
                    _range(line.interval),
                    words.score(mean),
                    words.grade(mean),
                ],
            )
        )
    return made


def notes(report: Report, folder: str) -> list[str]:
    """What must not be overlooked, and what to type next."""
    lines = []
    apart = [row for row in report.rows if row.end == "quarantined"]
    for name in ("errored", "invalid", "unscored", "not_run"):
        count = report.counts[name] - (len(apart) if name == "invalid" else 0)
        if count:
            word = words.word(name)
            lines.append(f"{count} {word.text}: {word.meaning}; left out of every rate and mean.")
    if apart:
        tasks = ", ".join(dict.fromkeys(words.safe(row.task) for row in apart))
        lines.append(f"Kept apart by quarantine.yaml, not run and in no rate or mean: {tasks}.")
    if report.unenforced:
        lines.append(f"Not enforced on this machine: {', '.join(report.unenforced)} (in every record).")
    lines += [f"Warning: {words.safe(warning)}." for warning in report.warnings]
    called = words.short_names(agent.agent for agent in report.agents)
    lines += [_gate(g, called.get(g.agent, g.agent)) for g in report.gates if g.gate.kind != "soft" or g.met]
    lines.append(f"Records: {words.place(folder)}")
    telling = next((r for r in report.rows if r.status not in ("passed", "not_run")), None) or next(
        iter(report.rows), None
    )
    if telling is not None:
        lines.append(f"Look closer: proctor show {words.typed(folder)} {words.typed(telling.trial)}")
    return lines


def _gate(result: GateResult, agent: str) -> str:
    met = "met" if result.met else "MISSED"
    only = ", counts for nothing" if result.gate.kind == "shadow" else ""
    return f"{result.gate.kind.capitalize()} gate {met}: {words.safe(result.told(agent))}{only}."


def status(name: str) -> Text:
    """Mark and word, in the word's colour."""
    from rich.text import Text

    word = words.word(name)
    return Text(f"{words.mark(name)} {word.text}", style=word.style)


def _range(found: Interval | None) -> str:
    return "-" if found is None else f"{found.low:.0%} to {found.high:.0%}"


def _facts(row: Row) -> list[str]:
    return [words.score(row.score), words.seconds(row.seconds) if row.attempts else "-"]


def _reason(row: Row) -> str:
    again = f" (attempt {row.attempts})" if row.attempts > 1 else ""
    return words.safe(words.brief(row.reason, 160)) + again


def _text(cell: str | Text) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(cell)
