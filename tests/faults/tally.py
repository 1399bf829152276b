"""What a campaign counted, and the sentences behind everything that must be zero."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

HANGS_AFTER = 120.0
"""Seconds after which a pair of trials counts as hanging."""


@dataclass(frozen=True)
class Outcome:
    """Of one pair of trials: wrong verdicts in words, trials without a score, and what was left behind."""

    mistakes: list[str]
    unscored: int
    left: list[str]


@dataclass
class Tally:
    """Over all pairs of trials of a campaign."""

    runs: int = 0
    met: int = 0
    """Runs in which a fault really happened."""
    healed: int = 0
    """Of those, the ones that ended with both right verdicts all the same."""
    wrong: int = 0
    hangs: int = 0
    leaks: int = 0
    slowest: float = 0.0
    """Seconds."""
    bad: list[str] = field(default_factory=list)
    unhealed: Counter[str] = field(default_factory=Counter)

    def add(self, told: str, outcome: Outcome | None, met: Sequence[str], seconds: float) -> None:
        """One pair of trials; None is one that hangs. `told` says what was planned, `met` what happened."""
        self.runs += 1
        self.met += bool(met)
        self.slowest = max(self.slowest, seconds)
        if outcome is None:
            self.hangs += 1
            self.bad.append(f"hangs: {told}: {list(met)}")
            return
        self.wrong += len(outcome.mistakes)
        self.leaks += len(outcome.left)
        self.bad += [f"wrong: {told}: {list(met)}: {mistake}" for mistake in outcome.mistakes]
        self.bad += [f"left: {told}: {list(met)}: {thing}" for thing in outcome.left]
        if outcome.unscored:
            self.unhealed[told.partition(" at ")[0]] += 1
        elif met and not outcome.mistakes:
            self.healed += 1

    def __str__(self) -> str:
        return (
            f"{self.runs} pairs of trials, {self.met} met a fault: {self.wrong} wrong verdicts, "
            f"{self.hangs} hangs, {self.leaks} leaks; {self.healed} ended with both right verdicts, "
            f"slowest {self.slowest:.0f} s"
        )


def within(work: Callable[[], Outcome], seconds: float = HANGS_AFTER) -> Outcome | None:
    """What `work` comes to, or None when it takes longer than that. Raises what it raises."""
    found: list[Outcome | BaseException] = []

    def caught() -> None:
        try:
            found.append(work())
        except BaseException as error:
            found.append(error)

    worker = threading.Thread(target=caught, daemon=True)
    worker.start()
    worker.join(seconds)
    if not found:
        return None
    (outcome,) = found
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
