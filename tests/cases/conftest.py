"""One task from documents to its record, over rooms in memory or real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
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
from sandboxes.fake import FakeProvider
from sandboxes.oci import OciProvider
from sandboxes.protocol import Provider
from sandboxes.spec import Owner

Graded = Callable[..., TrialRecord]


def edit(path: str, old: str, new: str) -> str:
    """A patch that replaces a whole file of short lines; an empty `old` makes the file."""
    took, gave = old.splitlines(), new.splitlines()
    made = "new file mode 100644\n--- /dev/null\n" if not old else f"--- a/{path}\n"
    span = f"@@ -{1 if took else 0},{len(took)} +1,{len(gave)} @@\n"
    body = "".join(f"-{line}\n" for line in took) + "".join(f"+{line}\n" for line in gave)
    return f"diff --git a/{path} b/{path}\n{made}+++ b/{path}\n{span}{body}"


@pytest.fixture
def graded(tmp_path: Path) -> Graded:
    """graded(files, *checks, patch="..." | agent="command:...", provider=None, **task fields)."""

    def grade(
        files: Mapping[str, str],
        *checks: Mapping[str, Any],
        patch: str | None = None,
        agent: str = "",
        provider: Provider | None = None,
        **fields: Any,
    ) -> TrialRecord:
        folder = _written(tmp_path / "bench", files, checks, fields)
        if patch is not None:
            line = json.dumps({"instance_id": "t", "model_patch": patch})
            (folder / "answers.jsonl").write_text(line)
        spec = agent or f"predictions:{folder}/answers.jsonl"
        (record,) = _latest(folder, tmp_path / "run", spec, provider or FakeProvider())
        return record

    return grade


@pytest.fixture(params=[pytest.param("oci", marks=pytest.mark.oci)])
def rooms() -> Iterator[Provider]:
    """Rooms that are real."""
    made = OciProvider(Owner.current("cases"))
    if problem := made.capabilities().problem:
        pytest.fail(problem)
    yield made
    made.close()


def _written(
    folder: Path, files: Mapping[str, str], checks: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
) -> Path:
    task = {
        "id": "t",
        "environment": {"host": True},
        "source": {"kind": "path", "path": "repo"},
        "rubric_ref": "rubric/r@1.0",
        **fields,
    }
    rubric = {"id": "r", "version": "1.0", "checks": list(checks), "scoring": {"combine": "all_pass"}}
    documents = {
        "benchmark.yaml": json.dumps({"id": "cases", "version": "1.0", "tasks": [task]}),
        "rubrics/r.json": json.dumps(rubric),
    }
    for name, text in {**documents, **{f"repo/{path}": text for path, text in files.items()}}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _latest(folder: Path, out: Path, spec: str, provider: Provider) -> list[TrialRecord]:
    benchmark = load_benchmark(folder)
    registry = Registry.load()
    agents = make_all((spec,), registry.agents, benchmark)
    rubrics = RubricStore.load([folder / "rubrics"])
    decisive = inputs.of(benchmark, agents, rubrics.resolve, version="1")
    planned = plan.make(benchmark, (spec,), 1, inputs=decisive)
    tools = Tools(
        benchmark=benchmark,
        provider=provider,
        agents=agents,
        executors=registry.executors,
        rubrics=rubrics.resolve,
        home=out.with_name("home"),
        befores=BeforeCache(out.with_name("befores")),
    )
    with Store.create(RunHeader.begin(benchmark.id, planned.to_json()), out) as store:
        run.execute(
            planned,
            attempt=lambda job, note: trial.run(job, note, tools),
            benchmark=benchmark,
            provider=provider,
            store=store,
            wait=wait_none(),
        )
    return list(RunFolder(out).latest().values())
