"""The same without a daemon: an OCI runtime that fails, hangs, lies or dies, and system calls that fail.

The runtime is a script in front of the real one (`PROCTOR_RUNTIME`) that reads from a file what to do at its
next start; mounts, sparse copies and the like are made to fail in this process.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandboxes import roomfs, scratch
from sandboxes.oci import OciProvider, container
from sandboxes.spec import Owner
from tests.faults import leaks
from tests.faults.tally import Outcome, Tally, within
from tests.faults.trials import Pair, pairs, wrong

START_PATIENCE = 3.0
"""Seconds that a runtime may take to start a container here, instead of a minute."""
RUNTIME = """#!/bin/sh
# the runtime's own words: --root STATE run --detach --bundle DIR --pid-file FILE NAME
case " $* " in *" run "*) ;; *) exec {real} "$@" ;; esac
echo x >> {counter}
n=$(wc -l < {counter})
fault=$(sed -n "s/^$n //p" {plan})
pidfile=$(printf '%s\\n' "$@" | grep -A1 -x -e --pid-file | tail -n 1)
case "$fault" in
    "") exec {real} "$@" ;;
    fails) echo 'level=error msg="starting container process caused: unknown"' >&2; exit 1 ;;
    silent) exit 1 ;;
    enospc) echo 'level=error msg="write /run/x: no space left on device"' >&2; exit 1 ;;
    noise) echo "WARN: deprecated" >&2; exec {real} "$@" ;;
    lies) exit 0 ;;
    other-pid) echo 1 > "$pidfile"; exit 0 ;;
    no-number) {real} "$@"; echo x > "$pidfile"; exit 0 ;;
    hangs) exec sleep 600 ;;
    killed) kill -9 $$ ;;
    killed-late) {real} "$@"; kill -9 $$ ;;
    slow) sleep 0.3; exec {real} "$@" ;;
    usage) echo "Incorrect Usage." ; exit 2 ;;
esac
"""
STARTS = (
    *("fails", "silent", "enospc", "noise", "lies", "other-pid", "no-number", "hangs", "killed"),
    *("killed-late", "slow", "usage"),
)


@dataclass(frozen=True)
class Call:
    """A function of ours that asks the kernel for something, and how it fails."""

    where: object
    name: str
    error: OSError

    def __str__(self) -> str:
        return f"{self.name}: {errno.errorcode[self.error.errno or 0]}"


CALLS = (
    Call(scratch, "mount", OSError(errno.EPERM, "Operation not permitted")),
    Call(scratch, "mount", OSError(errno.ENOMEM, "Cannot allocate memory")),
    Call(scratch, "_copy_sparse", OSError(errno.ENOSPC, "No space left on device")),
    Call(scratch, "_attach", OSError(errno.EBUSY, "Device or resource busy")),
    Call(roomfs, "write", OSError(errno.EIO, "Input/output error")),
    Call(roomfs, "remove", OSError(errno.EIO, "Input/output error")),
    Call(os, "pidfd_open", OSError(errno.EMFILE, "Too many open files")),
    Call(os, "pipe2", OSError(errno.EMFILE, "Too many open files")),
    Call(os, "eventfd", OSError(errno.ENFILE, "Too many open files in system")),
)
MOST_CALLS = 8
"""How often one of these is called, at most, in a pair of trials."""


def enumerated(step: int = 1, offset: int = 0) -> Tally:
    """Every fault of the runtime at each of its starts, and every failing call of ours at each time."""
    tally = Tally()
    with _world() as (both, stage):
        places = [
            (pair, f"{fault} at start {at} of {pair.task}", {at: fault}, {})
            for pair in both
            for at in range(1, _starts(pair, stage) + 1)
            for fault in STARTS
        ]
        places += [
            (pair, f"{call} the {at}. time of {pair.task}", {}, {at: call})
            for pair in both
            for call in CALLS
            for at in range(1, MOST_CALLS + 1)
        ]
        for number, (pair, told, starts, calls) in enumerate(places):
            if number % step == offset % step:
                tally.add(told, *_try(pair, stage, starts, calls))
    return tally


def at_random(runs: int, seed: int) -> Tally:
    """One to four faults of either kind, by chance."""
    tally, dice = Tally(), random.Random(seed)
    with _world() as (both, stage):
        for _ in range(runs):
            pair = dice.choice(both)
            starts = {dice.randint(1, 6): dice.choice(STARTS) for _ in range(dice.randint(0, 3))}
            calls = (
                {dice.randint(1, MOST_CALLS): dice.choice(CALLS)} if not starts or dice.random() < 0.4 else {}
            )
            told = f"{starts} { ({at: str(call) for at, call in calls.items()}) } of {pair.task}"
            tally.add(told, *_try(pair, stage, starts, calls))
    return tally


@dataclass(frozen=True)
class _Stage:
    """Where the runtime in between keeps its plan and counts its starts."""

    place: Path
    temporary: Path

    def set(self, starts: Mapping[int, str]) -> None:
        (self.place / "starts").write_text("")
        (self.place / "plan").write_text("".join(f"{at} {fault}\n" for at, fault in starts.items()))

    @property
    def started(self) -> int:
        return len((self.place / "starts").read_text().splitlines())


def _starts(pair: Pair, stage: _Stage) -> int:
    outcome, _, _ = _try(pair, stage, {}, {})
    if outcome is None or outcome.mistakes or outcome.unscored:
        raise RuntimeError(f"even undisturbed: {outcome}")
    return stage.started


def _try(
    pair: Pair, stage: _Stage, starts: Mapping[int, str], calls: Mapping[int, Call]
) -> tuple[Outcome | None, list[str], float]:
    stage.set(starts)
    met: list[str] = []
    began = time.monotonic()
    with _failing(calls, met):
        outcome = within(lambda: _run(pair, stage))
    met += [fault for at, fault in starts.items() if at <= stage.started]
    return outcome, met, time.monotonic() - began


def _run(pair: Pair, stage: _Stage) -> Outcome:
    provider = OciProvider(Owner.current("faults"))
    try:
        records = pair.run(provider)
    finally:
        provider.close()
    unscored = sum(record.status in ("errored", "not_run") for record in records)
    left = leaks.left(pair.home, stage.temporary, [os.getpid()])
    return Outcome(wrong(records), unscored, left)


@contextmanager
def _failing(calls: Mapping[int, Call], met: list[str]) -> Iterator[None]:
    """Inside, the functions named fail at their numbered call."""
    undo: list[Callable[[], None]] = []
    for at, call in calls.items():
        real = getattr(call.where, call.name)

        def failing(*args: object, _at: int = at, _call: Call = call, _real=real, _seen=[0], **more: object):  # type: ignore[no-untyped-def]  # noqa: B006
            _seen[0] += 1
            if _seen[0] == _at:
                met.append(str(_call))
                raise OSError(_call.error.errno, _call.error.strerror)
            return _real(*args, **more)

        setattr(call.where, call.name, failing)
        undo.append(lambda call=call, real=real: setattr(call.where, call.name, real))
    try:
        yield
    finally:
        for one in reversed(undo):
            one()


@contextmanager
def _world() -> Iterator[tuple[tuple[Pair, Pair], _Stage]]:
    """Two pairs of trials, a home of their own, and the runtime in between."""
    names = ("PROCTOR_HOME", "PROCTOR_RUNTIME", "TMPDIR")
    before, waits = {name: os.environ.get(name) for name in names}, container.START_PATIENCE
    with tempfile.TemporaryDirectory(prefix="proctor-faults-") as name:
        place = Path(name).resolve()
        both, stage = pairs(place), _Stage(place, place / "tmp")
        stage.temporary.mkdir()
        real = shutil.which("runc", path=f"{os.environ.get('PATH')}:/usr/sbin:/sbin")
        between = place / "runc"
        between.write_text(RUNTIME.format(real=real, counter=place / "starts", plan=place / "plan"))
        between.chmod(0o755)
        os.environ.update(
            PROCTOR_HOME=str(both[0].home), PROCTOR_RUNTIME=str(between), TMPDIR=str(stage.temporary)
        )
        tempfile.tempdir = None
        container.START_PATIENCE = START_PATIENCE
        try:
            yield both, stage
        finally:
            container.START_PATIENCE = waits
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value
            tempfile.tempdir = None
