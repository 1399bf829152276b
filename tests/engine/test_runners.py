"""Test runners from the package registries, live in rooms of both engines, through test_transitions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.loading import load_benchmark

FOLDER = Path(__file__).parents[1] / "data" / "runners"
CHEATS = f"predictions:{FOLDER / 'cheats.jsonl'}"
ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetched once for both engines."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.network
@pytest.mark.parametrize("engine", ENGINES)
def test_the_right_fix_passes_with_every_runner_and_nothing_else_does(
    engine: str, home: Path, tmp_path: Path
) -> None:
    tasks = [task.id for task in load_benchmark(FOLDER).tasks]

    trials = _run(engine, home, tmp_path / "run")

    status = {(t["task"], t["agent"]): t["status"] for t in trials}
    wanted = {"gold": "passed", "noop": "failed", CHEATS: "failed"}
    assert status == {(task, agent): word for task in tasks for agent, word in wanted.items()}, trials


def test_every_runner_has_a_change_that_must_not_pass() -> None:
    rows = [json.loads(line) for line in (FOLDER / "cheats.jsonl").read_text().splitlines()]

    assert {row["instance_id"] for row in rows} == {task.id for task in load_benchmark(FOLDER).tasks}


def _run(engine: str, home: Path, out: Path) -> list[dict[str, Any]]:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "run", str(FOLDER), "--sandbox", engine, "-q", "--json"]
    command += ["--agent", "gold", "--agent", "noop", "--agent", CHEATS, "-j", "2", "--out", str(out)]
    done = subprocess.run(
        command, capture_output=True, env={**os.environ, "PROCTOR_HOME": str(home)}, timeout=3600
    )
    assert done.returncode == 1, done.stderr.decode()[-2000:]
    trials: list[dict[str, Any]] = json.loads(done.stdout)["trials"]
    return trials
