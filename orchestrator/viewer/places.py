"""Where in a run's records.jsonl each trial stands, so that one trial is read without the others."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from pathlib import Path

from orchestrator.documents.record import TrialRecord
from orchestrator.records import from_line
from orchestrator.regular import NotRegular, open_regular
from orchestrator.store import RECORDS

_TRIAL = re.compile(rb'\A\{"schema_version": "[^"\\]*", "trial": "([^"\\]*)"')
"""How a line begins that our own store wrote."""


class Places:
    """Of one run. Follows a file that grows: each call reads only what was added. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / RECORDS
        self._read = 0
        self._found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lock = threading.Lock()

    def follow(self) -> None:
        """Take in the lines that were added since."""
        with self._lock:
            try:
                size = self._file.stat().st_size
                if size < self._read:  # another run lies here now
                    self._read = 0
                    self._found.clear()
                if size > self._read:
                    self._scan()
            except (FileNotFoundError, NotRegular):
                return

    def __contains__(self, trial: object) -> bool:
        """Whether the trial has a record, as far as the file was followed."""
        with self._lock:
            return trial in self._found

    def attempts(self, trial: str) -> list[TrialRecord]:
        """The trial's records, by attempt; empty when it has none. Lines that are no records are left out."""
        self.follow()
        with self._lock:
            places = list(self._found.get(trial, ()))
        found: dict[int, TrialRecord] = {}
        if places:
            with open(open_regular(self._file), "rb") as file:  # noqa: PTH123
                for offset, length in places:
                    file.seek(offset)
                    try:
                        record = from_line(file.read(length))
                    except ValueError:
                        continue
                    found.setdefault(record.attempt, record)
        return [found[number] for number in sorted(found)]

    def _scan(self) -> None:
        with open(open_regular(self._file), "rb") as file:  # noqa: PTH123
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):  # still being written
                    break
                trial = _trial(line)
                if trial is not None:
                    self._found[trial].append((self._read, len(line) - 1))
                self._read += len(line)


def _trial(line: bytes) -> str | None:
    quick = _TRIAL.match(line)
    if quick:
        return quick[1].decode("utf-8", "replace")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    trial = data.get("trial") if isinstance(data, dict) else None
    return trial if isinstance(trial, str) else None
