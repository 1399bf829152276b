"""Tasks are made ready beside the queue: in order, once, and no more after a stop."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from orchestrator.ahead import Ahead
from orchestrator.documents.benchmark import Benchmark, Environment, PathSource, Task
from orchestrator.errors import AuthoringError
from orchestrator.tasks import states
from orchestrator.tools import Tools
from sandboxes.fake import FakeProvider


def tasks(*names: str) -> list[Task]:
    return [Task(id=name) for name in names]


def test_the_second_task_is_made_ready_while_the_trial_of_the_first_runs() -> None:
    ready: list[str] = []
    second = threading.Event()

    def make(task: Task) -> None:
        ready.append(task.id)
        if task.id == "b":
            second.set()

    with Ahead(tasks("a", "b"), make).running():
        came = second.wait(timeout=30)  # this is where the trial runs

    assert came and sorted(ready) == ["a", "b"]


def test_after_a_stop_no_other_task_is_begun() -> None:
    begun: list[str] = []
    ahead = Ahead(tasks(*"abcdefgh"), lambda task: (begun.append(task.id), ahead.stop())[0])

    with ahead.running():
        pass

    assert 0 <= len(begun) <= 2


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a").write_text("1")
    task = Task(id="t", environment=Environment(host=True), source=PathSource(kind="path", path="src"))
    benchmark = Benchmark(id="b", version="1", tasks=(task,), root=tmp_path, file="b.yaml")
    return Tools(benchmark, FakeProvider(), {}, (), lambda ref: None, tmp_path / "home")


def test_a_task_is_prepared_once_whoever_comes_first(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    prepare = states.prepare

    def counted(task: Task, *rest: object, **more: object) -> states.TaskState:
        made.append(task.id)
        return prepare(task, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(states, "prepare", counted)
    task = tools.benchmark.tasks[0]
    threads = [threading.Thread(target=work, args=(task,)) for work in (tools.prepare_ahead, tools.state) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == ["t"]


def test_what_went_wrong_ahead_is_told_once_and_then_tried_again(tools: Tools) -> None:
    task = tools.benchmark.tasks[0]
    (tools.benchmark.root / "src").rename(tools.benchmark.root / "away")

    tools.prepare_ahead(task)
    (tools.benchmark.root / "away").rename(tools.benchmark.root / "src")

    with pytest.raises(AuthoringError, match="cannot read the folder src"):
        tools.state(task)
    assert tools.state(task).base_tree


def test_a_task_without_a_room_needs_nothing(tools: Tools) -> None:
    tools.prepare_ahead(Task(id="t"))

    assert tools.provider.counts == {}  # type: ignore[attr-defined]


def test_what_is_still_being_made_at_the_end_is_abandoned() -> None:
    begun, ended = threading.Event(), threading.Event()

    def make(task: Task) -> None:
        begun.set()
        ended.wait(timeout=30)

    with Ahead(tasks("a"), make).running(ended.set):
        assert begun.wait(timeout=30)

    assert ended.is_set()
