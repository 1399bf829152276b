"""Which runs there are, and what is in them: an index over run folders that may be thrown away at any time.

The folders are the truth. The index follows them: a run is read again when one of its files has another size
or time, and forgotten when its folder is gone.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Select, delete, func, insert, or_, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from orchestrator.errors import AuthoringError, InfrastructureError, Problem
from orchestrator.history import facts
from orchestrator.history.database import opened, said
from orchestrator.history.facts import RunFacts, read_run
from orchestrator.history.folders import run_folders, stamp_of
from orchestrator.history.pairing import Subject
from orchestrator.history.queries import EVERY_RUN, EVERY_TRIAL, at, meaning, runs_like, trials_like
from orchestrator.history.queries import RunFilter as RunFilter
from orchestrator.history.queries import TrialFilter as TrialFilter
from orchestrator.history.rows import Page, RunRow, TrialRow, of_run, of_trials, run_row, trial_row
from orchestrator.history.tables import RUNS, TAGS, TRIALS
from orchestrator.store import HEADER

Report = Callable[[Problem], None]
_BATCH = 2000
_MOST = 2**62


@dataclass(frozen=True)
class Refreshed:
    """What following the folders did."""

    read: int = 0
    """Runs that were new or had changed."""
    forgotten: int = 0
    """Runs whose folder is gone."""
    problems: tuple[Problem, ...] = ()
    """Folders that hold a run.json but no readable run, and lines that are no records."""


class Index:
    """The runs below a folder (and others that were imported). Use it as a context manager."""

    def __init__(self, root: Path, environment: Mapping[str, str] = os.environ) -> None:
        """Opens the database; raises what `database.opened` does. Nothing is read yet: call `refresh`."""
        self.root = root.absolute()
        self.host = platform.node()
        self._engine = opened(self.root, environment)

    @classmethod
    def current(cls, root: Path, environment: Mapping[str, str] = os.environ) -> Index:
        """Opened, and following the folders as they are now."""
        index = cls(root, environment)
        try:
            index.refresh()
        except BaseException:
            index.close()
            raise
        return index

    # Following the folders

    def refresh(self) -> Refreshed:
        """Read what is new or has changed below `root`, forget what is gone."""
        problems: list[Problem] = []
        known = self._stamps()
        read, here = 0, set()
        for folder in run_folders(self.root):
            stamp = stamp_of(folder)
            here.add(str(folder))
            if known.get(str(folder)) != stamp:
                read += self._take(folder, stamp, problems.append)
        gone = [path for path in known if path not in here and not (Path(path) / HEADER).is_file()]
        if gone:
            with self._database() as connection:
                self._forget(connection, gone)
        return Refreshed(read, len(gone), tuple(problems))

    def rebuild(self) -> Refreshed:
        """Forget everything of this machine, and read it all again: `root` and what was imported."""
        known = self._stamps()
        with self._database() as connection:
            self._forget(connection, list(known))
        elsewhere = [Path(path) for path in known if not Path(path).is_relative_to(self.root)]
        found = self.refresh()
        more = self.add(path for path in elsewhere if (path / HEADER).is_file())
        return Refreshed(found.read + more.read, 0, (*found.problems, *more.problems))

    def add(self, folders: Iterator[Path]) -> Refreshed:
        """Take in runs that lie elsewhere. Raises AuthoringError for a folder that holds no run."""
        problems: list[Problem] = []
        read = 0
        for folder in folders:
            if not (folder / HEADER).is_file():
                raise AuthoringError(f"{folder} is not a run folder: it has no {HEADER}")
            read += self._take(folder.absolute(), stamp_of(folder), problems.append)
        return Refreshed(read, 0, tuple(problems))

    # Asking

    def runs(self, wanted: RunFilter = EVERY_RUN, *, offset: int = 0, limit: int = 50) -> Page[RunRow]:
        """The newest first."""
        query = runs_like(select(RUNS), wanted)
        order = (RUNS.c.started.desc(), RUNS.c.run_id.desc())
        with self._database() as connection:
            total = connection.execute(runs_like(select(func.count()).select_from(RUNS), wanted)).scalar_one()
            rows = connection.execute(_page(query.order_by(*order), offset, limit)).all()
            tags = self._tags(connection, [row.run_id for row in rows])
        return Page(tuple(run_row(row, tags.get(row.run_id, ())) for row in rows), total, offset)

    def trials(
        self,
        run_id: str | None = None,
        wanted: TrialFilter = EVERY_TRIAL,
        *,
        offset: int = 0,
        limit: int = 100,
    ) -> Page[TrialRow]:
        """Of one run, in the order of its plan; or of all runs, the newest run first."""
        count = trials_like(select(func.count()).select_from(TRIALS), run_id, wanted)
        query = trials_like(select(TRIALS), run_id, wanted).order_by(TRIALS.c.run_id.desc(), TRIALS.c.number)
        with self._database() as connection:
            total = connection.execute(count).scalar_one()
            rows = connection.execute(_page(query, offset, limit)).all()
        return Page(tuple(trial_row(row) for row in rows), total, offset)

    def every_trial(self, run_ids: Sequence[str]) -> Iterator[TrialRow]:
        """All trials of some runs, run by run in the order given, each in the order of its plan."""
        with self._database() as connection:
            for run_id in run_ids:
                query = select(TRIALS).where(TRIALS.c.run_id == run_id).order_by(TRIALS.c.number)
                for row in connection.execute(query):
                    yield trial_row(row)

    def find(self, word: str) -> RunRow:
        """The run that a word means: an id or how it begins, a tag (its newest run), LATEST (the newest of
        all), or a folder that is known. Raises AuthoringError naming what was looked for."""
        with self._database() as connection:
            found = connection.execute(meaning(word)).all()
            ids = {row.run_id for row in found}
            exact = [row for row in found if row.run_id == word] or found
            if not exact:
                raise AuthoringError(
                    f"{word}: no run folder, run or tag has that name; `proctor runs list` shows the runs"
                )
            by_id = [row for row in exact if row.run_id.startswith(word)]
            if len(by_id) > 1:
                raise AuthoringError(f"{word} may be {' or '.join(sorted(ids)[:3])}; write more of it")
            row = by_id[0] if by_id else exact[0]
            return run_row(row, self._tags(connection, [row.run_id]).get(row.run_id, ()))

    def facts(self, run: RunRow) -> RunFacts:
        """A run read from its folder. Raises AuthoringError when the folder is not on this machine."""
        if not (run.folder / HEADER).is_file():
            raise AuthoringError(
                f"the run {run.run_id} lies in {run.folder} on {run.host}, which is not here"
            )
        return read_run(run.folder)

    def subject(self, run: RunRow) -> Subject:
        """A run to compare: read from its folder, or, where that is on another machine, from the index."""
        if (run.folder / HEADER).is_file():
            return Subject.of(read_run(run.folder), run.run_id)
        trials = self.trials(run.run_id, limit=max(1, run.planned)).rows
        return Subject(
            run.run_id,
            run.run_id,
            run.benchmark,
            run.benchmark_version,
            run.agents,
            tuple(row.facts for row in trials),
            run.machine,
            run.provider,
            run.started,
        )

    def tag(self, run: RunRow, add: set[str], remove: set[str] = frozenset()) -> tuple[str, ...]:  # type: ignore[assignment]
        """Give a run tags, take others away; kept in its folder. Raises AuthoringError, OSError."""
        for word in add:
            if why := facts.wrong_tag(word):
                raise AuthoringError(why)
        read = self.facts(run)
        facts.write_tags(run.folder, (set(read.tags) | add) - remove)
        self._take(run.folder, stamp_of(run.folder), lambda problem: None)
        return facts.read_tags(run.folder, read.header)

    def close(self) -> None:
        """Give the database back. Idempotent."""
        self._engine.dispose()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Beneath

    @contextmanager
    def _database(self) -> Iterator[Connection]:
        """One transaction. Raises InfrastructureError for a database that is gone, full, locked or damaged;
        IntegrityError for what another proctor wrote at the same moment."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise InfrastructureError(f"the index of runs cannot be used: {said(error)}") from None

    def _stamps(self) -> dict[str, str]:
        """Of the runs of this machine, by folder."""
        query = select(RUNS.c.folder, RUNS.c.stamp).where(RUNS.c.host == self.host)
        with self._database() as connection:
            return {row.folder: row.stamp for row in connection.execute(query)}

    def _take(self, folder: Path, stamp: str, report: Report) -> int:
        """Read one run into the tables; 1 when it is there now."""
        try:
            run = read_run(folder, report)
        except (AuthoringError, OSError) as error:
            for problem in _unreadable(folder, error):
                report(problem)
            with self._database() as connection:
                self._forget(connection, [str(folder)])
            return 0
        try:
            with self._database() as connection:
                return self._write(connection, run, stamp, report)
        except IntegrityError:  # another proctor took it in at the same moment
            return 0

    def _write(self, connection: Connection, run: RunFacts, stamp: str, report: Report) -> int:
        held = connection.execute(select(RUNS).where(RUNS.c.run_id == run.run_id)).one_or_none()
        mine = str(run.folder.absolute())
        if held is not None and (held.host, held.folder) != (self.host, mine):
            lives = held.host != self.host or (Path(held.folder) / HEADER).is_file()
            if lives:
                report(Problem(mine, 0, "", f"is a copy of the run in {held.folder}, which is known already"))
                return 0
        connection.execute(delete(RUNS).where(or_(RUNS.c.run_id == run.run_id, at(self.host, [mine]))))
        connection.execute(insert(RUNS).values(of_run(run, self.host, stamp)))
        if run.tags:
            connection.execute(insert(TAGS), [{"run_id": run.run_id, "tag": tag} for tag in run.tags])
        batch: list[dict[str, Any]] = []
        for row in of_trials(run):
            batch.append(row)
            if len(batch) == _BATCH:
                connection.execute(insert(TRIALS), batch)
                batch = []
        if batch:
            connection.execute(insert(TRIALS), batch)
        return 1

    def _forget(self, connection: Connection, folders: list[str]) -> None:
        for start in range(0, len(folders), 500):
            connection.execute(delete(RUNS).where(at(self.host, folders[start : start + 500])))

    def _tags(self, connection: Connection, run_ids: list[str]) -> dict[str, tuple[str, ...]]:
        query = select(TAGS).where(TAGS.c.run_id.in_(run_ids)).order_by(TAGS.c.tag)
        found: dict[str, tuple[str, ...]] = {}
        for row in connection.execute(query):
            found[row.run_id] = (*found.get(row.run_id, ()), row.tag)
        return found


def _page(query: Select[Any], offset: int, limit: int) -> Select[Any]:
    """A part of the answers. No database counts further than `_MOST`, and there are not so many."""
    return query.offset(min(offset, _MOST)).limit(min(limit, _MOST))


def _unreadable(folder: Path, error: AuthoringError | OSError) -> tuple[Problem, ...]:
    if isinstance(error, AuthoringError):
        return error.problems
    place = str(folder) if error.filename is None else os.fsdecode(error.filename)
    return (Problem(place, 0, "", f"cannot be read: {error.strerror or error}"),)
