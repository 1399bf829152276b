"""A run as a whole, for those who show it: its header, its counts, and of each trial what counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.documents.record import TrialRecord
from orchestrator.errors import Problem
from orchestrator.plan import Plan
from orchestrator.report import Report, summarise
from orchestrator.store import RunFolder, RunHeader


@dataclass(frozen=True)
class Dossier:
    """One run, read once. Holds one record per trial in memory."""

    folder: Path
    header: RunHeader
    plan: Plan
    report: Report
    latest: Mapping[str, TrialRecord]
    """What counts of each trial, by trial; a trial that was never begun is not in it."""

    @classmethod
    def read(cls, folder: Path, tell: Callable[[Problem], None] | None = None) -> Dossier:
        """The run in `folder`, finished or still growing; lines that are no records go to `tell`.

        Raises AuthoringError when there is no run, or its plan cannot be read.
        """
        run = RunFolder(folder)
        records = list(run.records(tell))
        plan = Plan.from_json(run.header.plan)
        report = summarise(records, plan)
        latest: dict[str, TrialRecord] = {}
        for record in records:
            held = latest.get(record.trial)
            if held is None or (record.final, record.attempt) > (held.final, held.attempt):
                latest[record.trial] = record
        return cls(folder, run.header, plan, report, latest)


def artifact(record: TrialRecord, folder: Path, name: str, most: int | None = None) -> bytes | None:
    """What `record` kept under `name` in the run's folder, at most its last `most` bytes (None: all).

    None when there is no such artifact, when it is gone, or when its path leads out of the folder: a record
    may come from anywhere.
    """
    place = record.artifacts.get(name)
    if place is None:
        return None
    try:
        path = (folder / place).resolve()
        if not path.is_relative_to(folder.resolve()):
            return None
        with path.open("rb") as file:
            if most is not None:
                size = file.seek(0, 2)
                file.seek(max(0, size - most))
            return file.read()
    except (OSError, ValueError):
        return None
