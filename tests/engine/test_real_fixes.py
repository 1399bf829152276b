"""Real faults of published packages on real engines: the fix passes, nothing passes without it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.loading import load_benchmark

FOLDER = Path(__file__).parents[2] / "benchmarks" / "real_fixes"
ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetched once for both engines."""
    return tmp_path_factory.mktemp("home")


@pytest.mark.network
@pytest.mark.parametrize("engine", ENGINES)
def test_gold_passes_and_noop_fails_for_the_listed_tests_three_times_in_a_row(
    engine: str, home: Path, tmp_path: Path
) -> None:
    listed = {task.id: task.expected["fail_to_pass"] for task in load_benchmark(FOLDER).tasks}
    for round_ in ("one", "two", "three"):
        shutil.rmtree(home / "befores", ignore_errors=True)  # nothing is remembered of the round before

        trials = _run(engine, home, tmp_path / round_)

        status = {(t["task"], t["agent"]): t["status"] for t in trials}
        assert status == {(task, agent): want for task in listed for agent, want in WANTED.items()}
        for trial in trials:
            if trial["agent"] == "noop":
                count = len(listed[trial["task"]])
                assert sum(map(int, re.findall(r"(\d+) (?:failed|error) \(", trial["reason"]))) == count, (
                    trial
                )


WANTED = {"gold": "passed", "noop": "failed"}


def _run(engine: str, home: Path, out: Path) -> list[dict[str, Any]]:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "run", str(FOLDER), "--sandbox", engine]
    command += ["--agent", "gold", "--agent", "noop", "-j", "2", "--json", "--out", str(out)]
    env = {**os.environ, "PROCTOR_HOME": str(home)}
    done = subprocess.run(command, capture_output=True, env=env, timeout=3600)
    assert done.returncode == 1, done.stderr.decode()[-2000:]
    trials: list[dict[str, Any]] = json.loads(done.stdout)["trials"]
    return trials
