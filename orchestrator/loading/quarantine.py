"""Which tasks are kept apart, and why: quarantine.yaml beside the benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.documents.benchmark import Benchmark
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.accepted import Accepted
from orchestrator.loading.located import Located
from orchestrator.loading.texts import read_document
from orchestrator.loading.words import did_you_mean
from orchestrator.schemas import checker

FILE_NAME = "quarantine.yaml"


def load_quarantine(benchmark: Benchmark, accepted: Accepted | None = None) -> dict[str, str]:
    """Why, as "<verdict>: <why>", by task; empty when there is no such file.

    Raises AuthoringError with every problem, a task that the benchmark does not have among them.
    """
    file = benchmark.root / FILE_NAME
    if not file.exists():
        return {}
    doc = read_document(file)
    problems = (accepted or Accepted()).problems(checker("quarantine"), doc)
    rows = _rows(doc.data)
    problems += _unknown(doc, rows, benchmark)
    found = doc.everything(problems)
    if found:
        raise AuthoringError(found)
    return {row["task"]: f"{row['verdict']}: {row['why']}" for row in rows}


def _rows(data: Any) -> list[Any]:
    rows = data.get("quarantine") if isinstance(data, dict) else None
    return rows if isinstance(rows, list) else []


def _unknown(doc: Located, rows: list[Any], benchmark: Benchmark) -> Iterator[Problem]:
    known = {task.id for task in benchmark.tasks}
    for number, row in enumerate(rows):
        name = row.get("task") if isinstance(row, dict) else None
        if isinstance(name, str) and name not in known:
            path = ("quarantine", number, "task")
            yield doc.problem(path, f'{benchmark.id} has no task "{name}"', did_you_mean(name, known))
