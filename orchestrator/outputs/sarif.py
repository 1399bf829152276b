"""A run as SARIF 2.1.0: every failed check, and what became of the findings of its analysers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from orchestrator import words
from orchestrator.checks.delta_findings import BASELINE_STATE, told
from orchestrator.documents.record import OutcomeRecord, TrialRecord
from orchestrator.dossier import Dossier
from orchestrator.report import Row

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "note": "note", "info": "note", "none": "none"}


def document(dossier: Dossier) -> dict[str, Any]:
    """One log with one run. Trouble of the machine or of a task is a notification, not a result: it is
    nobody's finding."""
    results = [result for row in dossier.report.rows for result in _of(row, dossier)]
    rules = sorted({result["ruleId"] for result in results})
    index = {rule: number for number, rule in enumerate(rules)}
    for result in results:
        result["ruleIndex"] = index[result["ruleId"]]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "proctor",
                        "version": version("proctor"),
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "automationDetails": {"id": f"{dossier.report.benchmark}/{dossier.header.run_id}"},
                "invocations": [_invocation(dossier)],
                "columnKind": "unicodeCodePoints",
                "properties": {"counts": dict(dossier.report.counts)},
                "results": results,
            }
        ],
    }


def _invocation(dossier: Dossier) -> dict[str, Any]:
    rows = [row for row in dossier.report.rows if row.status in ("errored", "invalid", "not_run")]
    levels = {"errored": "error", "invalid": "error"}
    return {
        "executionSuccessful": dossier.report.exit_code in (0, 1),
        "exitCode": dossier.report.exit_code,
        "startTimeUtc": dossier.header.started.replace("+00:00", "Z"),
        "toolExecutionNotifications": [
            {
                "level": levels.get(row.status, "note"),
                "message": {"text": words.safe(f"{row.trial}: {words.word(row.status).text}: {row.reason}")},
                "descriptor": {"id": row.end or row.status},
            }
            for row in rows
        ],
    }


def _of(row: Row, dossier: Dossier) -> Iterator[dict[str, Any]]:
    record = dossier.latest.get(row.trial)
    if record is None or row.status not in ("passed", "failed"):
        return
    outcomes = record.verdict.outcomes if record.verdict else ()
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    for outcome in failed:
        yield _failure(record, outcome, counts=row.status == "failed")
    if row.status == "failed" and not failed:
        yield _result(record, "trial", "error", row.reason or row.end, _files(record))
    for outcome in outcomes:
        yield from _findings(record, outcome)


def _failure(record: TrialRecord, outcome: OutcomeRecord, *, counts: bool) -> dict[str, Any]:
    """A check that failed in a trial that passed is a warning: the rubric can do without it."""
    name = outcome.id or outcome.kind
    return _result(record, name, "error" if counts else "warning", outcome.reason or name, _files(record))


def _findings(record: TrialRecord, outcome: OutcomeRecord) -> Iterator[dict[str, Any]]:
    """What became of the findings of an analyser: brought along, mended, hidden or gone with their file."""
    found = told(outcome.details)
    tool = str(outcome.details.get("tool", outcome.kind))
    for row in found.rows if found else ():
        result = _result(
            record,
            f"{tool}/{row.rule}",
            _LEVELS.get(row.severity, "warning"),
            row.message,
            [(row.path, row.line if row.line > 0 else None)],
        )
        result["baselineState"] = BASELINE_STATE[row.fate]
        if row.fate == "hidden":
            result["suppressions"] = [{"kind": "inSource", "justification": "a comment the change added"}]
        yield result


def _files(record: TrialRecord) -> list[tuple[str, int | None]]:
    return [(path, None) for path in (record.change.files if record.change else ())[:1]]


def _result(
    record: TrialRecord, rule: str, level: str, message: str, places: list[tuple[str, int | None]]
) -> dict[str, Any]:
    known = hashlib.sha256(repr([record.task, record.agent.name, rule, message, places]).encode()).hexdigest()
    where: dict[str, Any] = {
        "logicalLocations": [{"fullyQualifiedName": words.safe(f"{record.task}/{record.agent.name}")}]
    }
    if places:
        path, line = places[0]
        physical: dict[str, Any] = {
            "artifactLocation": {"uri": quote(path.encode("utf-8", "surrogateescape"))}
        }
        if line is not None:
            physical["region"] = {"startLine": line}
        where["physicalLocation"] = physical
    properties: Mapping[str, Any] = {
        "trial": record.trial,
        "task": words.safe(record.task),
        "agent": words.safe(record.agent.name),
        "repeat": record.repeat,
    }
    return {
        "ruleId": words.safe(rule),
        "level": level,
        "message": {"text": words.safe(message) or words.safe(rule)},
        "locations": [where],
        "partialFingerprints": {"proctorTrial/v1": known},
        "properties": dict(properties),
    }
