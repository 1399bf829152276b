"""What was fetched and installed is kept once for all trials of a state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import Benchmark, DebianRecipe, Environment, PathSource, Task
from orchestrator.documents.record import AgentRecord
from orchestrator.notebook import Notebook
from orchestrator.tools import Tools
from sandboxes.fake import FakeProvider
from sandboxes.images import debian

DIGEST = "d" * 64
FACTS = {"pip:demo-1.0-py3-none-any.whl": "sha256:1", "pip_fetched": "in a room of oci"}


def note(run_folder: Path, trial: str) -> Notebook:
    folder = run_folder / "trials" / trial / "1"
    return Notebook(trial, 1, {}, AgentRecord(name="gold"), folder=folder, run_folder=run_folder)


def test_two_trials_of_a_state_share_one_file_and_ask_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def facts() -> Mapping[str, str]:
        asked.append("now")
        return FACTS

    one, two = note(tmp_path, "a"), note(tmp_path, "b")
    one.keep_materials(DIGEST, facts)
    two.keep_materials(DIGEST, facts)

    (file,) = (tmp_path / "materials").iterdir()
    assert json.loads(file.read_text()) == FACTS
    assert one.artifacts == two.artifacts == {"materials.json": f"materials/{file.name}"}
    assert asked == ["now"]


def test_where_nothing_was_fetched_nothing_is_kept(tmp_path: Path) -> None:
    made = note(tmp_path, "a")

    made.keep_materials(DIGEST, None)
    made.keep_materials(DIGEST, dict)

    assert made.artifacts == {} and not (tmp_path / "materials").exists()


def test_a_recipes_packages_are_among_the_materials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    recipe = DebianRecipe(suite="bookworm", packages=("tini=1",))
    task = Task(id="t", environment=Environment(debian=recipe), source=PathSource(kind="path", path="src"))
    benchmark = Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml")
    tools = Tools(benchmark, FakeProvider(), {}, (), lambda ref: None, tmp_path / "home")
    monkeypatch.setattr(debian, "installed", lambda suite, packages: {"tini": "1"})

    told = tools.materials(tools.state(task))

    assert told is not None and told() == {"debian:tini": "1"}
