"""A whole run: every planned trial, in which order, and how all of it stops."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from functools import partial

from tenacity.wait import wait_base

from orchestrator.attempts import BACK_OFF, Attempt, Attempts, Guarded, Listener, Silent
from orchestrator.documents.benchmark import Benchmark
from orchestrator.documents.record import TrialRecord
from orchestrator.interrupts import Stop, on_signals
from orchestrator.plan import Plan, TrialJob
from orchestrator.scheduler import Crashed, Ending, Finished, GivenUp, LocalScheduler, NeverFits, Scheduler
from orchestrator.store import Store
from orchestrator.summary import KEPT, RunSummary, Standing, standings, summarise
from sandboxes.errors import EngineGone, SandboxError
from sandboxes.protocol import Provider

GIVE_UP_AFTER = 3
"""Trials in a row that lost the engine for good before no other is started."""
LEAVE_WITHIN = 3.5
"""Seconds that trials have to end after a stop. Those that hang, say in a call of an engine that does not
answer, are given up then: they have no record, and the next start removes what they leave."""
_log = logging.getLogger(__name__)


def execute(
    plan: Plan,
    *,
    attempt: Attempt,
    benchmark: Benchmark,
    provider: Provider,
    store: Store,
    slots: int = 1,
    scheduler: Scheduler | None = None,
    retries: int = 2,
    listener: Listener | None = None,
    stop: Stop | None = None,
    wait: wait_base | None = None,
    on_stop: Sequence[Callable[[], None]] = (),
) -> RunSummary:
    """Run every trial of `plan` that `store` holds no result of under equal inputs.

    A trial is tried `retries` times more after trouble of the infrastructure that a fresh attempt may
    mend; never after a verdict. `scheduler` replaces the local one with its `slots` and the machine's
    budgets; `wait` the pauses between attempts. `on_stop` is called, too, when the run is to end early.

    SIGINT, SIGTERM, SIGHUP and `stop` end all rooms, start nothing more and return within seconds, with
    every record written; the exit code is 130 then, and the same call on the resumed store goes on. Who
    has more to clean up than the run wraps it in `interrupts.on_signals` of the same `stop`.

    Raises JournalFailed when records can no longer be kept.
    """
    stop = stop or Stop()
    scheduler = scheduler or LocalScheduler.of_machine(slots)
    attempts = Attempts(
        attempt=attempt,
        tasks={task.id: task for task in benchmark.tasks},
        provider=provider.name,
        store=store,
        listener=Guarded(listener or Silent()),
        stop=stop,
        retries=retries,
        wait=wait or BACK_OFF,
    )
    leave = partial(scheduler.give_up, LEAVE_WITHIN)
    with on_signals(stop), stop.calling(leave, lambda: _close_rooms(provider), *on_stop):
        return _carry_out(plan, attempts, scheduler)


def _carry_out(plan: Plan, attempts: Attempts, scheduler: Scheduler) -> RunSummary:
    before = standings(attempts.store.records())
    found = {job.trial: before[job.trial] for job in plan.trials if _settled(before.get(job.trial), job)}
    kept = len(found)
    attempts.begun.update({trial: standing.highest for trial, standing in before.items()})
    breaker = _Breaker(scheduler.stop)

    def work(job: TrialJob) -> Standing:
        try:
            record = attempts.run(job)
        except BaseException:
            attempts.stop.request()  # before this worker takes another job: nothing can be recorded any more
            raise
        breaker.saw(record)
        return Standing.of(record)

    def done(job: TrialJob, ending: Ending[Standing]) -> None:
        if isinstance(ending, Finished):
            found[job.trial] = ending.result
        elif isinstance(ending, NeverFits):
            found[job.trial] = Standing.of(attempts.refuse(job, ending.reason))
        elif isinstance(ending, GivenUp):
            _log.warning("%s did not end in time: what is left of it is removed by proctor reap", job.trial)
        elif isinstance(ending, Crashed):
            raise ending.error

    scheduler.run([job for job in plan.trials if job.trial not in found], work, done)
    trials = (job.trial for job in plan.trials)
    return summarise(trials, found, interrupted=attempts.stop.requested, kept=kept, gave_up=breaker.reason)


def _close_rooms(provider: Provider) -> None:
    """An engine that is gone has no rooms left to close, and the run is stopping anyway."""
    try:
        provider.evict_all()
    except SandboxError:
        _log.warning("some rooms may be left; proctor reap removes them", exc_info=True)


def _settled(standing: Standing | None, job: TrialJob) -> bool:
    """Whether a trial needs no further run: it has a result, of the very inputs of now."""
    if standing is None or not standing.final or standing.status not in KEPT:
        return False
    return standing.digest == job.digest


class _Breaker:
    """Notices that the engine is gone for good: trials in a row that lost it, retries and all."""

    def __init__(self, trip: Callable[[], None]) -> None:
        self.reason = ""
        self._trip = trip
        self._in_a_row = 0
        self._lock = threading.Lock()

    def saw(self, record: TrialRecord) -> None:
        with self._lock:
            self._in_a_row = self._in_a_row + 1 if record.end == EngineGone.end else 0
            if self._in_a_row < GIVE_UP_AFTER or self.reason:
                return
            self.reason = f"the engine is gone; the trials that are left were not started: {record.reason}"
        self._trip()
