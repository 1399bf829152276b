"""The run folder: what is on disk of a run, and how it is read back.

run.json        the plan, the agents, versions, how it was started: `RunHeader`
records.jsonl   one TrialRecord per attempt, in the order they ended
records.torn    a last line that a crash cut short, moved aside
rubrics/        each rubric that was applied, as it was (`applied`)
trials/<trial>/<attempt>/   artifacts: change.patch, response.txt, logs
lock            held by the one proctor that writes here
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType

from orchestrator.documents.record import TrialRecord
from orchestrator.errors import AuthoringError, Problem
from orchestrator.header import DRAFT, read_header, write_header
from orchestrator.header import HEADER as HEADER
from orchestrator.header import RunHeader as RunHeader
from orchestrator.header import new_run_id as new_run_id
from orchestrator.header import now as now
from orchestrator.journal import Journal, JournalFailed, JournalGone, lines
from orchestrator.locking import LOCK as LOCK
from orchestrator.locking import hold, take, theirs
from orchestrator.records import from_line, refuse_foreign, to_line

RECORDS = "records.jsonl"
LATEST = "LATEST"
"""The link in ./runs to the newest run there."""


class RunFolder:
    """A run that is only looked at. Never changes anything, needs no lock, works while the run goes on."""

    def __init__(self, path: Path) -> None:
        """Raises AuthoringError when there is no readable run at `path`."""
        self.path = path
        self.header = read_header(path)

    def records(self, report: Callable[[Problem], None] | None = None) -> Iterator[TrialRecord]:
        """Every attempt, in the order it ended; one kept in memory at a time.

        Lines that are not records of ours, torn ones, records of other tasks under a planned trial's name,
        and attempts recorded twice are left out and each is told to `report` once.
        """
        seen: set[tuple[str, int]] = set()
        path = self.path / RECORDS
        for number, line, whole in lines(path):
            try:
                if not whole:
                    raise ValueError("the line is torn; its attempt is lost")
                record = from_line(line)
                refuse_foreign(record.trial, (record.benchmark, record.task), self._planned)
                key = (record.trial, record.attempt)
                if key in seen:
                    raise ValueError(f"attempt {key[1]} of {key[0]} is there twice; it counts once")
            except ValueError as error:
                if report is not None:
                    report(Problem(str(path), number, "", str(error)))
                continue
            seen.add(key)
            yield record

    @cached_property
    def _planned(self) -> dict[str, tuple[str, str]]:
        """(benchmark, task) of each planned trial, as far as the plan can be read."""
        trials = self.header.plan.get("trials")
        jobs = [job for job in trials if isinstance(job, dict)] if isinstance(trials, list | tuple) else []
        told = [(job.get("trial"), job.get("benchmark"), job.get("task")) for job in jobs]
        return {str(trial): (str(of), str(task)) for trial, of, task in told if trial and of and task}

    def latest(self, report: Callable[[Problem], None] | None = None) -> dict[str, TrialRecord]:
        """What counts of each trial: its last final attempt, or, where none is final, its last one."""
        found: dict[str, TrialRecord] = {}
        for record in self.records(report):
            held = found.get(record.trial)
            if held is None or (record.final, record.attempt) > (held.final, held.attempt):
                found[record.trial] = record
        return found

    def problems(self) -> tuple[Problem, ...]:
        """Everything in records.jsonl that is not a record, or is one twice."""
        found: list[Problem] = []
        for _ in self.records(found.append):
            pass
        return tuple(found)


class Store(RunFolder):
    """A run that is being written. One per folder: a second is refused. Use it as a context manager."""

    def __init__(self, path: Path, header: RunHeader, lock: int) -> None:
        """Called by `create` and `resume`, which hold the lock. The records are held, too: somebody may have
        removed the lock file."""
        self.path = path
        self.header = header
        self._held = [lock]
        self._journal: Journal | None = None
        try:
            self._held.append(hold(path / RECORDS, path))
            write_header(path, header)
            self._journal = Journal(path / RECORDS)
        except OSError as error:
            self.close()
            raise theirs(error, path) from None
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, header: RunHeader, out: Path | None = None) -> Store:
        """A new run in `out`; None means a new folder below ./runs, to which runs/LATEST points then.

        Raises AuthoringError when `out` cannot be made, is in use, or holds a run or other files already.
        """
        path = Path("runs", header.run_id) if out is None else out
        _make_folder(path)
        lock = take(path)
        try:
            _refuse_taken(path)
        except BaseException:
            os.close(lock)
            raise
        store = cls(path, header, lock)
        if out is None:
            _point_to(path)
        return store

    @classmethod
    def resume(cls, header: RunHeader, out: Path) -> Store:
        """The run in `out` again: its id, its start and its records stay, the rest of `header` is new.

        Raises AuthoringError when there is no run, when it is of another benchmark, or when it is in use.
        """
        old = read_header(out)
        if old.benchmark != header.benchmark:
            raise AuthoringError(
                f"{out} holds a run of {old.benchmark}, not of {header.benchmark}; choose another --out"
            )
        keep = {"run_id": old.run_id, "started": old.started, "resumed": (*old.resumed, now())}
        lock = take(out)
        return cls(out, header.model_copy(update=keep), lock)

    @property
    def torn(self) -> bytes:
        """What was moved aside when this run was opened; empty when nothing was."""
        return b"" if self._journal is None else self._journal.torn

    def append(self, record: TrialRecord) -> None:
        """Keep a record. When this returns, killing the process does not lose it. Thread-safe.

        Raises orchestrator.journal.JournalFailed when the disk takes no more.
        """
        assert self._journal is not None, "the store is closed"
        self._journal.append(to_line(record))

    def begin_attempt(self, trial: str, after: int = 0) -> tuple[int, Path]:
        """The number (above `after`) and the fresh, empty folder of the trial's next attempt.

        A folder is never used again, also when its attempt died before it had a record (B130).
        Raises JournalFailed when the disk takes no more, JournalGone when the run folder is gone, and
        AuthoringError where something else stands in the place of a folder.
        """
        base = self.path / "trials" / trial
        try:
            number = max(after, _highest(base)) + 1
            folder = base / str(number)
            folder.mkdir()
        except OSError as error:
            raise self._no_place(base, error) from error
        return number, folder

    def _no_place(self, base: Path, error: OSError) -> Exception:
        """Why an attempt has no folder, as an error of whoever can mend it."""
        if not self.path.is_dir():
            return JournalGone(self.path)
        if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.ENOENT, errno.ELOOP):
            odd = next((place for place in (base.parent, base) if not place.is_dir()), base)
            return AuthoringError(f"{odd} is not a folder; move it away, then go on with --resume")
        return JournalFailed(error.errno, error.strerror, str(base))

    def close(self) -> None:
        """Force everything to the disk and give the folder back. Idempotent. Raises JournalFailed."""
        held, self._held = self._held, []
        try:
            if self._journal is not None:
                self._journal.close()
        finally:
            for descriptor in held:
                os.close(descriptor)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _highest(base: Path) -> int:
    """The highest number among the folders of `base`, which is made when missing; 0 when there is none.
    The run folder is not made again: whoever removed it would be left with half of one."""
    try:
        base.mkdir()
    except FileNotFoundError:
        base.parent.mkdir(exist_ok=True)
        base.mkdir(exist_ok=True)
    except FileExistsError:
        return max((int(entry.name) for entry in base.iterdir() if entry.name.isdecimal()), default=0)
    return 0


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise theirs(error, path, "made") from None


def _refuse_taken(path: Path) -> None:
    if (path / HEADER).exists():
        raise AuthoringError(f"{path} holds a run already; add --resume, or choose another --out")
    # all that is there when a start was killed before it was done; its records are empty
    ours = {LOCK, DRAFT} | ({RECORDS} if _empty(path / RECORDS) else set())
    if any(entry.name not in ours for entry in path.iterdir()):
        raise AuthoringError(f"{path} is not empty; choose another --out")


def _empty(file: Path) -> bool:
    return file.is_file() and file.stat().st_size == 0


def _point_to(run: Path) -> None:
    """`LATEST` beside `run` leads there from now on. For people only: where no link can be made, none is."""
    link = run.with_name(LATEST)
    draft = run.with_name(f".{run.name}.link")
    try:
        if link.is_symlink() or not link.exists():
            draft.symlink_to(run.name)
            draft.replace(link)
    except OSError:
        draft.unlink(missing_ok=True)
