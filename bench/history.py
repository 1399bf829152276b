"""How long earlier runs take: two runs of 10,000 trials compared; 100,000 trials indexed, listed, filtered.

python bench/history.py [--trials 10000] [--runs 100]

CPU seconds beside the wall's, since machines are seldom idle; records are of a usual size (3 kB).
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from orchestrator.documents.record import AgentRecord, OutcomeRecord, TrialRecord, VerdictRecord
from orchestrator.history.index import Index, RunFilter, TrialFilter
from orchestrator.plan import Plan, TrialJob
from orchestrator.records import to_line
from orchestrator.store import RunHeader

AGENT = "command:a"
DETAILS = {"stdout": "x" * 1200, "tests": {f"tests/test_a.py::test_{n}": "passed" for n in range(30)}}


def write_run(folder: Path, trials: int, rate: float, seed: int) -> None:
    """A run folder with so many trials, one of each task."""
    folder.mkdir(parents=True)
    chance = random.Random(seed)
    jobs = [TrialJob(f"t{n}.a.1", "demo", "1.0", f"t{n}", AGENT, 1, 0.0, 0, "d") for n in range(trials)]
    plan = Plan("demo", "1.0", (AGENT,), 1, tuple(jobs))
    started = f"2026-01-01T{seed // 60:02}:{seed % 60:02}:00+00:00"
    header = RunHeader(run_id=f"run-{seed}", benchmark="demo", started=started, plan=plan.to_json())
    (folder / "run.json").write_text(json.dumps(header.model_dump(mode="python"), default=dict))
    with (folder / "records.jsonl").open("wb") as file:
        for job in jobs:
            file.write(to_line(record(job, chance.random() < rate)) + b"\n")


def record(job: TrialJob, passed: bool) -> TrialRecord:
    """One trial as `proctor run` records it."""
    status: Any = "passed" if passed else "failed"
    outcome = OutcomeRecord(
        id="tests",
        kind="command",
        status=status,
        score=float(passed),
        passed=passed,
        reason="",
        details=DETAILS,
    )
    verdict = VerdictRecord(
        rubric="rubric/r@1.0", score=float(passed), passed=passed, reason="", outcomes=(outcome,)
    )
    return TrialRecord(
        trial=job.trial,
        attempt=1,
        final=True,
        benchmark="demo",
        benchmark_version="1.0",
        task=job.task,
        agent=AgentRecord(name=AGENT),
        repeat=1,
        status=status,
        end="graded",
        score=float(passed),
        reason="tests: exit code 1 (2 of 30 went wrong: test_refresh, test_reading)",
        rubric_ref="rubric/r@1.0",
        verdict=verdict,
        started_at="2026-01-01T00:00:00+00:00",
        seconds=0.5,
    )


@contextmanager
def timed(what: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    print(
        f"  {what:<44} {time.perf_counter() - wall:7.3f} s, CPU {time.process_time() - cpu:7.3f} s",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=100)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        compared(Path(name), asked.trials)
        indexed(Path(name) / "runs", asked.runs)
    return 0


def compared(place: Path, trials: int) -> None:
    """The whole command, from its start to its exit."""
    for seed, side in enumerate(("base", "new")):
        write_run(place / side, trials, 0.7 - 0.02 * seed, seed)
    proctor = Path(sys.executable).with_name("proctor")
    command = [proctor, "compare", place / "base", place / "new", "--json"]
    print(f"proctor compare, two runs of {trials} trials")
    for _ in range(3):
        wall = time.perf_counter()
        before = sum(_children())
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        cpu = sum(_children()) - before
        print(f"  {'whole command':<44} {time.perf_counter() - wall:7.3f} s, CPU {cpu:7.3f} s", flush=True)


def _children() -> tuple[float, float]:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime, used.ru_stime


def indexed(root: Path, runs: int) -> None:
    """Everything that `proctor runs` asks for, in one process."""
    for seed in range(runs):
        write_run(root / f"r{seed:03}", 1000, 0.7, seed)
    print(f"an index over {runs} runs of 1000 trials")
    with timed("read into an empty index"):
        index = Index.current(root, {})
    index.close()
    with timed("open and follow, nothing new"):
        index = Index.current(root, {})
    with index:
        with timed("list the newest 50 runs"):
            index.runs()
        with timed("list by agent, since a day, second page"):
            index.runs(RunFilter(agent=AGENT, since="2026-01-01"), offset=50)
        with timed("failed trials of one run"):
            index.trials("run-7", TrialFilter(status="failed"))
        with timed("one task over all runs"):
            index.trials(None, TrialFilter(task="t500"), limit=1000)
        with timed("failed trials of all runs, a page"):
            index.trials(None, TrialFilter(status="failed"))
        with timed("words in any reason, a page"):
            index.trials(None, TrialFilter(text="refresh", status="failed"))


if __name__ == "__main__":
    raise SystemExit(main())
