"""How near a task's runs came to their limits, and which limits would fit them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.documents.validation import Headroom, Proposal
from orchestrator.validation.witness import Sighting
from sandboxes.spec import MIB

SLOW = 0.5
"""Share of its time limit beyond which a command is slow: a machine half as fast would fail the task."""
TIGHT = 0.8
"""Share of its memory limit beyond which an author is told."""
MEMORY_STEP = 64 * MIB
TIME_STEP = 10.0


@dataclass(frozen=True)
class Shortage:
    verdict: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def headroom(sightings: Sequence[Sighting]) -> Headroom | None:
    """The most that was used. Of several limits the one of the slowest, or hungriest, command is named."""
    if not sightings:
        return None
    slowest = max(sightings, key=lambda s: s.seconds / s.time_limit)
    hungriest = max(sightings, key=lambda s: (s.peak_memory or 0) / s.memory_limit)
    return Headroom(
        seconds=round(slowest.seconds, 3),
        time_limit=slowest.time_limit,
        peak_memory=hungriest.peak_memory,
        memory_limit=hungriest.memory_limit,
    )


def short_of(room: Headroom | None) -> Shortage:
    """What is slow, and what is tight."""
    if room is None:
        return Shortage()
    slow = f"a run took {room.seconds:.3g} s of the {room.time_limit:g} s it may take"
    tight = f"a run needed {(room.peak_memory or 0) / MIB:.0f} MiB of {room.memory_limit / MIB:.0f} MiB"
    return Shortage(
        (slow,) if room.seconds > SLOW * room.time_limit else (),
        (tight,) if (room.peak_memory or 0) > TIGHT * room.memory_limit else (),
    )


def proposed(sightings: Sequence[Sighting]) -> Proposal | None:
    """Limits from gold's runs: twice the memory, five times the time, rounded up.

    >>> seen = Sighting("tests", "after", 3.2, "exited", 0, 70 * MIB, 600.0, 1024 * MIB)
    >>> proposed([seen])
    Proposal(memory='192M', oracle_time='20s')
    """
    ran = [s for s in sightings if not s.end.startswith("limit_hit")]
    if not ran:
        return None
    peak = max(s.peak_memory or 0 for s in ran)
    memory = math.ceil(2 * peak / MEMORY_STEP) * MEMORY_STEP // MIB
    seconds = math.ceil(5 * max(s.seconds for s in ran) / TIME_STEP) * TIME_STEP
    return Proposal(memory=f"{memory}M" if peak else None, oracle_time=f"{seconds:.0f}s")
