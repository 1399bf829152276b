"""The benchmarks that come along: they load, their patches apply, and init makes one that is valid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from orchestrator.cli import given, init, validate
from orchestrator.cli.demo import BENCHMARK, WRONG_FIX
from orchestrator.cli.given import shipped
from orchestrator.documents.benchmark import Task
from orchestrator.errors import AuthoringError
from orchestrator.tasks.states import TaskState, graded, prepare
from orchestrator.worktree.change import Change

QUICKSTART = shipped() / BENCHMARK


def tasks() -> Iterable[Task]:
    return given.load(QUICKSTART).benchmark.tasks


def state(task: Task, home: Path) -> TaskState:
    return prepare(task, given.load(QUICKSTART).benchmark, home)


@pytest.mark.parametrize("name", ["quickstart", "starter", "questions_demo"])
def test_a_shipped_benchmark_is_valid_without_a_warning(name: str) -> None:
    findings = validate.look([shipped() / name], [], None)

    assert (findings.errors, findings.warnings) == ((), ())


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.id)
def test_gold_and_wrong_fix_apply_and_touch_nothing_protected(task: Task, tmp_path: Path) -> None:
    lines = (QUICKSTART / WRONG_FIX).read_text(encoding="utf-8").splitlines()
    wrong = {line["instance_id"]: line["model_patch"].encode() for line in map(json.loads, lines)}
    prepared = state(task, tmp_path)
    assert prepared.gold is not None

    trees = {graded(prepared, Change.read(patch)).tree for patch in (prepared.gold, wrong[task.id])}
    touched = [
        graded(prepared, Change.read(patch)).touched_protected for patch in (prepared.gold, wrong[task.id])
    ]

    assert len(trees | {prepared.judge_tree}) == 3
    assert touched == [(), ()]


def test_hidden_files_are_not_in_the_candidates_state(tmp_path: Path) -> None:
    for task in tasks():
        prepared = state(task, tmp_path)
        names = {entry.path.decode() for entry in prepared.store.entries(prepared.base_tree)}
        assert not names & set(task.hidden_files)


def test_init_makes_a_benchmark_named_after_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "My Tests-2"

    init.write(folder)

    assert given.load(folder).benchmark.id == "my_tests_2"
    assert validate.look([folder], [], None).errors == ()


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    with pytest.raises(AuthoringError, match="not empty"):
        init.write(tmp_path)


def test_a_shipped_benchmark_is_found_by_name_unless_a_path_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert given.find(Path("quickstart")) == QUICKSTART
    (tmp_path / "quickstart").mkdir()
    assert given.find(Path("quickstart")) == Path("quickstart")
