"""A run as a whole, for those who show it: its header, its counts, and of each trial what counts."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orchestrator.documents.record import TrialRecord
from orchestrator.errors import Problem
from orchestrator.plan import Plan
from orchestrator.report import Report, summarise
from orchestrator.store import HEADER, RunFolder, RunHeader

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
"""No waiting for whoever ought to write to a pipe of that name."""


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
        plan = Plan.from_json(run.header.plan, str(folder / HEADER))
        report = summarise(records, plan)
        latest: dict[str, TrialRecord] = {}
        for record in records:
            held = latest.get(record.trial)
            if held is None or (record.final, record.attempt) > (held.final, held.attempt):
                latest[record.trial] = record
        return cls(folder, run.header, plan, report, latest)


class Artifacts:
    """What the trials of one run kept beside their records."""

    def __init__(self, folder: Path) -> None:
        self._root = os.path.realpath(folder)

    def read(self, record: TrialRecord, name: str, most: int | None = None) -> bytes | None:
        """What `record` kept under `name`, at most its last `most` bytes (None: all).

        None when there is no such artifact, when it is gone or no file, or when its path leads out of the
        run's folder: a record may come from anywhere.
        """
        place = record.artifacts.get(name)
        if place is None or "\0" in place:
            return None
        try:
            with open(os.open(f"{self._root}/{place}", _FLAGS), "rb") as file:  # noqa: PTH123
                return self._inside(file, most)
        except OSError:
            return None

    def _inside(self, file: BinaryIO, most: int | None) -> bytes | None:
        """The kernel tells where the open file really is, so nothing can be swapped in between."""
        really = os.readlink(f"/proc/self/fd/{file.fileno()}")  # noqa: PTH115 a thousand times
        if not really.startswith(f"{self._root}/"):
            return None
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            return None
        if most is not None:
            file.seek(max(0, found.st_size - most))
        return file.read()
