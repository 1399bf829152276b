"""What a trial costs when rooms cost nothing: 500 trials on the fake, milliseconds each, memory growth.

python bench/fake_trials.py [--trials 500] [--slots 2]
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tiny

from orchestrator import plan, run, trial
from orchestrator.agents import make_all
from orchestrator.befores import BeforeCache
from orchestrator.cli import given
from orchestrator.documents.record import TrialRecord
from orchestrator.plan import TrialJob
from orchestrator.store import RunHeader, Store
from orchestrator.tools import Tools
from sandboxes.fake import FakeProvider, FakeRoom
from sandboxes.protocol import Done, Output
from sandboxes.spec import Command

AGENTS = ("gold",)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--slots", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        measure(Path(name), asked.trials, asked.slots)
    return 0


def measure(place: Path, trials: int, slots: int) -> None:
    loaded = given.load(tiny.write(place / "benchmark"))
    agents = make_all(AGENTS, loaded.registry.agents, loaded.benchmark)
    chosen = plan.make(loaded.benchmark, AGENTS, repeats=-(-trials // tiny.TASKS))
    provider = FakeProvider(script=passes)
    tools = Tools(
        benchmark=loaded.benchmark,
        provider=provider,
        agents=agents,
        executors=loaded.registry.executors,
        rubrics=loaded.rubrics.resolve,
        home=place / "home",
        version=version("proctor"),
        befores=BeforeCache(),
    )
    memory = Memory(trials)
    with Store.create(RunHeader.begin("tiny", chosen.to_json()), place / "run") as store:
        began = time.perf_counter()
        summary = run.execute(
            chosen,
            attempt=lambda job, note: trial.run(job, note, tools),
            benchmark=loaded.benchmark,
            provider=provider,
            store=store,
            slots=slots,
            listener=memory,
        )
        took = time.perf_counter() - began
    if summary.counts["passed"] != summary.planned:
        sys.exit(f"not all passed: {dict(summary.counts)}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{summary.planned} trials on the fake, {slots} slots: {1000 * took / summary.planned:.2f} ms each")
    print(f"memory: {memory.growth:+.1f} MiB from trial {trials // 5} to the last; peak {peak:.0f} MiB")


class Memory(run.Silent):
    """Resident memory at a fifth of the trials and at the last."""

    def __init__(self, trials: int) -> None:
        self._first, self._seen = trials // 5, 0
        self._early = 0.0

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        self._seen += 1
        if self._seen == self._first:
            self._early = resident()

    @property
    def growth(self) -> float:
        gc.collect()
        return resident() - self._early


def resident() -> float:
    """MiB of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def passes(room: FakeRoom, command: Command) -> Done:
    """Every test succeeds at once."""
    return Done("exited", 0, None, Output(b"OK\n", b"", 3), Output(), 0.0)


if __name__ == "__main__":
    sys.exit(main())
