"""A run as CSV (RFC 4180): a header, then a line per planned trial."""

from __future__ import annotations

import csv
import io

from orchestrator import words
from orchestrator.dossier import Dossier

COLUMNS = (
    *("run", "benchmark", "benchmark_version", "trial", "task", "agent", "model", "repeat"),
    *("status", "end", "score", "question_score", "seconds", "attempts", "rubric", "started_at"),
    *("files_changed", "change_bytes", "reason"),
)


def document(dossier: Dossier) -> str:
    """Lines end with CR LF. Numbers in full; a value that is not known is empty.

    Text that a spreadsheet would take for a formula gets an apostrophe before it: it may be an agent's.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    report = dossier.report
    for row in report.rows:
        record = dossier.latest.get(row.trial)
        change = record.change if record else None
        writer.writerow(
            [
                *map(_text, (dossier.header.run_id, report.benchmark, report.benchmark_version)),
                *map(_text, (row.trial, row.task, row.agent, (record and record.agent.model) or "")),
                *(row.repeat, row.status, row.end, row.score, row.question_score, row.seconds, row.attempts),
                *map(_text, ((record and record.rubric_ref) or "", record.started_at if record else "")),
                *((len(change.files), change.bytes) if change else (None, None)),
                _text(row.reason),
            ]
        )
    return out.getvalue()


def _text(text: str) -> str:
    """
    >>> _text("=1+1"), _text("fine")
    ("'=1+1", 'fine')
    """
    text = words.safe(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text
