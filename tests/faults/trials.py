"""The two trials that every fault is tried on: one that must pass and one that must fail, in this process."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenacity import wait_none

from orchestrator import inputs, plan, run, trial
from orchestrator.agents import make_all
from orchestrator.befores import BeforeCache
from orchestrator.documents.record import TrialRecord
from orchestrator.loading import load_benchmark
from orchestrator.plugins import Registry
from orchestrator.rubrics import RubricStore
from orchestrator.store import RunFolder, RunHeader, Store
from orchestrator.tools import Tools
from sandboxes.protocol import Provider
from tests.faults import small

AGENTS = ("gold", "noop")
NOBODYS = ("errored", "not_run")
"""How a trial may end instead of its right verdict, when the machine is at fault; never otherwise."""


@dataclass(frozen=True)
class Prepared:
    """A run of the small benchmark, ready to begin: `run` carries it out in `out` on any provider."""

    folder: Path
    home: Path
    repeats: int = 1
    tasks: str | None = None

    def run(self, provider: Provider, out: Path, **options: Any) -> tuple[str, ...]:
        """Carry it out without pauses between attempts. The trials that were planned."""
        benchmark = load_benchmark(self.folder)
        registry = Registry.load()
        agents = make_all(AGENTS, registry.agents, benchmark)
        rubrics = RubricStore.load([self.folder / "rubrics"])
        decisive = inputs.of(benchmark, agents, rubrics.resolve, version="1")
        planned = plan.make(benchmark, AGENTS, self.repeats, self.tasks, inputs=decisive)
        tools = Tools(
            benchmark=benchmark,
            provider=provider,
            agents=agents,
            executors=registry.executors,
            rubrics=rubrics.resolve,
            home=self.home,
            befores=BeforeCache(),
        )
        with Store.create(RunHeader.begin(benchmark.id, planned.to_json()), out) as store:
            run.execute(
                planned,
                attempt=lambda job, note: trial.run(job, note, tools),
                benchmark=benchmark,
                provider=provider,
                store=store,
                wait=wait_none(),
                **options,
            )
        return tuple(job.trial for job in planned.trials)


@dataclass(frozen=True)
class Pair:
    """Both trials of one task, ready to be run again and again."""

    folder: Path
    task: str
    home: Path

    def run(self, provider: Provider) -> list[TrialRecord]:
        """Both, one after the other, into a folder that is gone afterwards: the last record of each."""
        out = self.folder / "run"
        shutil.rmtree(out, ignore_errors=True)
        Prepared(self.folder, self.home, tasks=self.task).run(provider, out)
        return list(RunFolder(out).latest().values())


def pairs(place: Path) -> tuple[Pair, Pair]:
    """One task that an exit code decides, and one that the printed report decides."""
    folder, _ = small.write(place / "bench", tasks=2)
    home = place / "home"
    home.mkdir(exist_ok=True)
    return Pair(folder, "t0", home), Pair(folder, "t1", home)


def wrong(records: list[TrialRecord]) -> list[str]:
    """What must never be, in words: another verdict, somebody else's fault, our own bug."""
    found = []
    for record in records:
        right = small.right_status(record.agent.name)
        nobodys = record.status in NOBODYS and record.end != "harness_error"
        if record.status != right and not nobodys:
            found.append(
                f"{record.trial}: {record.status} ({record.end}) instead of {right}: {record.reason[:300]}"
            )
    return found
