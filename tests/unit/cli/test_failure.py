from __future__ import annotations

import errno
from pathlib import Path

import pytest

from orchestrator.cli.failure import tell
from orchestrator.errors import AuthoringError, Problem, TaskInvalid
from sandboxes.errors import EngineGone


def test_every_problem_of_an_author_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem("b.yaml", 3, "tasks[0].id", "is missing", "add id"), Problem("b.yaml", 9, "x", "odd")]

    code = tell(AuthoringError(problems))

    assert code == 2
    assert capsys.readouterr().err.splitlines() == [
        "proctor: b.yaml:3: tasks[0].id: is missing; add id",
        "proctor: b.yaml:9: x: odd",
    ]


def test_trouble_of_the_machine_says_where_to_look(capsys: pytest.CaptureFixture[str]) -> None:
    code = tell(EngineGone("the engine does not answer"))

    assert code == 3
    assert "the engine does not answer (engine_gone). `proctor doctor`" in capsys.readouterr().err


def test_an_invalid_task_is_its_authors(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(TaskInvalid("its tests pass beforehand")) == 2
    assert "its tests pass beforehand" in capsys.readouterr().err


def test_a_missing_file_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code = tell(FileNotFoundError(errno.ENOENT, "No such file or directory", "answer.txt"))

    assert code == 2
    assert capsys.readouterr().err == "proctor: answer.txt: no such file or directory\n"


def test_a_current_folder_that_is_gone_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()

    code = tell(FileNotFoundError(errno.ENOENT, "No such file or directory"))

    assert code == 2
    assert capsys.readouterr().err == "proctor: the current folder is gone; go to another one\n"


@pytest.mark.parametrize("path", ["there", "there/rooms", "."])
def test_a_home_that_cannot_be_used_is_the_machines_and_says_what_to_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "there"))

    code = tell(PermissionError(errno.EACCES, "Permission denied", str(tmp_path / path)))

    assert code == 3
    assert "set PROCTOR_HOME to a folder you may write" in capsys.readouterr().err


def test_a_full_disk_is_the_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(OSError(errno.ENOSPC, "No space left on device", "records.jsonl")) == 3


def test_a_bug_of_ours_keeps_its_traceback_and_asks_for_a_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        code = tell(error)

    (kept,) = (tmp_path / "crashes").iterdir()
    said = capsys.readouterr().err
    assert code == 4
    assert "Please report it" in said
    assert str(kept) in said
    assert "ZeroDivisionError: oops" in kept.read_text()


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(KeyboardInterrupt()) == 130
    assert "Traceback" not in capsys.readouterr().err
