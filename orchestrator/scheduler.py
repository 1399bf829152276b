"""Which job runs when: slots, budgets of cpu, memory and disk, and a rate of starts. Knows no trial.

Jobs and results are plain values, so that another engine can carry them past one machine.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

PATIENCE = 8
"""How many later jobs may overtake one that waits for room. After that, room is kept free for it."""
LOOKAHEAD = 64
"""How far down the line a job that fits is looked for."""


class Job(Protocol):
    """What a scheduler must know of a job. 0 asks for nothing but a slot."""

    @property
    def cpus(self) -> float:
        """Cores."""
        ...

    @property
    def memory(self) -> int:
        """Bytes."""
        ...

    @property
    def disk(self) -> int:
        """Bytes."""
        ...


J = TypeVar("J", bound=Job)
R = TypeVar("R")


@dataclass(frozen=True)
class Finished(Generic[R]):
    """The work returned."""

    result: R


@dataclass(frozen=True)
class Crashed:
    """The work raised."""

    error: BaseException


@dataclass(frozen=True)
class NeverFits:
    """More was asked for than there is: not run. `reason` says what and how much."""

    reason: str


@dataclass(frozen=True)
class NotStarted:
    """`stop` came first."""


@dataclass(frozen=True)
class GivenUp:
    """It ran on after `give_up`: nobody waits for it any more, and it ends with the process at the latest."""


Ending = Finished[R] | Crashed | NeverFits | NotStarted | GivenUp


class Scheduler(Protocol):
    """What runs the jobs of a plan: in threads here, or elsewhere; it knows nothing of trials."""

    def run(self, jobs: Sequence[J], work: Callable[[J], R], on_done: Callable[[J, Ending[R]], None]) -> None:
        """Run every job once and report each end once, through `on_done`, in the calling thread.

        Returns when all have ended and nothing of it runs any more, but for what was given up. What `on_done`
        raises stops the starting of others, waits for those that run, and is then raised again.
        """
        ...

    def stop(self) -> None:
        """Start nothing more. From any thread; what runs is not touched. Idempotent."""
        ...

    def give_up(self, after: float) -> None:
        """Start nothing more, and wait `after` more seconds for what runs. From any thread."""
        ...


@dataclass(frozen=True)
class Budget:
    """What all jobs that run at once may ask for together; None sets no bound."""

    cpus: float | None = None
    """Cores."""
    memory: int | None = None
    """Bytes."""
    disk: int | None = None
    """Bytes."""

    def why_never(self, job: Job) -> str:
        """Why a job can never run within this budget; empty when it can."""
        if self.cpus is not None and job.cpus > self.cpus:
            return f"it asks for {job.cpus:g} cores; there are {self.cpus:g}"
        for name, asked, there in (("memory", job.memory, self.memory), ("disk", job.disk, self.disk)):
            if there is not None and asked > there:
                return f"it asks for {asked} bytes of {name}; there are {there}"
        return ""


class LocalScheduler:
    """Threads of this process: as many workers as slots, one job at a time in each.

    Jobs start in the order given. One that does not fit just now may be overtaken `PATIENCE` times by
    later ones that do; then nothing else starts until it fits, so big jobs are not starved.
    """

    def __init__(
        self,
        slots: int = 1,
        *,
        cpus: float | None = None,
        memory: int | None = None,
        disk: int | None = None,
        starts_per_second: float | None = None,
    ) -> None:
        """`cpus` (cores), `memory` and `disk` (bytes) bound the sum over running jobs; None sets no bound.
        `starts_per_second` bounds how quickly one job is started after another."""
        if slots < 1:
            raise ValueError(f"slots is {slots}; at least 1 is needed")
        if starts_per_second is not None and not starts_per_second > 0:
            raise ValueError(f"starts_per_second is {starts_per_second}; it must be above 0")
        self.slots = slots
        self._budget = Budget(cpus, memory, disk)
        self._pause = 1.0 / starts_per_second if starts_per_second else 0.0
        self._stopped = threading.Event()
        self._room = threading.Condition()
        self._gives_up_at = math.inf
        self._ended: SimpleQueue[Any] = SimpleQueue()

    @classmethod
    def of_machine(
        cls, slots: int = 1, *, disk: int | None = None, starts_per_second: float | None = None
    ) -> LocalScheduler:
        """Bounded by this machine: the cores that this process may use, and its physical memory."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        cpus = len(os.sched_getaffinity(0))
        return cls(slots, cpus=cpus, memory=memory, disk=disk, starts_per_second=starts_per_second)

    def run(self, jobs: Sequence[J], work: Callable[[J], R], on_done: Callable[[J, Ending[R]], None]) -> None:
        fitting = []
        for job in jobs:
            reason = self._budget.why_never(job)
            if reason:
                on_done(job, NeverFits(reason))
            else:
                fitting.append(job)
        queue = _Queue(fitting, self._room, self._stopped, self._budget, self._pause)
        # daemons: one that was given up must not keep the process from ending
        workers = [
            threading.Thread(
                target=_work_off, args=(queue, work, self._ended.put), name=f"slot-{n}", daemon=True
            )
            for n in range(min(self.slots, len(fitting)))
        ]
        try:
            for worker in workers:
                worker.start()
            self._collect(queue, len(fitting), on_done)
        except BaseException:
            self.stop()
            raise
        finally:
            for worker in workers:
                if worker.ident is not None:
                    worker.join(self._patience())

    def stop(self) -> None:
        self._stopped.set()
        with self._room:
            self._room.notify_all()

    def give_up(self, after: float) -> None:
        self._gives_up_at = time.monotonic() + after
        self.stop()
        self._ended.put(None)  # whoever waits looks at the clock from now on

    def _collect(self, queue: _Queue[J], count: int, on_done: Callable[[J, Ending[R]], None]) -> None:
        left = count
        while left:
            try:
                ended = self._ended.get(timeout=self._patience())
            except Empty:
                break
            if ended is not None:
                left -= 1
                on_done(*ended)
        if left:
            waiting, running = queue.clear()
            for job in waiting:
                on_done(job, NotStarted())
            for job in running:
                on_done(job, GivenUp())

    def _patience(self) -> float | None:
        """Seconds that a worker is still waited for; None: as long as it takes."""
        return None if math.isinf(self._gives_up_at) else max(0.0, self._gives_up_at - time.monotonic())


class _Queue(Generic[J]):
    """The waiting jobs and what is free. `take` blocks until one fits."""

    def __init__(
        self,
        jobs: Sequence[J],
        room: threading.Condition,
        stopped: threading.Event,
        budget: Budget,
        pause: float,
    ) -> None:
        self._waiting = deque(jobs)
        self._running: list[J] = []
        self._room = room
        self._stopped = stopped
        self._budget = budget
        self._pause = pause
        self._next_start = 0.0
        self._overtakes = 0

    def take(self) -> tuple[J, bool] | None:
        """A job and whether to run it (False after `stop`); None when none is left."""
        with self._room:
            while self._waiting:
                if self._stopped.is_set():
                    return self._waiting.popleft(), False
                place = self._next_fitting()
                early = self._next_start - time.monotonic()
                if place is None or early > 0:
                    self._room.wait(None if place is None else early)
                    continue
                self._next_start = time.monotonic() + self._pause
                self._overtakes = 0 if place == 0 else self._overtakes + 1
                job = self._waiting[place]
                del self._waiting[place]
                self._running.append(job)
                return job, True
            return None

    def give_back(self, job: J) -> None:
        with self._room:
            self._running.remove(job)
            self._room.notify_all()

    def clear(self) -> tuple[list[J], list[J]]:
        """What waits, which nobody can take any more, and what was taken and not given back."""
        with self._room:
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting, list(self._running)

    def _next_fitting(self) -> int | None:
        reach = min(len(self._waiting), LOOKAHEAD) if self._overtakes < PATIENCE else 1
        return next((n for n in range(reach) if self._fits(self._waiting[n])), None)

    def _fits(self, job: J) -> bool:
        if not self._running:
            return True  # alone, every job that is here fits, whatever the sums of floats say
        taken, budget = self._running, self._budget
        return (
            (budget.cpus is None or sum(j.cpus for j in taken) + job.cpus <= budget.cpus + 1e-9)
            and (budget.memory is None or sum(j.memory for j in taken) + job.memory <= budget.memory)
            and (budget.disk is None or sum(j.disk for j in taken) + job.disk <= budget.disk)
        )


def _work_off(queue: _Queue[J], work: Callable[[J], R], ended: Callable[[tuple[J, Ending[R]]], None]) -> None:
    while (taken := queue.take()) is not None:
        job, start = taken
        ending = _end_of(job, work) if start else NotStarted()
        if start:
            queue.give_back(job)
        ended((job, ending))


def _end_of(job: J, work: Callable[[J], R]) -> Ending[R]:
    try:
        return Finished(work(job))
    except BaseException as error:
        return Crashed(error)
