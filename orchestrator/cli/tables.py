"""A run's report as people read it: one table of trials, counts that add up, what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from orchestrator.cli import words
from orchestrator.cli.printing import console, draw, table

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from orchestrator.report import Report, Row

GRADED = ("passed", "failed")


def print_report(report: Report, folder: str) -> None:
    """The whole report on stdout: trials, totals by agent, notes, the next command."""
    out = console()
    out.print(f"{words.safe(report.benchmark)} {report.benchmark_version}: {headline(report)}", markup=False)
    draw(out, trials(report, out.is_terminal))
    if len(report.agents) > 1 or report.planned > len(report.agents):
        draw(out, agents(report, out.is_terminal))
    for line in notes(report, folder):
        out.print(line, markup=False)


def headline(report: Report) -> str:
    """The counts that are not zero; they add up to the trials planned.

    "12 trials: 4 passed, 8 failed"
    """
    told = [f"{n} {words.word(status).text}" for status, n in report.counts.items() if n]
    return f"{report.planned} trial{'s' * (report.planned != 1)}: " + (", ".join(told) or "none")


def trials(report: Report, terminal: bool) -> Table:
    """Task x agent, with the reason of each."""
    repeated = any(row.repeat > 1 for row in report.rows)
    columns = ["task", "agent", *(["repeat"] if repeated else []), "status", "score", "time", "reason"]
    made = table(*columns, terminal=terminal, folding="reason", right=frozenset(("score", "time", "repeat")))
    called = short_names(line.agent for line in report.agents)
    order = {task: n for n, task in enumerate(dict.fromkeys(row.task for row in report.rows))}
    above = ""
    for row in sorted(report.rows, key=lambda row: order[row.task]):
        again = terminal and row.task == above
        above = row.task
        cells: list[str | Text] = ["" if again else words.safe(row.task), called[row.agent]]
        if repeated:
            cells.append(str(row.repeat))
        made.add_row(*map(_text, cells), status(row.status), *map(_text, _facts(row, terminal)))
    return made


def agents(report: Report, terminal: bool) -> Table:
    """One line per agent: its counts, its pass rate, its mean score on both scales (C-41)."""
    used = [s for s in report.counts if report.counts[s] or s in GRADED]
    columns = ["agent", *(words.word(s).text for s in used), "pass rate", "mean score", "grade of 5"]
    made = table(*columns, terminal=terminal, right=frozenset(columns[1:]))
    called = short_names(line.agent for line in report.agents)
    for line in report.agents:
        rate = "-" if line.pass_rate is None else f"{line.pass_rate:.0%}"
        made.add_row(
            *map(
                _text,
                [
                    called[line.agent],
                    *(str(line.counts[s]) for s in used),
                    rate,
                    words.score(line.mean_score),
                    words.grade(line.mean_score),
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
        lines.append(f"Not enforced on this machine: {', '.join(report.unenforced)} (defaults; recorded).")
    lines += [f"Warning: {words.safe(warning)}." for warning in report.warnings]
    lines.append(f"Records: {folder}")
    telling = next((r for r in report.rows if r.status not in ("passed", "not_run")), None) or next(
        iter(report.rows), None
    )
    if telling is not None:
        lines.append(f"Look closer: proctor show {folder} {telling.trial}")
    return lines


def short_names(agents: Iterable[str]) -> dict[str, str]:
    """Agent -> what a table calls it: without the folders of a file, unless two would look alike.

    >>> short_names(["gold", "predictions:a/b/c.jsonl"])["predictions:a/b/c.jsonl"]
    'predictions:c.jsonl'
    """
    specs = list(agents)
    short = {spec: _without_folders(spec) for spec in specs}
    taken = Counter(short.values())
    return {spec: words.safe(name if taken[name] == 1 else spec) for spec, name in short.items()}


def _without_folders(spec: str) -> str:
    name, colon, arg = spec.partition(":")
    return name + colon + arg.rstrip("/").rpartition("/")[2] if name == "predictions" else spec


def status(name: str) -> Text:
    """Mark and word, in the word's colour."""
    from rich.text import Text

    word = words.word(name)
    return Text(f"{words.mark(name)} {word.text}", style=word.style)


def _facts(row: Row, terminal: bool) -> list[str]:
    took = words.seconds(row.seconds) if row.attempts else "-"
    again = f" (attempt {row.attempts})" if row.attempts > 1 else ""
    return [words.score(row.score), took, words.safe(words.brief(row.reason, 160)) + again]


def _text(cell: str | Text) -> Text:
    from rich.text import Text

    return cell if isinstance(cell, Text) else Text(cell)
