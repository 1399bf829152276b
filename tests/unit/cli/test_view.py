"""proctor view: starts, says where, ends when it is told to."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.store import RunFolder
from tests.pages.made import make_run


def proctor(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


def test_a_folder_that_is_not_there_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proctor("view", tmp_path / "nothing") == 2
    assert "there is no such folder of runs" in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code = proctor("view", tmp_path, "--port", port)

    assert code == 2
    assert f"nothing can listen at 127.0.0.1 port {port}: Address already in use" in capsys.readouterr().err


def test_it_ends_in_silence_while_a_page_follows_a_run(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "one", 2, ["gold"])
    run_id = RunFolder(tmp_path / "runs" / "one").header.run_id
    call = "from orchestrator.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-uc", call, "view", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as viewer:
        assert viewer.stdout is not None and viewer.stderr is not None
        address = viewer.stdout.readline().strip()
        with httpx.stream("GET", f"{address}runs/{run_id}/events", timeout=60) as followed:
            told = followed.iter_text()
            assert next(told).startswith("retry:")
            viewer.send_signal(signal.SIGINT)
            assert list(told) == []
        said = viewer.stderr.read()

    assert said == "proctor: showing runs; Ctrl-C ends it\n"


@pytest.mark.parametrize("given", ["runs", "runs/one"])
def test_it_serves_until_it_is_interrupted_and_leaves_the_runs_alone(given: str, tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "one", 2, ["gold"])
    before = sorted(p for p in (tmp_path / "runs" / "one").rglob("*"))
    command = [
        sys.executable,
        "-c",
        "from orchestrator.cli import main; main()",
        "view",
        given,
        "--port",
        "0",
    ]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as viewer:
        assert viewer.stdout is not None
        address = viewer.stdout.readline().strip()

        answer = httpx.get(address, timeout=60)
        viewer.send_signal(signal.SIGINT)
        code = viewer.wait(timeout=60)

    assert answer.status_code == 200
    assert "real_fixes" in answer.text
    run_id = RunFolder(tmp_path / "runs" / "one").header.run_id
    assert address.endswith(f"/runs/{run_id}" if given == "runs/one" else "/")
    assert code in (0, 130)
    assert sorted(p for p in (tmp_path / "runs" / "one").rglob("*")) == before
