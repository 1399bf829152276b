"""Questions to the index: which runs, which trials, which run a word means; as statements for its tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Select, or_, select

from orchestrator.errors import AuthoringError
from orchestrator.history.tables import RUNS, TAGS, TRIALS
from orchestrator.store import LATEST


@dataclass(frozen=True)
class RunFilter:
    """Which runs; None takes every one."""

    benchmark: str | None = None
    agent: str | None = None
    """As planned, or its first word ("predictions")."""
    tag: str | None = None
    machine: str | None = None
    revision: str | None = None
    """A commit, or how it begins."""
    since: str | None = None
    """A day or a time, ISO 8601: runs that started then or later."""
    until: str | None = None
    """Runs that started before."""


@dataclass(frozen=True)
class TrialFilter:
    """Which trials; None takes every one."""

    task: str | None = None
    agent: str | None = None
    status: str | None = None
    end: str | None = None
    rubric: str | None = None
    text: str | None = None
    """Occurs in the task's id or in the reason; case does not count."""


EVERY_RUN = RunFilter()
EVERY_TRIAL = TrialFilter()


def at(host: str, folders: list[str]) -> ColumnElement[bool]:
    """Runs in these folders of a machine."""
    return (RUNS.c.host == host) & RUNS.c.folder.in_(folders)


def runs_like(query: Select[Any], wanted: RunFilter) -> Select[Any]:
    """A question about runs, of those that are wanted only."""
    if wanted.benchmark is not None:
        query = query.where(RUNS.c.benchmark == wanted.benchmark)
    if wanted.agent is not None:
        name = json.dumps(wanted.agent)[:-1]
        query = query.where(
            or_(*(RUNS.c.agents.contains(f"{name}{end}", autoescape=True) for end in ('"', ":")))
        )
    if wanted.tag is not None:
        query = query.where(RUNS.c.run_id.in_(select(TAGS.c.run_id).where(TAGS.c.tag == wanted.tag)))
    if wanted.machine is not None:
        query = query.where(RUNS.c.machine == wanted.machine)
    if wanted.revision is not None:
        query = query.where(RUNS.c.revision.startswith(wanted.revision, autoescape=True))
    if wanted.since is not None:
        query = query.where(RUNS.c.started >= moment(wanted.since))
    if wanted.until is not None:
        query = query.where(RUNS.c.started < moment(wanted.until))
    return query


def moment(text: str) -> str:
    """A day or a time as the index has them: in UTC, where no other zone is named. Raises AuthoringError.

    >>> moment("2026-01-31"), moment("2026-01-31T01:00+02:00")
    ('2026-01-31', '2026-01-30T23:00:00')
    """
    try:
        if len(text) == len("2026-01-31"):
            return date.fromisoformat(text).isoformat()
        found = datetime.fromisoformat(text)
        return (found.astimezone(UTC) if found.tzinfo else found).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        raise AuthoringError(
            f"{text!r} is no day and no time; write it as 2026-01-31 or 2026-01-31T18:00"
        ) from None


def trials_like(query: Select[Any], run_id: str | None, wanted: TrialFilter) -> Select[Any]:
    """A question about trials, of those that are wanted only; of one run where it is named."""
    equal = {
        TRIALS.c.run_id: run_id,
        TRIALS.c.task: wanted.task,
        TRIALS.c.agent: wanted.agent,
        TRIALS.c.status: wanted.status,
        TRIALS.c.end: wanted.end,
        TRIALS.c.rubric: wanted.rubric,
    }
    query = query.where(*(column == value for column, value in equal.items() if value is not None))
    if wanted.text is not None:
        texts = (TRIALS.c.task, TRIALS.c.reason)
        query = query.where(or_(*(column.icontains(wanted.text, autoescape=True) for column in texts)))
    return query


def meaning(word: str) -> Select[Any]:
    """Every run that a word may mean, the newest first; see `Index.find`."""
    newest = select(RUNS).order_by(RUNS.c.started.desc(), RUNS.c.run_id.desc())
    if word == LATEST:
        return newest.limit(1)
    path = str(Path(word).absolute())
    either = [RUNS.c.folder == path, RUNS.c.run_id.in_(select(TAGS.c.run_id).where(TAGS.c.tag == word))]
    if re.fullmatch(r"[\w-]{4,}", word):
        either.append(RUNS.c.run_id.startswith(word, autoescape=True))
    return newest.where(or_(*either))
