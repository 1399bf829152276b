"""When a night is due, and what it is called. Pure."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, time, timedelta


def last_due(at: str, now: datetime) -> datetime:
    """The newest moment not after `now` at which a night was due. `now` is in the machine's own time.

    >>> last_due("02:30", datetime(2026, 11, 30, 10, 0)), last_due("02:30", datetime(2026, 11, 30, 1, 0))
    (datetime.datetime(2026, 11, 30, 2, 30), datetime.datetime(2026, 11, 29, 2, 30))
    """
    today = datetime.combine(now.date(), time.fromisoformat(at), now.tzinfo)
    return today if today <= now else today - timedelta(days=1)


def next_due(at: str, now: datetime) -> datetime:
    """The next moment after `now`.

    >>> next_due("02:30", datetime(2026, 11, 30, 10, 0))
    datetime.datetime(2026, 12, 1, 2, 30)
    """
    return last_due(at, now) + timedelta(days=1)


def missed(finished: Collection[str], at: str, now: datetime) -> bool:
    """Whether the night that was due last has not been done. It is made up for, also days later; of several
    missed nights only the last.

    >>> missed({"2026-11-29"}, "02:30", datetime(2026, 11, 30, 10, 0))
    True
    >>> missed({"2026-11-30.2", "2026-11-30"}, "02:30", datetime(2026, 11, 30, 10, 0))
    False
    """
    return f"{last_due(at, now):%Y-%m-%d}" not in finished


def name_of(finished: Collection[str], at: str, now: datetime) -> str:
    """What the next night is called: the day it was due, with a number from the second on.

    >>> name_of({"2026-11-30"}, "02:30", datetime(2026, 11, 30, 10, 0))
    '2026-11-30.2'
    """
    day = f"{last_due(at, now):%Y-%m-%d}"
    if day not in finished:
        return day
    number = 2
    while f"{day}.{number}" in finished:
        number += 1
    return f"{day}.{number}"
