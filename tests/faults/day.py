"""A day of trials on rooms in memory, one in twenty of which meets a fault: memory, time, and nothing lost.

What a trial costs is proctor's own processor time: the fake's rooms and the writing of files are part of it,
the commands are not, for they take no time there. Files are written into memory where there is enough of it:
what a disk's file system costs is another question, and swings by more than a trial.
"""

from __future__ import annotations

import gc
import os
import random
import resource
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator import run
from orchestrator.documents.record import TrialRecord
from orchestrator.plan import TrialJob
from orchestrator.store import RunFolder
from sandboxes.errors import EngineGone, ProvisionFailed, SandboxError, SandboxLost, StreamBroken
from sandboxes.fake import FakeProvider, FakeRoom, done
from sandboxes.protocol import Done
from sandboxes.spec import Command
from tests.faults import small
from tests.faults.trials import AGENTS, Prepared

RATE = 0.05
"""Of the calls that open rooms and run commands, so many fail."""
KEPT = 50_000
"""Bytes that a trial's files take at most."""
TROUBLE = (SandboxLost, StreamBroken, ProvisionFailed, EngineGone)


@dataclass(frozen=True)
class Figures:
    """What a day came to."""

    trials: int
    faults: int
    wrong: int
    lost: int
    """Planned trials without exactly one final record."""
    errored: int
    """Trials that met more faults than they had attempts."""
    growth: float
    """MiB of resident memory from a fifth of the trials to the last."""
    cpu: float
    """Milliseconds of processor time a trial, faults and retries included."""

    def __str__(self) -> str:
        return (
            f"{self.trials} trials, {self.faults} faults: {self.wrong} wrong verdicts, "
            f"{self.lost} lost or doubled, {self.errored} without a score; "
            f"{self.cpu:.2f} ms of processor time each, memory {self.growth:+.1f} MiB"
        )


def _answer(room: FakeRoom, command: Command) -> Done:
    """What the commands of the small benchmark would say and exit with."""
    right = b"right" in (room.files.read("/workspace/answer.txt", 100) or b"")
    told = f"1..3\nok 1 - begins\n{'ok' if right else 'not ok'} 2 - answers\nok 3 - ends\n"
    return done(0 if right else 1, told if "tell.sh" in str(command.argv) else "")


class _Unreliable(FakeProvider):
    """Fails by chance, as real engines do: equally often at every call that starts something."""

    def __init__(self, seed: int) -> None:
        super().__init__(script=_answer)
        self.failed = 0
        self._dice = random.Random(seed)

    def called(self, operation: str) -> None:
        super().called(operation)
        if operation in ("provision", "run") and self._dice.random() < RATE / 2:
            self.failed += 1
            kind: type[SandboxError] = self._dice.choice(TROUBLE)
            raise kind("a bad moment")


class _Gauge(run.Silent):
    """Resident memory at a fifth of the trials and at the last."""

    def __init__(self, trials: int) -> None:
        self._first, self._seen, self._early = trials // 5, 0, 0.0

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        self._seen += record.final
        if self._seen == self._first and record.final:
            self._early = _resident()

    @property
    def growth(self) -> float:
        gc.collect()
        return _resident() - self._early


def campaign(trials: int, seed: int, *, slots: int = 2) -> Figures:
    """Run so many trials, give or take a few, and look at what came of them."""
    place = _memory(trials)
    with tempfile.TemporaryDirectory(prefix="proctor-faults-", dir=place) as name, _home(Path(name)) as home:
        folder, _ = small.write(Path(name) / "bench")
        repeats = max(1, trials // (small.TASKS * len(AGENTS)))
        provider, out = _Unreliable(seed), Path(name) / "run"
        gauge, before = _Gauge(repeats * small.TASKS * len(AGENTS)), _cpu()
        planned = Prepared(folder, home, repeats).run(provider, out, slots=slots, retries=4, listener=gauge)
        return _figures(out, planned, provider.failed, gauge.growth, _cpu() - before)


def _figures(out: Path, planned: tuple[str, ...], faults: int, growth: float, spent: float) -> Figures:
    finals: Counter[str] = Counter()
    wrong = errored = 0
    for record in RunFolder(out).records():
        if record.final:
            finals[record.trial] += 1
            errored += record.status == "errored"
            wrong += record.status not in (small.right_status(record.agent.name), "errored")
            wrong += record.end == "harness_error"
    lost = sum(finals[trial] != 1 for trial in planned)
    return Figures(len(planned), faults, wrong, lost, errored, growth, 1000 * spent / len(planned))


def _memory(trials: int) -> Path | None:
    """A file system in memory that holds the files of so many trials; None: the usual place."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).free < trials * KEPT:
        return None
    return place


@contextmanager
def _home(place: Path) -> Iterator[Path]:
    before = os.environ.get("PROCTOR_HOME")
    home = place / "home"
    home.mkdir()
    os.environ["PROCTOR_HOME"] = str(home)
    try:
        yield home
    finally:
        os.environ.pop("PROCTOR_HOME")
        if before is not None:
            os.environ["PROCTOR_HOME"] = before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
