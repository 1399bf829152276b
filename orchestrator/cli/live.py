"""A run while it goes on: a live table on a terminal, one line per ended trial elsewhere; on stderr."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from orchestrator import words

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from orchestrator.cli.machine import Machine
    from orchestrator.cli.pace import Pace
    from orchestrator.documents.record import TrialRecord
    from orchestrator.plan import TrialJob

SHOWN = 12
"""Running trials listed at once; the rest is a number."""
RECENT = 4
"""Last failures kept in sight."""
TOLD_EVERY = 30.0
"""Seconds between two lines about the whole run, where there is no terminal."""


class Progress(Protocol):
    """What `run.execute` tells while it works; called from many threads."""

    def started(self, job: TrialJob) -> None: ...
    def phase(self, job: TrialJob, name: str) -> None: ...
    def finished(self, job: TrialJob, record: TrialRecord) -> None: ...


class Quiet:
    """Tells nothing."""

    def started(self, job: TrialJob) -> None: ...
    def phase(self, job: TrialJob, name: str) -> None: ...
    def finished(self, job: TrialJob, record: TrialRecord) -> None: ...


class Lines(Quiet):
    """One line per ended attempt: "[ 3/12] failed  csv_quotes  noop  0.4s  tests: exit code 1"; and now and
    then how far the run is."""

    def __init__(
        self,
        planned: int,
        write: Callable[[str], None],
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._planned, self._write, self._pace, self._clock = planned, write, pace, clock
        self._began = self._told = clock()
        self._done = 0
        self._running: dict[str, float] = {}
        self._lock = threading.Lock()

    def started(self, job: TrialJob) -> None:
        with self._lock:
            self._running.setdefault(job.trial, self._clock())

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        with self._lock:
            self._done += record.final
            head = f"[{self._done:>{len(str(self._planned))}}/{self._planned}]"
            again = "" if record.final else f" (attempt {record.attempt}, trying again)"
            self._write(
                f"{head} {words.word(record.status).text:<8} {_name(job)}  {words.seconds(record.seconds)}  "
                f"{words.safe(words.brief(record.reason, 120))}{again}"
            )
            if record.final:
                self._ended(job, record)

    def _ended(self, job: TrialJob, record: TrialRecord) -> None:
        self._running.pop(job.trial, None)
        if self._pace is None:
            return
        self._pace.ended(job.trial, record.seconds)
        now = self._clock()
        if now - self._told < TOLD_EVERY or self._done == self._planned:
            return
        self._told = now
        said = _pace(self._pace, now - self._began, {t: now - since for t, since in self._running.items()})
        if said:
            self._write(f"    {len(self._running)} at work, {said}")


class Board(Quiet):
    """The live table: counts so far, how fast and until when, what runs now and in which phase, the latest
    that did not pass."""

    def __init__(
        self,
        title: str,
        planned: int,
        clock: Callable[[], float] = time.monotonic,
        pace: Pace | None = None,
        machine: Machine | None = None,
    ) -> None:
        self._title, self._planned, self._clock = title, planned, clock
        self._pace, self._machine = pace, machine
        self._began = clock()
        self._running: dict[str, tuple[TrialJob, float, str]] = {}
        self._counts: Counter[str] = Counter()
        self._recent: list[str] = []
        self._lock = threading.Lock()

    def started(self, job: TrialJob) -> None:
        with self._lock:
            self._running[job.trial] = (job, self._clock(), "")

    def phase(self, job: TrialJob, name: str) -> None:
        with self._lock:
            _, since, _ = self._running.get(job.trial, (job, self._clock(), ""))
            self._running[job.trial] = (job, since, name)

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        with self._lock:
            if not record.final:
                return
            self._running.pop(job.trial, None)
            self._counts[record.status] += 1
            if self._pace is not None:
                self._pace.ended(job.trial, record.seconds)
            if record.status != "passed":
                reason = words.safe(words.brief(record.reason, 90))
                line = f"{words.mark(record.status)} {_name(job)}: {reason}"
                self._recent = [*self._recent, line][-RECENT:]

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        with self._lock:
            running, recent = list(self._running.values()), list(self._recent)
            parts: list[Text] = [self._head(), *self._speed()]
        now = self._clock()
        wide = max([24, *(len(_name(job)) for job, _, _ in running[:SHOWN])])
        for job, since, phase in running[:SHOWN]:
            line = Text(f"  {words.mark('running')} ", style=words.word("running").style)
            line.append(f"{_name(job):<{wide}}  {phase:<10} {words.seconds(now - since):>7}", style="default")
            parts.append(line)
        if len(running) > SHOWN:
            parts.append(Text(f"    and {len(running) - SHOWN} more"))
        parts += [Text(f"  {line}", style="dim", no_wrap=True, overflow="ellipsis") for line in recent]
        return Group(*parts)

    def _head(self) -> Text:
        from rich.text import Text

        done = sum(self._counts.values())
        head = Text(f"{self._title}  {done}/{self._planned}", style="bold")
        for status, count in ((s, self._counts[s]) for s in words.STATUS if self._counts[s]):
            word = words.word(status)
            head.append(f"   {words.mark(status)} {count} {word.text}", style=word.style)
        head.append(f"   {words.seconds(self._clock() - self._began)}", style="default")
        return head

    def _speed(self) -> list[Text]:
        """How fast, how long still, how busy the machine: a line, or none."""
        from rich.text import Text

        now = self._clock()
        running = {trial: now - since for trial, (_, since, _) in self._running.items()}
        told = [
            _pace(self._pace, now - self._began, running) if self._pace else "",
            self._machine.said() if self._machine else "",
        ]
        said = "   ".join(filter(None, told))
        return [Text(f"  {said}", style="dim", no_wrap=True, overflow="ellipsis")] if said else []


def _pace(pace: Pace, elapsed: float, running: Mapping[str, float]) -> str:
    """ "12.5 trials a minute, about 3m10s left"; as much of it as is known."""
    rate, left = pace.per_minute(elapsed), pace.remaining(elapsed, running)
    told = []
    if rate is not None:
        told.append(f"{rate:.3g} trials a minute")
    if left:
        told.append(f"about {words.seconds(left)} left")
    return ", ".join(told)


@contextmanager
def shown(title: str, planned: int, *, quiet: bool = False, pace: Pace | None = None) -> Iterator[Progress]:
    """A progress display that fits where stderr goes."""
    if quiet:
        yield Quiet()
    elif sys.stderr.isatty():
        from rich.live import Live

        from orchestrator.cli.machine import Machine
        from orchestrator.cli.printing import console

        out = console(stderr=True)

        board = Board(words.safe(title), planned, pace=pace, machine=Machine(time.monotonic))
        with Live(get_renderable=board.__rich__, console=out, refresh_per_second=8, transient=True):
            yield board
    else:
        yield Lines(planned, lambda line: print(line, file=sys.stderr, flush=True), pace)


def _name(job: TrialJob) -> str:
    repeat = f" #{job.repeat}" if job.repeat > 1 else ""
    return words.safe(job.task) + f"  {words.short_names([job.agent])[job.agent]}{repeat}"
