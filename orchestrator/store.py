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
import fcntl
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.documents.record import TrialRecord
from orchestrator.errors import AuthoringError, Problem
from orchestrator.journal import Journal, JournalFailed, lines
from orchestrator.records import from_line, to_line

HEADER = "run.json"
RECORDS = "records.jsonl"
LOCK = "lock"
LATEST = "LATEST"
"""The link in ./runs to the newest run there."""


class RunHeader(BaseModel):
    """What a run is: run.json, written before its first trial."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: Literal["1"] = "1"
    run_id: str
    benchmark: str
    started: str
    """ISO 8601, UTC."""
    resumed: tuple[str, ...] = ()
    """When it was taken up again, each time."""
    argv: tuple[str, ...] = ()
    provider: str = ""
    versions: Mapping[str, str] = Field(default_factory=dict)
    """Of proctor, Python, the engine, the kernel."""
    benchmark_digest: str = ""
    tags: tuple[str, ...] = ()
    """Words it was started with, to find it by."""
    machine: Mapping[str, str] = Field(default_factory=dict)
    """name, system, cores, memory."""
    git: Mapping[str, str] = Field(default_factory=dict)
    """revision, branch and state (clean, changed) of the repository around the benchmark, if there is one."""
    given: Mapping[str, Any] = Field(default_factory=dict)
    """Where its documents lay: benchmark, rubrics (more folders), config; and which executors were chosen."""
    regraded_from: str = ""
    """The id of the run whose kept work was graded again; empty when agents worked."""
    plan: Mapping[str, Any]
    """As `Plan.to_json` gave it; `Plan.from_json` reads it back."""

    @classmethod
    def begin(cls, benchmark: str, plan: Mapping[str, Any], **facts: Any) -> RunHeader:
        """The header of a run that starts now, under a new id. `facts`: argv, provider, versions, ..."""
        return cls(run_id=new_run_id(benchmark), benchmark=benchmark, started=now(), plan=plan, **facts)


def now() -> str:
    """The time of day: ISO 8601, UTC. To the millisecond, so that runs of one second have an order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_run_id(benchmark: str) -> str:
    """ "<UTC time>-<benchmark>-<random>": two runs that start in the same second differ (B129)."""
    name = re.sub(r"[^a-z0-9_]+", "-", benchmark.lower()).strip("-")[:40] or "run"
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}-{secrets.token_hex(4)}"


class RunFolder:
    """A run that is only looked at. Never changes anything, needs no lock, works while the run goes on."""

    def __init__(self, path: Path) -> None:
        """Raises AuthoringError when there is no readable run at `path`."""
        self.path = path
        self.header = _read_header(path)

    def records(self, report: Callable[[Problem], None] | None = None) -> Iterator[TrialRecord]:
        """Every attempt, in the order it ended; one kept in memory at a time.

        Lines that are not records of ours, torn ones, and attempts recorded twice are left out and each
        is told to `report` once.
        """
        seen: set[tuple[str, int]] = set()
        path = self.path / RECORDS
        for number, line, whole in lines(path):
            try:
                if not whole:
                    raise ValueError("the line is torn; its attempt is lost")
                record = from_line(line)
                key = (record.trial, record.attempt)
                if key in seen:
                    raise ValueError(f"attempt {key[1]} of {key[0]} is there twice; it counts once")
            except ValueError as error:
                if report is not None:
                    report(Problem(str(path), number, "", str(error)))
                continue
            seen.add(key)
            yield record

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
        """Called by `create` and `resume`, which hold the lock."""
        self.path = path
        self.header = header
        self._lock = lock
        self._journal: Journal | None = None
        try:
            _write_whole(path / HEADER, header.model_dump(mode="python"))
            self._journal = Journal(path / RECORDS)
        except OSError as error:
            self.close()
            raise _theirs(error, f"{path} cannot be written") from None
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
        lock = _take_lock(path)
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
        old = _read_header(out)
        if old.benchmark != header.benchmark:
            raise AuthoringError(
                f"{out} holds a run of {old.benchmark}, not of {header.benchmark}; choose another --out"
            )
        keep = {"run_id": old.run_id, "started": old.started, "resumed": (*old.resumed, now())}
        lock = _take_lock(out)
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
        Raises JournalFailed when the disk takes no more.
        """
        base = self.path / "trials" / trial
        try:
            number = max(after, _highest(base)) + 1
            folder = base / str(number)
            folder.mkdir()
        except OSError as error:
            raise JournalFailed(error.errno, error.strerror, str(base)) from error
        return number, folder

    def close(self) -> None:
        """Force everything to the disk and give the folder back. Idempotent. Raises JournalFailed."""
        lock, self._lock = self._lock, -1
        try:
            if self._journal is not None:
                self._journal.close()
        finally:
            if lock >= 0:
                os.close(lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _highest(base: Path) -> int:
    """The highest number among the folders of `base`, which is made when missing; 0 when there is none."""
    try:
        base.mkdir()
    except FileNotFoundError:
        base.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        return max((int(entry.name) for entry in base.iterdir() if entry.name.isdecimal()), default=0)
    return 0


def _read_header(path: Path) -> RunHeader:
    file = path / HEADER
    try:
        return RunHeader.model_validate(json.loads(file.read_bytes()))
    except (FileNotFoundError, NotADirectoryError):
        raise AuthoringError(f"{path} is not a run folder: it has no {HEADER}") from None
    except OSError as error:
        raise AuthoringError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise AuthoringError(f"{file} was not written by this version of proctor, or is damaged") from None


def _theirs(error: OSError, what: str) -> Exception:
    """Whoever chose the folder can choose another; a full or broken disk is the machine's."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return error
    return AuthoringError(f"{what}: {error.strerror}; choose another --out")


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _theirs(error, f"{path} cannot be made") from None


def _take_lock(path: Path) -> int:
    """Raises AuthoringError when another process holds it. The kernel gives it back when its holder dies."""
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _theirs(error, f"{path} cannot be written") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(lock)
        raise AuthoringError(
            f"{path} is in use by another proctor (process {holder}); let it end, or choose another --out"
        ) from None
    except OSError as error:
        os.close(lock)
        raise AuthoringError(
            f"{path} cannot be locked: {error.strerror}; choose another --out, on a local disk"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    return lock


def _refuse_taken(path: Path) -> None:
    if (path / HEADER).exists():
        raise AuthoringError(f"{path} holds a run already; add --resume, or choose another --out")
    ours = (LOCK, _draft(path / HEADER).name)  # all that is there when a start was killed before it was done
    if any(entry.name not in ours for entry in path.iterdir()):
        raise AuthoringError(f"{path} is not empty; choose another --out")


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


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.draft")


def _write_whole(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a JSON file in one step: a reader, or a crash, sees the old one or the new one."""
    draft = _draft(path)
    with draft.open("w", encoding="ascii") as file:
        json.dump(data, file, indent=1, default=dict)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
