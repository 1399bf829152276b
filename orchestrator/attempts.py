"""One trial: attempted until it has an end, with a record of every attempt."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt
from tenacity.wait import wait_base, wait_exponential, wait_random

from orchestrator.documents.benchmark import Task
from orchestrator.documents.record import ENDS, AgentRecord, End, TrialRecord
from orchestrator.errors import AuthoringError, TaskInvalid
from orchestrator.interrupts import Stop
from orchestrator.journal import JournalFailed
from orchestrator.notebook import Notebook
from orchestrator.plan import TrialJob
from orchestrator.store import Store
from sandboxes.errors import MACHINE, Evicted, SandboxError

BACK_OFF = wait_exponential(multiplier=0.5, max=30.0) + wait_random(0, 0.5)
"""Seconds between two attempts: doubling, with jitter."""

_log = logging.getLogger(__name__)


class Attempt(Protocol):
    """One attempt of one trial, such as `trial.run` with its tools bound.

    Raises sandboxes.errors.SandboxError and orchestrator.errors.TaskInvalid; anything else is a bug.
    """

    def __call__(self, job: TrialJob, notebook: Notebook) -> TrialRecord: ...


class Listener(Protocol):
    """Hears what happens, in the worker's thread. What it raises is dropped: a display is no verdict."""

    def started(self, job: TrialJob) -> None:
        """An attempt begins."""
        ...

    def phase(self, job: TrialJob, name: str) -> None: ...

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        """An attempt was recorded. Unless `record.final`, another follows."""
        ...


class Silent:
    """A listener that does nothing."""

    def started(self, job: TrialJob) -> None: ...
    def phase(self, job: TrialJob, name: str) -> None: ...
    def finished(self, job: TrialJob, record: TrialRecord) -> None: ...


@dataclass(frozen=True)
class _Tried:
    """An attempt's record, and whether a fresh one may do better."""

    record: TrialRecord
    again: bool = False


@dataclass(frozen=True)
class Attempts:
    """Stands around `trial.run`: attempts, retries, records. Shared by all workers."""

    attempt: Attempt
    tasks: Mapping[str, Task]
    provider: str
    store: Store
    listener: Listener
    stop: Stop
    retries: int
    wait: wait_base
    begun: dict[str, int] = field(default_factory=dict)
    """The highest number that an attempt of a trial had; its folders may be gone."""

    def run(self, job: TrialJob) -> TrialRecord:
        """Every attempt of one trial; each is recorded before the next begins, the last one as final."""

        def keep_and_go_on(state: RetryCallState) -> None:
            assert state.outcome is not None
            self._keep(job, state.outcome.result(), final=False)

        attempts = Retrying(
            stop=stop_after_attempt(1 + self.retries),
            wait=self.wait,
            retry=retry_if_result(lambda tried: tried.again and not self.stop.requested),
            before_sleep=keep_and_go_on,
            sleep=self._pause,
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        last: _Tried = attempts(self._try, job)
        return self._keep(job, last, final=True)

    def refuse(self, job: TrialJob, reason: str) -> TrialRecord:
        """Record that a trial asks for more than this machine has; it is not run."""
        record = self._notebook(job).record(
            "not_run", "limit_unenforceable", f"more than this machine has: {reason}"
        )
        return self._keep(job, _Tried(record), final=True)

    def _try(self, job: TrialJob) -> _Tried:
        """One attempt. Whatever goes wrong in it becomes a record, under its owner's name."""
        notebook = self._notebook(job)
        self.listener.started(job)
        try:
            if self.stop.requested:
                raise Evicted("the run was stopped")
            record = self.attempt(job, notebook)
            if self.stop.requested and record.status == "errored" and record.end in ROOM_ENDS:
                raise Evicted("the run was stopped")
            return _Tried(record, record.status == "errored" and _may_help(record))
        except SandboxError as error:
            return self._room_trouble(notebook, error)
        except (TaskInvalid, AuthoringError) as error:
            end = _word(getattr(error, "end", ""), "task_invalid")
            evidence = getattr(error, "evidence", "") or None
            return _Tried(notebook.record("invalid", end, str(error), error=evidence))
        except JournalFailed:
            raise
        except Exception as error:
            if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in MACHINE):
                said = f"this machine is out of something: {error}"
                return _Tried(notebook.record("errored", "sandbox_error", said, error=_trace(error)))
            said = f"a fault of proctor itself, please report it: {type(error).__name__}: {error}"
            return _Tried(notebook.record("errored", "harness_error", said, error=_trace(error)))

    def _room_trouble(self, notebook: Notebook, error: SandboxError) -> _Tried:
        if self.stop.requested:
            # What breaks while all rooms are being closed says nothing about the machine.
            return _Tried(notebook.record("not_run", "interrupted", "stopped before it ended"))
        end = _word(error.end, "sandbox_error")
        said = str(error) or type(error).__name__
        return _Tried(notebook.record("errored", end, said, error=_trace(error)), error.retryable)

    def _pause(self, seconds: float) -> None:
        self.stop.wait(seconds)

    def _notebook(self, job: TrialJob) -> Notebook:
        number, folder = self.store.begin_attempt(job.trial, after=self.begun.get(job.trial, 0))
        self.begun[job.trial] = number
        return Notebook(
            trial=job.trial,
            attempt=number,
            facts={
                "benchmark": job.benchmark,
                "benchmark_version": job.benchmark_version,
                "task": job.task,
                "repeat": job.repeat,
                "rubric_ref": self.tasks[job.task].rubric_ref,
                "provider": self.provider,
            },
            agent=AgentRecord(name=job.agent),
            folder=folder,
            run_folder=self.store.path,
            listen=lambda name: self.listener.phase(job, name),
        )

    def _keep(self, job: TrialJob, tried: _Tried, *, final: bool) -> TrialRecord:
        digests = {**tried.record.digests, "inputs": job.digest}
        record = tried.record.model_copy(update={"final": final, "digests": digests})
        self.store.append(record)
        self.listener.finished(job, record)
        return record


class Guarded:
    """A listener around a listener: keeps a listener's errors out of the run; names the first in the log."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._told = False

    def started(self, job: TrialJob) -> None:
        self._call(lambda: self._listener.started(job))

    def phase(self, job: TrialJob, name: str) -> None:
        self._call(lambda: self._listener.phase(job, name))

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        self._call(lambda: self._listener.finished(job, record))

    def _call(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception:
            if not self._told:
                self._told = True
                _log.warning("the progress display failed; the run goes on", exc_info=True)


def _may_help(record: TrialRecord) -> bool:
    """Whether a fresh attempt may do better: what broke says so itself, or else its word does."""
    outcomes = record.verdict.outcomes if record.verdict is not None else ()
    broken = next((outcome for outcome in outcomes if outcome.status == "error"), None)
    told = None if broken is None else broken.details.get("retryable")
    return record.end in RETRYABLE_ENDS if told is None else bool(told)


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _word(end: str, otherwise: End) -> End:
    """`end` when it is a word of the records' list; a plug-in may have words of its own."""
    return cast(End, end) if end in ENDS else otherwise


_ROOM_TROUBLE: tuple[type[SandboxError], ...] = (SandboxError, *SandboxError.__subclasses__())
ROOM_ENDS = frozenset(kind.end for kind in _ROOM_TROUBLE) | {"judge_unreachable"}
"""Ends that say nothing while everything is being stopped."""
RETRYABLE_ENDS = frozenset(kind.end for kind in _ROOM_TROUBLE if kind.retryable) | {"judge_unreachable"}
"""Ends that a fresh attempt may better. No verdict and no limit is among them (B135)."""
