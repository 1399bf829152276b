"""kill -9 at random points over a run of sixty trials, resumed until it is done.

Counted: results that were there and are gone (lost), attempts or final records there twice (doubled), reports
that differ from an undisturbed run's (unequal), and what the last run left on the machine (leaks).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.store import RunFolder
from orchestrator.summary import KEPT, standings
from sandboxes.docker.engine import DEFAULT_SOCKET
from tests.faults import leaks, small

PROCTOR = (sys.executable, "-c", "from orchestrator.cli import main; main()")
SLOTS = 2
WITHIN = 0.5
"""A run is killed within this share of the time that an undisturbed one takes here and now."""
KILLS_OF_ONE_RUN = 9
"""After so many the run is left alone, so that each round ends."""


@dataclass
class Tally:
    """What was counted; `bad` are the sentences behind everything that is not zero."""

    provider: str
    kills: int = 0
    runs: int = 0
    lost: int = 0
    doubled: int = 0
    unequal: int = 0
    leaked: int = 0
    torn: int = 0
    swept: int = 0
    """Things that lay about after a kill, for the next start to remove: were there none, the looking would
    prove nothing."""
    bad: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.doubled or self.unequal or self.leaked or self.bad)


def campaign(provider: str, kills: int, seed: int, *, tasks: int = small.TASKS) -> Tally:
    """Runs of the small benchmark, each killed again and again, until `kills` have been given."""
    tally, dice = Tally(provider), random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="proctor-faults-") as name:
        world = _World(Path(name).resolve(), provider, tasks)
        wanted = world.undisturbed()
        while tally.kills < kills:
            _one_run(world, tally, dice, wanted, kills)
    return tally


class _World:
    """A benchmark, and a home and a temporary folder that only its runs use."""

    def __init__(self, place: Path, provider: str, tasks: int) -> None:
        self.place, self.provider = place, provider
        self.bench, self.agents = small.write(place / "bench", tasks)
        self.home, self.temporary = place / "home", place / "tmp"
        self.home.mkdir(mode=0o755)
        self.temporary.mkdir()
        self.pids: list[int] = []
        self.takes = 0.0
        """Seconds of the undisturbed run."""
        self._runs = 0

    def new_folder(self) -> Path:
        self._runs += 1
        return self.place / f"run-{self._runs}"

    def start(self, out: Path) -> subprocess.Popen[bytes]:
        argv = [*PROCTOR, "run", str(self.bench), "--json", "--quiet"]
        argv += [word for agent in self.agents for word in ("--agent", agent)]
        argv += ["--sandbox", self.provider, "--repeats", str(small.REPEATS), "-j", str(SLOTS)]
        argv += ["--out", str(out), *(["--resume"] if (out / "run.json").exists() else [])]
        env = {**os.environ, "PROCTOR_HOME": str(self.home), "TMPDIR": str(self.temporary)}
        started = subprocess.Popen(
            argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        self.pids.append(started.pid)
        return started

    def undisturbed(self) -> dict[str, Any]:
        began = time.monotonic()
        run = self.start(self.new_folder())
        out, err = run.communicate(timeout=600)
        self.takes = time.monotonic() - began
        if run.returncode != 1:
            raise RuntimeError(f"the undisturbed run ended with {run.returncode}: {err.decode()}")
        return comparable(json.loads(out))

    def left(self) -> list[str]:
        address = os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET
        engine = address if self.provider == "docker" else ""
        return leaks.left(self.home, self.temporary, self.pids, engine=engine)


def comparable(report: dict[str, Any]) -> dict[str, Any]:
    """A report without what may differ between equal runs: its folder, times, and attempts that a busy engine
    cost."""
    may = ("seconds", "attempts")
    trials = [{name: value for name, value in row.items() if name not in may} for row in report["trials"]]
    return {**{name: value for name, value in report.items() if name != "run"}, "trials": trials}


def _one_run(world: _World, tally: Tally, dice: random.Random, wanted: dict[str, Any], kills: int) -> None:
    out, given = world.new_folder(), 0
    known: set[str] = set()
    tally.runs += 1
    while True:
        run = world.start(out)
        spared = given >= KILLS_OF_ONE_RUN or tally.kills >= kills
        try:
            told, err = run.communicate(timeout=600 if spared else dice.uniform(0.0, WITHIN * world.takes))
            break
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.communicate()
            given, tally.kills = given + 1, tally.kills + 1
        tally.swept += len(world.left())
        now = _finished(out)
        tally.lost += len(known - now)
        tally.torn += bool(out.exists() and _problems(out))
        known = now
    _judge(world, tally, out, run.returncode, told, err, wanted)


def _judge(
    world: _World, tally: Tally, out: Path, code: int, told: bytes, err: bytes, wanted: dict[str, Any]
) -> None:
    if code != 1:
        tally.bad.append(f"{out.name} ended with {code}: {err.decode()[-2000:]}")
        return
    records = list(RunFolder(out).records())
    finals = Counter(record.trial for record in records if record.final)
    tally.doubled += sum(count - 1 for count in finals.values()) + len(_problems(out))
    tally.lost += sum(not (out / path).is_file() for record in records for path in record.artifacts.values())
    got = comparable(json.loads(told))
    if got != wanted:
        tally.unequal += 1
        rows = [row for row, right in zip(got["trials"], wanted["trials"], strict=False) if row != right]
        tally.bad.append(f"{out.name}: its report differs: {rows or got}")
    time.sleep(0.2)  # the kernel gives back the last of a namespace a moment after its end
    found = world.left()
    tally.leaked += len(found)
    tally.bad += found


def _finished(out: Path) -> set[str]:
    if not (out / "run.json").exists():
        return set()
    found = standings(RunFolder(out).records())
    return {trial for trial, standing in found.items() if standing.final and standing.status in KEPT}


def _problems(out: Path) -> tuple[object, ...]:
    return RunFolder(out).problems() if (out / "run.json").exists() else ()
