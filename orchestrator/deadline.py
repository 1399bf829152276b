"""How long there is left, and which limit says so."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Clock = Callable[[], float]
"""Seconds on a clock that never steps back."""


@dataclass(frozen=True)
class Deadline:
    """A moment on a monotonic clock, and the name of the limit that set it.

    Deadlines nest: `within` gives the nearer of the two, so that one limit is the cause (B141).

    >>> trial = Deadline.after(60, "trial_time", clock=lambda: 0.0)
    >>> trial.within(300, "agent_time").cause
    'trial_time'
    >>> trial.within(5, "agent_time").remaining()
    5.0
    """

    at: float = math.inf
    """On `clock`; infinite when nothing limits."""
    cause: str = ""
    """The limit's name, as in the task's `limits`: "trial_time", "agent_time". Empty when none."""
    clock: Clock = field(default=time.monotonic, compare=False, repr=False)

    @classmethod
    def after(cls, seconds: float | None, cause: str, *, clock: Clock = time.monotonic) -> Deadline:
        """`seconds` from now; None sets no limit."""
        if seconds is None:
            return cls(clock=clock)
        return cls(clock() + seconds, cause, clock)

    def within(self, seconds: float | None, cause: str) -> Deadline:
        """The nearer of this one and `seconds` from now. On a tie the outer limit keeps its name."""
        inner = Deadline.after(seconds, cause, clock=self.clock)
        return inner if inner.at < self.at else self

    def remaining(self) -> float:
        """Seconds left, never negative; infinite when nothing limits."""
        return max(0.0, self.at - self.clock())

    def timeout(self) -> float | None:
        """`remaining` as a command's `timeout`: None when nothing limits."""
        left = self.remaining()
        return None if math.isinf(left) else left

    @property
    def expired(self) -> bool:
        return self.remaining() <= 0.0
