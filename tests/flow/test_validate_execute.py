"""validate --execute over rooms in memory: what each kind of unfit task is called, and what follows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator import schemas
from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.plugins import Group, Plugin, Registry
from sandboxes.errors import ProvisionFailed
from sandboxes.fake import FakeProvider, FakeRoom
from sandboxes.protocol import Done, Output
from sandboxes.spec import Command

FIX = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+right
"""
TASK = {
    "environment": {"host": True},
    "source": {"kind": "path", "path": "repo"},
    "fix_patch": "fix.patch",
    "rubric_ref": "rubric/right@1.0",
}
Call = Callable[..., int]
Script = Callable[[FakeRoom, Command], Done | BaseException | None]


class Rooms:
    """What the fake's rooms answer, and what goes wrong in them; set by a test before it calls."""

    script: Script | None = None
    faults: dict[str, BaseException]

    def __init__(self) -> None:
        self.faults = {}


@pytest.fixture
def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
def proctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rooms: Rooms) -> Iterator[Call]:
    installed = Registry.load()

    def fake(owner: Any, *, allow_unlimited: bool = False) -> FakeProvider:
        return FakeProvider(owner, allow_unlimited=allow_unlimited, faults=rooms.faults, script=rooms.script)

    only_fake = Group([Plugin("sandboxes", "fake", "(test)", lambda: fake)])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: replace(installed, sandboxes=only_fake)))
    monkeypatch.setattr("orchestrator.cli.engine.PREFERRED", ("fake",))
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    yield lambda *words: finish(build(), [str(word) for word in words])


def written(folder: Path, check: dict[str, Any], **tasks: dict[str, Any]) -> Path:
    """A benchmark whose one rubric asks `check`."""
    (folder / "repo").mkdir(parents=True)
    (folder / "rubrics").mkdir()
    rubric = {"id": "right", "version": "1.0", "checks": [check], "scoring": {"combine": "all_pass"}}
    rows = [{"id": name, **TASK, **own} for name, own in tasks.items()]
    document = {"id": "small", "version": "1.0", "tasks": rows}
    (folder / "benchmark.yaml").write_text(json.dumps(document))
    (folder / "rubrics" / "right.yaml").write_text(json.dumps(rubric))
    (folder / "repo" / "answer.txt").write_text("wrong\n")
    (folder / "fix.patch").write_text(FIX)
    return folder


def turns(command: str) -> dict[str, Any]:
    return {"kind": "command", "id": "tests", "command": command, "expect": "test_transitions"}


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(schemas.checker("validation").iter_errors(document)) == []
    return {task["task"]: task for task in document["tasks"]}


def test_a_task_whose_test_turns_is_valid(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word={})

    code = proctor("validate", folder, "--execute", "2", "--json", "-q")

    task = found(capsys)["word"]
    assert (code, task["verdict"], task["why"]) == (0, "valid", [])
    assert [task[state]["words"] for state in ("before", "gold", "noop")] == [
        "fails 2/2",
        "passes 2/2",
        "fails 2/2",
    ]
    assert task["evidence"] == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("true", "passes before the change"),
        ("nothing-of-the-kind", "127"),
        ("false", "gold, the task's own fix, does not pass"),
    ],
)
def test_a_task_that_proves_nothing_is_invalid_with_the_evidence(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, why: str
) -> None:
    folder = written(tmp_path / "b", turns(command), word={})

    code = proctor("validate", folder, "--execute", "2", "--json", "-q")

    task = found(capsys)["word"]
    assert (code, task["verdict"]) == (2, "invalid")
    assert why in task["why"][0]
    assert task["evidence"]


def test_a_rubric_that_doing_nothing_satisfies_makes_its_task_invalid(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", {"kind": "command", "id": "t", "command": "true"}, word={})

    code = proctor("validate", folder, "--execute", "--json", "-q")

    task = found(capsys)["word"]
    assert (code, task["verdict"]) == (2, "invalid")
    assert task["why"] == ["doing nothing passes, so a pass proves nothing"]
    assert task["noop"]["words"] == "fails 0/3"


def test_a_guard_that_fails_on_the_unmodified_state_makes_its_task_invalid(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = {"kind": "score_delta", "id": "d", "tool": "number", "min_delta": 0.5}
    check |= {
        "guard_command": "grep right answer.txt",
        "metadata": {"command": "echo 1", "higher_is_better": True},
    }
    folder = written(tmp_path / "b", check, word={})

    code = proctor("validate", folder, "--execute", "--json", "-q")

    task = found(capsys)["word"]
    assert (code, task["verdict"]) == (2, "invalid")
    assert "a guard fails on the unmodified state" in task["why"][0]


def test_a_command_that_ends_now_so_now_so_is_flickering_and_kept_apart_from_later_runs(
    proctor: Call, tmp_path: Path, rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), steady={}, shaky={})
    calls = itertools.count()

    def script(room: FakeRoom, command: Command) -> Done | None:
        right = room.files.read("/workspace/answer.txt", 100) == b"right\n"
        if room.spec.label.startswith("shaky.") and right and next(calls) % 3 == 1:
            return Done("exited", 1, None, Output(), Output(), 0.1)
        return None

    rooms.script = script

    code = proctor("validate", folder, "--execute", "3", "--json", "-q", "-j", "1", "--write-quarantine")

    tasks = found(capsys)
    assert (code, tasks["steady"]["verdict"], tasks["shaky"]["verdict"]) == (2, "valid", "flickering")
    assert "passed, failed, passed" in tasks["shaky"]["why"][0]
    kept = yaml.safe_load((folder / "quarantine.yaml").read_text())["quarantine"]
    assert [(entry["task"], entry["verdict"]) for entry in kept] == [("shaky", "flickering")]

    rooms.script = None
    code = proctor("run", folder, "--agent", "gold", "--json", "-q")

    run = json.loads(capsys.readouterr().out)
    shaky = next(trial for trial in run["trials"] if trial["task"] == "shaky")
    assert (code, run["counts"]["passed"], run["counts"]["invalid"]) == (0, 1, 1)
    assert (shaky["end"], shaky["score"]) == ("quarantined", None)
    assert shaky["reason"].startswith("quarantined: flickering: ")

    code = proctor("validate", folder, "--execute", "--write-quarantine", "-q")

    assert code == 0
    assert not (folder / "quarantine.yaml").exists()


def test_a_machine_that_fails_makes_no_task_invalid(
    proctor: Call, tmp_path: Path, rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word={})
    rooms.faults["provision"] = ProvisionFailed("no more rooms")

    code = proctor("validate", folder, "--execute", "1", "--json", "-q", "--write-quarantine")

    assert (code, found(capsys)["word"]["verdict"]) == (3, "unknown")
    assert not (folder / "quarantine.yaml").exists()


def test_a_run_that_came_near_its_time_limit_makes_its_task_slow(
    proctor: Call, tmp_path: Path, rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = {"limits": {"oracle_time": "10s"}}
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word=limits)

    def script(room: FakeRoom, command: Command) -> Done:
        right = room.files.read("/workspace/answer.txt", 100) == b"right\n"
        return Done("exited", int(not right), None, Output(), Output(), 6.0)

    rooms.script = script

    code = proctor("validate", folder, "--execute", "1", "--json", "-q")

    task = found(capsys)["word"]
    assert (code, task["verdict"]) == (2, "slow")
    assert task["why"] == ["a run took 6 s of the 10 s it may take"]
    assert task["proposed"] == {"memory": None, "oracle_time": "30s"}


def test_a_patch_that_does_not_apply_is_found_without_a_room(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word={})
    (folder / "repo" / "answer.txt").write_text("something else\n")

    code = proctor("validate", folder)

    assert code == 2
    assert "does not apply" in capsys.readouterr().err


def test_options_of_execution_alone_are_refused(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word={})

    assert proctor("validate", folder, "--write-quarantine") == 2
    assert "only with --execute" in capsys.readouterr().err


def test_the_quarantine_names_tasks_there_are(
    proctor: Call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(tmp_path / "b", turns("grep right answer.txt"), word={})
    (folder / "quarantine.yaml").write_text(
        "quarantine:\n  - {task: world, verdict: invalid, why: gold fails}\n"
    )

    code = proctor("validate", folder)

    assert code == 2
    assert 'has no task "world"; did you mean "word"?' in capsys.readouterr().err
