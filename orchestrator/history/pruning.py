"""Which old runs may go, and taking them away. What is tagged, in use, a baseline or the newest stays."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from orchestrator.history.rows import RunRow
from orchestrator.regular import open_regular
from orchestrator.store import LATEST, LOCK, RECORDS


@dataclass(frozen=True)
class Retention:
    """What is kept of a folder of runs. Whatever is not kept by any of these may go."""

    newest: int = 1
    """So many of each benchmark."""
    days: float | None = None
    """Younger ones stay; None keeps none for its age."""
    tagged: bool = True
    """Runs with a tag stay."""
    ignored: Collection[str] = ()
    """Tags that keep no run."""
    needed: Collection[str] = ()
    """Ids of runs that stay whatever their age: others are held against them."""


def spare(rows: Iterable[RunRow], kept: Retention, now: datetime) -> tuple[RunRow, ...]:
    """The runs that may go, oldest first. Pure. `rows` are all runs, `now` has a time zone."""
    seen: dict[str, int] = {}
    found = []
    for row in sorted(rows, key=lambda row: (row.started, row.run_id), reverse=True):
        seen[row.benchmark] = seen.get(row.benchmark, 0) + 1
        if (
            row.run_id in kept.needed
            or seen[row.benchmark] <= kept.newest
            or (kept.tagged and set(row.tags) - set(kept.ignored))
        ):
            continue
        if kept.days is not None and _age(row, now) / timedelta(days=1) < kept.days:
            continue
        found.append(row)
    return tuple(reversed(found))


def remove(folder: Path) -> bool:
    """Delete a run folder whole; False when a proctor is writing to it.

    It is given another name first, so that what a crash leaves of it is no run. Raises OSError.
    """
    with _taken(folder) as free:
        if not free:
            return False
        grave = folder.with_name(f".pruned-{folder.name}")
        shutil.rmtree(grave, ignore_errors=True)
        folder.rename(grave)
    shutil.rmtree(grave)
    _mend_latest(folder.parent)
    return True


def sweep(root: Path) -> None:
    """Finish what an interrupted `remove` left below `root`."""
    for grave in (*root.glob(".pruned-*"), *root.glob("*/.pruned-*")):
        shutil.rmtree(grave, ignore_errors=True)


@contextmanager
def _taken(folder: Path) -> Iterator[bool]:
    """Whether nobody writes to the run; nobody can while this lasts."""
    held = []
    try:
        for name in (LOCK, RECORDS):  # somebody may have removed the lock file
            held.append(open_regular(folder / name, os.O_RDWR | os.O_CREAT, 0o644))
            fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        for descriptor in held:
            os.close(descriptor)


def _mend_latest(root: Path) -> None:
    """`LATEST` leads nowhere when its run has gone: to the newest that is left (their names begin with the
    time), or no longer anywhere."""
    link = root / LATEST
    if not link.is_symlink() or link.exists():
        return
    link.unlink(missing_ok=True)
    left = sorted(path.name for path in root.iterdir() if (path / "run.json").is_file())
    if left:
        link.symlink_to(left[-1])


def _age(row: RunRow, now: datetime) -> timedelta:
    try:
        started = datetime.fromisoformat(row.started)
    except ValueError:
        return timedelta(0)  # not ours to throw away
    return now - (started if started.tzinfo else started.replace(tzinfo=now.tzinfo))
