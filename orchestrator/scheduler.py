"""Which job runs when: slots and budgets of cpu and memory. Knows no trial.

Jobs and results are plain values, so that another engine can carry them past one machine.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

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


Ending = Finished[R] | Crashed | NeverFits | NotStarted


class Scheduler(Protocol):
    """What runs the jobs of a plan: in threads here, or elsewhere; it knows nothing of trials."""

    def run(self, jobs: Sequence[J], work: Callable[[J], R], on_done: Callable[[J, Ending[R]], None]) -> None:
        """Run every job once and report each end once, through `on_done`, in the calling thread.

        Returns when all have ended and nothing of it runs any more. What `on_done` raises stops the
        starting of others, waits for those that run, and is then raised again.
        """
        ...

    def stop(self) -> None:
        """Start nothing more. From any thread; what runs is not touched. Idempotent."""
        ...


class LocalScheduler:
    """Threads of this process: as many workers as slots, one job at a time in each.

    Jobs start in the order given. One that does not fit just now may be overtaken `PATIENCE` times by
    later ones that do; then nothing else starts until it fits, so big jobs are not starved.
    """

    def __init__(self, slots: int = 1, *, cpus: float | None = None, memory: int | None = None) -> None:
        """`cpus` (cores) and `memory` (bytes) bound the sum over running jobs; None sets no bound."""
        if slots < 1:
            raise ValueError(f"slots is {slots}; at least 1 is needed")
        self.slots = slots
        self._cpus = cpus
        self._memory = memory
        self._stopped = threading.Event()
        self._room = threading.Condition()

    @classmethod
    def of_machine(cls, slots: int = 1) -> LocalScheduler:
        """Bounded by this machine: the cores that this process may use, and its physical memory."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls(slots, cpus=len(os.sched_getaffinity(0)), memory=memory)

    def run(self, jobs: Sequence[J], work: Callable[[J], R], on_done: Callable[[J, Ending[R]], None]) -> None:
        fitting = []
        for job in jobs:
            reason = self._why_never(job)
            if reason:
                on_done(job, NeverFits(reason))
            else:
                fitting.append(job)
        queue = _Queue(fitting, self._room, self._stopped, self._cpus, self._memory)
        ended: SimpleQueue[tuple[J, Ending[R]]] = SimpleQueue()
        workers = [
            threading.Thread(target=_work_off, args=(queue, work, ended.put), name=f"slot-{n}")
            for n in range(min(self.slots, len(fitting)))
        ]
        try:
            for worker in workers:
                worker.start()
            for _ in fitting:
                on_done(*ended.get())
        except BaseException:
            self.stop()
            raise
        finally:
            for worker in workers:
                if worker.ident is not None:
                    worker.join()

    def stop(self) -> None:
        self._stopped.set()
        with self._room:
            self._room.notify_all()

    def _why_never(self, job: Job) -> str:
        if self._cpus is not None and job.cpus > self._cpus:
            return f"it asks for {job.cpus:g} cores; there are {self._cpus:g}"
        if self._memory is not None and job.memory > self._memory:
            return f"it asks for {job.memory} bytes of memory; there are {self._memory}"
        return ""


class _Queue(Generic[J]):
    """The waiting jobs and what is free. `take` blocks until one fits."""

    def __init__(
        self,
        jobs: Sequence[J],
        room: threading.Condition,
        stopped: threading.Event,
        cpus: float | None,
        memory: int | None,
    ) -> None:
        self._waiting = deque(jobs)
        self._room = room
        self._stopped = stopped
        self._cpus = cpus
        self._memory = memory
        self._cpus_used = 0.0
        self._memory_used = 0
        self._running = 0
        self._overtakes = 0

    def take(self) -> tuple[J, bool] | None:
        """A job and whether to run it (False after `stop`); None when none is left."""
        with self._room:
            while self._waiting:
                if self._stopped.is_set():
                    return self._waiting.popleft(), False
                place = self._next_fitting()
                if place is not None:
                    self._overtakes = 0 if place == 0 else self._overtakes + 1
                    job = self._waiting[place]
                    del self._waiting[place]
                    self._book(job, 1)
                    return job, True
                self._room.wait()
            return None

    def give_back(self, job: J) -> None:
        with self._room:
            self._book(job, -1)
            self._room.notify_all()

    def _next_fitting(self) -> int | None:
        reach = min(len(self._waiting), LOOKAHEAD) if self._overtakes < PATIENCE else 1
        return next((n for n in range(reach) if self._fits(self._waiting[n])), None)

    def _fits(self, job: J) -> bool:
        if not self._running:
            return True  # alone, every job that is here fits, whatever the sums of floats say
        return (self._cpus is None or self._cpus_used + job.cpus <= self._cpus + 1e-9) and (
            self._memory is None or self._memory_used + job.memory <= self._memory
        )

    def _book(self, job: J, sign: int) -> None:
        self._running += sign
        self._cpus_used += sign * job.cpus
        self._memory_used += sign * job.memory


def _work_off(queue: _Queue[J], work: Callable[[J], R], ended: Callable[[tuple[J, Ending[R]]], None]) -> None:
    while (taken := queue.take()) is not None:
        job, start = taken
        ended((job, _end_of(job, work) if start else NotStarted()))
        if start:
            queue.give_back(job)


def _end_of(job: J, work: Callable[[J], R]) -> Ending[R]:
    try:
        return Finished(work(job))
    except BaseException as error:
        return Crashed(error)
