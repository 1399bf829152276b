"""Is a run still going on, and what is at work in it? Told by its folder alone, without touching its lock."""

from __future__ import annotations

import os
import time
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.regular import read_regular
from orchestrator.store import LOCK

SHOWN = 24


@dataclass(frozen=True)
class Working:
    """One attempt that has begun and has no record yet."""

    trial: str
    attempt: int
    seconds: float
    """Since it began."""


def going_on(folder: Path) -> bool:
    """Whether a living process has the run's lock file open."""
    lock = folder / LOCK
    try:
        holder = read_regular(lock).decode("ascii").strip()
        real = os.path.realpath(lock)
        if not holder.isdecimal():
            return False
        with os.scandir(f"/proc/{holder}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    if os.readlink(entry.path) == real:  # noqa: PTH115 a link of the kernel's
                        return True
        return False
    except PermissionError:
        return True  # another user's process of that number lives
    except (OSError, ValueError):
        return False


def at_work(folder: Path, ended: Container[str]) -> tuple[Working, ...]:
    """Trials that have begun and are not in `ended`, the longest at work first."""
    found = []
    now = time.time()
    with suppress(OSError), os.scandir(folder / "trials") as entries:
        for entry in entries:
            if entry.name in ended or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError, ValueError):
                number = max(int(name) for name in os.listdir(entry.path) if name.isdecimal())  # noqa: PTH208
                begun = os.stat(f"{entry.path}/{number}").st_ctime  # noqa: PTH116
                found.append(Working(entry.name, number, max(0.0, now - begun)))
    return tuple(sorted(found, key=lambda one: -one.seconds)[:SHOWN])
