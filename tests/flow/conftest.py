"""A small benchmark of real documents, and real trials of it over rooms in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tenacity import wait_none

from orchestrator import graders, inputs, plan, run, trial
from orchestrator.agents import make_all
from orchestrator.befores import BeforeCache
from orchestrator.documents.record import TrialRecord
from orchestrator.loading import load_benchmark, load_config
from orchestrator.plugins import Registry
from orchestrator.rubrics import RubricStore
from orchestrator.store import RunFolder, RunHeader, Store
from orchestrator.summary import RunSummary
from orchestrator.tools import Tools
from sandboxes.fake import FakeProvider

MENDING = {
    "environment": {"host": True},
    "source": {"kind": "path", "path": "repo"},
    "fix_patch": "fix.patch",
    "rubric_ref": "rubric/right@1.0",
}
"""A task whose one file says "wrong" and ought to say "right"."""
QUESTION = {"rubric_ref": "rubric/said@1.0", "graders": ["rubric_checks"]}
"""A task without an environment; the response ought to say "right"."""
RUBRIC = """id: right
version: "1.0"
checks:
  - {kind: command, id: says_right, command: grep right answer.txt, expect: test_transitions}
scoring: {combine: all_pass}
"""
TEXT_RUBRIC = """id: said
version: "1.0"
checks:
  - {kind: must_contain_any, id: says_right, values: [right]}
scoring: {combine: all_pass}
"""
FIX = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+right
"""


@dataclass
class Bench:
    """One benchmark folder, run again and again into one run folder."""

    folder: Path
    out: Path
    home: Path
    provider: FakeProvider = field(default_factory=FakeProvider)

    def run(self, *agents: str, **options: Any) -> RunSummary:
        benchmark = load_benchmark(self.folder)
        registry = Registry.load()
        made = make_all(agents, registry.agents, benchmark)
        rubrics = RubricStore.load([self.folder / "rubrics"])
        decisive = inputs.of(benchmark, made, rubrics.resolve, version="1")
        planned = plan.make(benchmark, agents, options.pop("repeats", 1), inputs=decisive)
        config = load_config(self.folder)
        judges = graders.make_all(benchmark, registry.graders, config)
        tools = Tools(
            benchmark=benchmark,
            provider=self.provider,
            agents=made,
            executors=registry.executors,
            rubrics=rubrics.resolve,
            home=self.home,
            befores=BeforeCache(self.home / "befores"),
            graders=judges,
        )
        opened = Store.resume if (self.out / "run.json").exists() else Store.create
        with opened(RunHeader.begin(benchmark.id, planned.to_json()), self.out) as store:
            return run.execute(
                planned,
                attempt=lambda job, note: trial.run(job, note, tools),
                benchmark=benchmark,
                provider=self.provider,
                store=store,
                wait=options.pop("wait", wait_none()),
                on_stop=[g.abandon for g in judges.values() if hasattr(g, "abandon")],
                **options,
            )

    @property
    def records(self) -> list[TrialRecord]:
        return list(RunFolder(self.out).records())

    def latest(self) -> dict[str, TrialRecord]:
        """By task and agent, of the first repeat."""
        found = RunFolder(self.out).latest().values()
        return {f"{r.task} {r.agent.name.partition(':')[0]}": r for r in found if r.repeat == 1}


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    def build(*mending: str | dict[str, Any], questions: tuple[str, ...] = ()) -> Bench:
        """Tasks that mend a file, by id or with fields of their own, and questions, by id."""
        folder = tmp_path / "small"
        (folder / "repo").mkdir(parents=True)
        (folder / "rubrics").mkdir()
        tasks: list[dict[str, Any]] = [
            {**MENDING, **({"id": task} if isinstance(task, str) else task)} for task in mending
        ]
        tasks += [{"id": task, **QUESTION} for task in questions]
        document = {"id": "small", "version": "1.0", "tasks": tasks}
        (folder / "benchmark.yaml").write_text(json.dumps(document))
        (folder / "rubrics" / "right.yaml").write_text(RUBRIC)
        (folder / "rubrics" / "said.yaml").write_text(TEXT_RUBRIC)
        (folder / "repo" / "answer.txt").write_text("wrong\n")
        (folder / "fix.patch").write_text(FIX)
        return Bench(folder, tmp_path / "run", tmp_path / "home")

    return build
