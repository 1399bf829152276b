"""A run that is killed, or told to stop, loses only what was in flight and goes on where it was."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.plan import Plan
from orchestrator.store import RunFolder
from orchestrator.summary import KEPT, standings, summarise

TRIALS = 60
RUN = """
import random, sys, time
from pathlib import Path
from tenacity import wait_none
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.interrupts import Stop, on_signals
from orchestrator.plan import make
from orchestrator.run import execute
from orchestrator.store import RunHeader, Store
from sandboxes.errors import SandboxLost
from sandboxes.fake import FakeProvider
from sandboxes.spec import Command, RoomSpec

out, pause, TRIALS = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
tasks = tuple(Task(id=f"t{n}") for n in range(TRIALS))
benchmark = Benchmark(id="demo", version="1.0", tasks=tasks, root=out.parent)
plan = make(benchmark, ["gold"])
provider = FakeProvider()

def attempt(job, note):
    number = int(job.task[1:])
    with provider.provision(RoomSpec()) as room:
        room.run(Command(f"sleep {pause * random.random()}"))
    note.keep("response.txt", b"x" * 1000)
    if number % 5 == 0 and random.random() < 0.5:
        raise SandboxLost("pulled the plug")
    passed = number % 3 > 0
    return note.record("passed" if passed else "failed", "graded", "x" * (number * 40))

opened = Store.resume if (out / "run.json").exists() else Store.create
stop = Stop()
with on_signals(stop), opened(RunHeader.begin("demo", plan.to_json()), out) as store:
    print("begun", flush=True)
    summary = execute(
        plan, attempt=attempt, benchmark=benchmark, provider=provider, store=store, slots=3, retries=50,
        wait=wait_none(), stop=stop,
    )
sys.exit(summary.exit_code)
"""


def start(out: Path, pause: float = 0.02) -> subprocess.Popen[str]:
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, str(out), str(pause), str(TRIALS)], stdout=subprocess.PIPE, text=True
    )
    assert run.stdout is not None and run.stdout.readline() == "begun\n"
    return run


def machines_own_slowness() -> float:
    """Ten times what a Python that does nothing takes: next to nothing, but for a machine under load."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return 10 * (time.monotonic() - began)


def outcome(out: Path) -> dict[str, str]:
    return {trial: record.status for trial, record in RunFolder(out).latest().items()}


def undisturbed() -> dict[str, str]:
    return {f"t{n}.gold.1": "passed" if n % 3 > 0 else "failed" for n in range(TRIALS)}


def test_a_run_that_is_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path):
    out, dice, kills = tmp_path / "run", random.Random(7), 0
    kept: set[str] = set()

    while True:
        run = start(out)
        try:
            code = run.wait(timeout=0.02 + 0.15 * dice.random() if kills < 6 else 60)
            break
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
            kills += 1
        done = {t for t, s in standings(RunFolder(out).records()).items() if s.final and s.status in KEPT}
        assert kept <= done  # what was finished stays finished
        kept = done

    records = list(RunFolder(out).records())
    finals = Counter(record.trial for record in records if record.final)
    assert code == 1 and kills > 0
    assert outcome(out) == undisturbed()
    assert set(finals.values()) == {1}  # none doubled
    assert RunFolder(out).problems() == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("delay", [0.0, 0.3])
def test_a_stopped_run_leaves_within_seconds_and_says_what_is_left(tmp_path, number, delay):
    out, slack = tmp_path / "run", machines_own_slowness()
    run = start(out, pause=3600)
    time.sleep(delay)  # before anything is opened, and in the middle

    began = time.monotonic()
    run.send_signal(number)
    run.send_signal(number)
    code = run.wait(timeout=30)

    assert code == 130 and time.monotonic() - began < 5 + slack
    summary = summarise(
        (job.trial for job in Plan.from_json(RunFolder(out).header.plan).trials),
        standings(RunFolder(out).records()),
    )
    assert summary.counts["not_run"] == TRIALS
    assert {record.end for record in RunFolder(out).records()} <= {"interrupted"}

    assert start(out).wait(timeout=60) == 1
    assert outcome(out) == undisturbed()
