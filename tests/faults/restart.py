"""An engine of our own that is killed in the middle of a run: started again at once, or gone for good.

The run must come to its end either way, with no verdict but the right ones, and finish when it is resumed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.store import RunFolder
from tests.faults import small
from tests.faults.kills import PROCTOR, comparable

PATIENCE = 600.0
"""Seconds in which a run must come to its end."""


@dataclass
class Story:
    """What became of one run."""

    told: str
    code: int = -1
    seconds: float = 0.0
    """From the engine's death to the end of the run."""
    recorded: int = 0
    bad: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.told}: the run ended {self.seconds:.0f} s later with exit code {self.code} and "
            f"{self.recorded} of 60 trials scored; resumed, it ended like an undisturbed one"
        )


def campaign() -> list[Story]:
    """Both stories. Needs root and dockerd."""
    with tempfile.TemporaryDirectory(prefix="proctor-faults-") as name:
        place = Path(name).resolve()
        stage = _Stage(place, *small.write(place / "bench"))
        with _engine(place) as engine:
            stage.start("undisturbed").wait(PATIENCE)
            wanted = stage.report("undisturbed")
            told = [_story(stage, engine, "the engine was restarted", again=True, wanted=wanted)]
            told.append(_story(stage, engine, "the engine was gone for good", again=False, wanted=wanted))
        return told


class _Stage:
    """Runs of the small benchmark on that engine."""

    def __init__(self, place: Path, bench: Path, agents: tuple[str, ...]) -> None:
        self.place, self.bench, self.agents = place, bench, agents
        (place / "home").mkdir(mode=0o755)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        out = self.place / name
        argv = [*PROCTOR, "run", str(self.bench), "--json", "--quiet", "--sandbox", "docker", "-j", "2"]
        argv += [word for agent in self.agents for word in ("--agent", agent)]
        argv += ["--repeats", str(small.REPEATS), "--out", str(out)]
        argv += ["--resume"] if (out / "run.json").exists() else []
        env = {**os.environ, "PROCTOR_HOME": str(self.place / "home"), "DOCKER_HOST": _address(self.place)}
        with (self.place / f"{name}.json").open("wb") as told:
            return subprocess.Popen(argv, env=env, stdout=told, stdin=subprocess.DEVNULL)

    def report(self, name: str) -> dict[str, object]:
        return comparable(json.loads((self.place / f"{name}.json").read_text()))


def _story(stage: _Stage, engine: _Engine, told: str, *, again: bool, wanted: dict[str, object]) -> Story:
    story, name = Story(told), "again" if again else "gone"
    run = stage.start(name)
    while run.poll() is None and _records(stage.place / name) < 10:
        time.sleep(0.05)
    engine.kill()
    began = time.monotonic()
    if again:
        engine.start()
    story.code = run.wait(PATIENCE)
    story.seconds = time.monotonic() - began
    if not again:
        engine.start()
    records = list(RunFolder(stage.place / name).latest().values())
    story.recorded = sum(record.status in ("passed", "failed") for record in records)
    for record in records:
        if record.status not in (small.right_status(record.agent.name), "errored", "not_run"):
            story.bad.append(f"{record.trial}: {record.status} ({record.end}): {record.reason}")
        if record.end == "harness_error":
            story.bad.append(f"{record.trial}: {record.reason}")
    if stage.start(name).wait(PATIENCE) != 1 or stage.report(name) != wanted:
        story.bad.append("resumed, the run did not end like an undisturbed one")
    return story


class _Engine:
    """A dockerd of our own."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        place = self._place
        argv = ["dockerd", "--host", _address(place), "--data-root", f"{place}/data"]
        argv += ["--exec-root", f"{place}/exec", "--pidfile", f"{place}/pid"]
        argv += ["--bridge", "none", "--iptables=false", "--ip6tables=false"]
        (place / "pid").unlink(missing_ok=True)
        for _ in range(600):
            if self._process is None or self._process.poll() is not None:  # a busy machine may take two goes
                with (place / "dockerd.log").open("ab") as log:
                    self._process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            asked = ["docker", "--host", _address(place), "info"]
            if subprocess.run(asked, capture_output=True, timeout=30).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"no engine: {(place / 'dockerd.log').read_text()[-2000:]}")

    def kill(self) -> None:
        """As by kill -9. Its containerd stays, and the next one takes it over."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
        for folder in Path("/proc").glob("[0-9]*"):  # shims of containers that outlived it
            with suppress(OSError):
                if f"{self._place}/exec".encode() in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
        points = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for point in sorted((p for p in points if p.startswith(f"{self._place}/")), reverse=True):
            subprocess.run(["umount", "-l", point], capture_output=True)


@contextmanager
def _engine(place: Path) -> Iterator[_Engine]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        raise RuntimeError("an engine of our own needs root and dockerd")
    engine = _Engine(place)
    engine.start()
    try:
        yield engine
    finally:
        engine.close()


def _address(place: Path) -> str:
    return f"unix://{place}/docker.sock"


def _records(out: Path) -> int:
    try:
        return (out / "records.jsonl").read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0
