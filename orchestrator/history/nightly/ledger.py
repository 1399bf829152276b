"""The nights there were: nights.jsonl beside their folders, one line each; and only one night at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from orchestrator.documents.nightly import Night
from orchestrator.errors import InfrastructureError
from orchestrator.journal import Journal, lines
from orchestrator.regular import open_regular

FILE = "nights.jsonl"
LOCK = "nights.lock"


def held_against(root: Path) -> frozenset[str]:
    """Ids of the runs that the newest night of each nightly below `root` was held against."""
    newest = {night.nightly: night for night in _all(root)}
    return frozenset(run.baseline for night in newest.values() for run in night.runs if run.baseline)


def _all(root: Path) -> Iterator[Night]:
    for _, line, whole in lines(root / FILE):
        try:
            night = Night.model_validate(json.loads(line)) if whole else None
        except (ValueError, ValidationError):
            continue
        if night is not None:
            yield night


class Ledger:
    """What is known of earlier nights. The folder is made when the first is written."""

    def __init__(self, root: Path, nightly: str) -> None:
        self.root = root
        self.nightly = nightly

    def nights(self) -> tuple[Night, ...]:
        """The finished ones, the oldest first. Lines that are none are left out."""
        return tuple(night for night in _all(self.root) if night.nightly == self.nightly)

    def append(self, night: Night) -> None:
        """Keep a finished night. Raises orchestrator.journal.JournalFailed."""
        self.root.mkdir(parents=True, exist_ok=True)
        journal = Journal(self.root / FILE)
        try:
            journal.append(json.dumps(night.model_dump(mode="json")).encode("ascii"))
        finally:
            journal.close()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No other night runs while this lasts. Raises InfrastructureError when one does."""
        self.root.mkdir(parents=True, exist_ok=True)
        lock = open_regular(self.root / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InfrastructureError(
                    f"a night is running in {self.root} already (process {_told(lock)}); "
                    "this one does not start"
                ) from None
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
            yield
        finally:
            os.close(lock)

    def running(self) -> str:
        """The process id of the night that runs now, as text; empty when none does."""
        try:
            lock = open_regular(self.root / LOCK)
        except OSError:
            return ""
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _told(lock)
        finally:
            os.close(lock)
        return ""


def _told(lock: int) -> str:
    return os.pread(lock, 32, 0).decode("ascii", "replace").strip() or "unknown"
