"""One trial as its page shows it: outcomes with their tables, the change, the logs, the timeline."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator import words
from orchestrator.documents.record import OutcomeRecord, PhaseTime, TrialRecord
from orchestrator.pages.text import FileDiff, Shown, diff, printed

Artifact = Callable[[TrialRecord, str, int], bytes | None]
"""(record, name, most bytes) -> the end of what it kept under that name."""

_FINDINGS = {"new": "New", "fixed": "Fixed", "hidden": "Hidden, not mended", "gone": "Gone with files"}
_STREAMS = ("stdout", "stderr", "evidence")


@dataclass(frozen=True)
class Room:
    """How much of a trial is shown."""

    log: int = 64 * 1024
    """Characters of one log."""
    patch: int = 256 * 1024
    """Characters of a change."""
    logs: bool = True
    """Whether logs are shown that an outcome does not quote."""
    rows: int = 300
    """Of a table of tests or findings."""


@dataclass(frozen=True)
class Log:
    """A command's output, or another text that was kept."""

    name: str
    size: int
    shown: Shown


@dataclass(frozen=True)
class Tested:
    """One test, without the change and with it."""

    test: str
    before: str
    after: str

    @property
    def fate(self) -> str:
        """What became of it.

        >>> Tested("t", "failed", "passed").fate, Tested("t", "passed", "failed").fate
        ('mended', 'broken')
        """
        good = ("passed", "xfailed")
        if self.before in good:
            return "kept" if self.after in good else "broken"
        return "mended" if self.after in good else "still wrong"


@dataclass(frozen=True)
class Findings:
    """What an analyser found, of one fate."""

    title: str
    rows: tuple[tuple[str, int, str, str, str], ...]
    """path, line, rule, severity, message."""


@dataclass(frozen=True)
class OutcomeView:
    """One check, with what lies behind its reason."""

    outcome: OutcomeRecord
    tests: tuple[Tested, ...]
    tests_left_out: int
    findings: tuple[Findings, ...]
    rules: tuple[tuple[str, str, str], ...]
    logs: tuple[Log, ...]
    rest: str
    """Every other detail, as JSON; empty where there is none."""

    @property
    def name(self) -> str:
        return self.outcome.id or self.outcome.kind


@dataclass(frozen=True)
class PhaseView:
    """One phase on the timeline, in thousandths of the whole."""

    phase: PhaseTime
    start: float
    width: float


@dataclass(frozen=True)
class TrialView:
    """Everything a trial's page shows."""

    record: TrialRecord
    status: str
    outcomes: tuple[OutcomeView, ...]
    phases: tuple[PhaseView, ...]
    files: tuple[FileDiff, ...]
    change_cut: str
    logs: tuple[Log, ...]
    usage: tuple[tuple[str, str], ...]


def of(record: TrialRecord, artifact: Artifact, room: Room = Room()) -> TrialView:
    """The trial with what it kept, as much as there is room for."""
    verdict = record.verdict
    outcomes = (*verdict.outcomes, *verdict.skipped) if verdict else ()
    views = tuple(_outcome(outcome, room) for outcome in outcomes)
    quoted = {log.shown.html for view in views for log in view.logs}
    files, cut = _change(record, artifact, room)
    return TrialView(
        record=record,
        status=record.status if record.final else "not_run",
        outcomes=views,
        phases=tuple(_phases(record)),
        files=files,
        change_cut=cut,
        logs=tuple(log for log in _logs(record, artifact, room) if log.shown.html not in quoted),
        usage=tuple((str(name), _compact(value)) for name, value in record.agent.usage.items()),
    )


def _outcome(outcome: OutcomeRecord, room: Room) -> OutcomeView:
    details = dict(outcome.details)
    tests = _tests(details.pop("tests", None))
    findings = tuple(_findings(details, room.rows))
    rules = tuple(_rules(details.pop("by_rule", None)))[: room.rows]
    logs = tuple(_streams(details, room))
    left_out = details.pop("tests_left_out", 0)
    rest = json.dumps(details, indent=1, ensure_ascii=False, default=str) if details else ""
    return OutcomeView(
        outcome=outcome,
        tests=tests[: room.rows],
        tests_left_out=max(0, len(tests) - room.rows) + (left_out if isinstance(left_out, int) else 0),
        findings=findings,
        rules=rules,
        logs=logs,
        rest=rest[: room.log],
    )


def _tests(table: Any) -> tuple[Tested, ...]:
    """The broken ones first, then those that were to be mended; kept ones last."""
    if not isinstance(table, Mapping):
        return ()
    rows = [
        Tested(str(test), str(pair[0]), str(pair[1]))
        for test, pair in table.items()
        if isinstance(pair, Sequence) and len(pair) == 2
    ]
    order = {"broken": 0, "still wrong": 1, "mended": 2, "kept": 3}
    return tuple(sorted(rows, key=lambda row: order[row.fate]))


def _findings(details: dict[str, Any], most: int) -> Iterator[Findings]:
    for key, title in _FINDINGS.items():
        rows = details.get(key)
        if not isinstance(rows, Sequence) or isinstance(rows, str):
            continue
        if not all(isinstance(row, Sequence) and len(row) == 5 for row in rows):
            continue
        del details[key]
        if rows:
            shown = rows[:most]
            yield Findings(
                title, tuple((str(p), _line(n), str(r), str(s), str(m)) for p, n, r, s, m in shown)
            )


def _line(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _rules(table: Any) -> Iterator[tuple[str, str, str]]:
    for rule, pair in table.items() if isinstance(table, Mapping) else ():
        if isinstance(pair, Sequence) and len(pair) == 2:
            yield str(rule), str(pair[0]), str(pair[1])


def _streams(details: dict[str, Any], room: Room) -> Iterator[Log]:
    """What the commands printed, before and after the change."""
    before = details.get("before")
    if isinstance(before, Mapping):
        details["before"] = {k: v for k, v in before.items() if k not in _STREAMS}
        yield from _printed(before, " before", room)
    yield from _printed(details, "", room)
    for name in _STREAMS:
        if isinstance(details.get(name), str):
            del details[name]


def _printed(holder: Mapping[str, Any], side: str, room: Room) -> Iterator[Log]:
    for name in _STREAMS:
        text = holder.get(name)
        if isinstance(text, str) and text.strip():
            yield Log(name + side, len(text), printed(text, room.log))


def _phases(record: TrialRecord) -> Iterator[PhaseView]:
    whole = max([record.seconds, *(p.started + p.seconds for p in record.phases), 1e-9])
    for phase in record.phases:
        start = 1000 * min(1.0, phase.started / whole)
        yield PhaseView(phase, round(start, 1), round(max(3.0, 1000 * min(1.0, phase.seconds / whole)), 1))


def _change(record: TrialRecord, artifact: Artifact, room: Room) -> tuple[tuple[FileDiff, ...], str]:
    name = next((n for n in ("change.patch", "brought.patch") if n in record.artifacts), None)
    data = artifact(record, name, 4 * room.patch) if name else None
    return diff(data, room.patch) if data else ((), "")


def _logs(record: TrialRecord, artifact: Artifact, room: Room) -> Iterator[Log]:
    for name in record.artifacts if room.logs else ():
        if name == "change.patch":
            continue
        data = artifact(record, name, 4 * room.log)
        if data:
            yield Log(name, len(data), printed(data, room.log))


def _compact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return words.shorten(value if isinstance(value, str) else json.dumps(value, default=str), 200)
