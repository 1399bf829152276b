"""Tasks examined in real rooms: a test that answers by chance is found and named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
TESTS = """import secrets
import unittest
from answer import ANSWER


class Answers(unittest.TestCase):
    def test_right(self):
        self.assertEqual(ANSWER, "right")

    def test_by_chance(self):
        self.assertTrue(secrets.randbelow(4))

    def test_steady(self):
        self.assertTrue(ANSWER)
"""
RUBRIC = {
    "id": "turn",
    "version": "1.0",
    "checks": [
        {
            "kind": "command",
            "id": "tests",
            "command": "python3 -B -m unittest test_answer",
            "expect": "test_transitions",
        }
    ],
    "scoring": {"combine": "all_pass"},
}
FIX = """--- a/answer.py
+++ b/answer.py
@@ -1 +1 @@
-ANSWER = "wrong"
+ANSWER = "right"
"""
TURNS = "test_answer.Answers.test_right"
CHANCE = "test_answer.Answers.test_by_chance"
STEADY = "test_answer.Answers.test_steady"


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Two tasks on one repository: only one of them lists the test that answers by chance."""
    folder = tmp_path / "b"
    (folder / "repo").mkdir(parents=True)
    (folder / "rubrics").mkdir()
    (folder / "repo" / "answer.py").write_text('ANSWER = "wrong"\n')
    (folder / "repo" / "test_answer.py").write_text(TESTS)
    (folder / "fix.patch").write_text(FIX)
    (folder / "rubrics" / "turn.json").write_text(json.dumps(RUBRIC))
    task = {
        "environment": {"host": True},
        "source": {"kind": "path", "path": "repo"},
        "fix_patch": "fix.patch",
        "rubric_ref": "rubric/turn@1.0",
    }
    listed = {"shaky": [CHANCE], "steady": [STEADY]}
    tasks = [
        {"id": name, **task, "expected": {"fail_to_pass": [TURNS], "pass_to_pass": staying}}
        for name, staying in listed.items()
    ]
    (folder / "benchmark.yaml").write_text(json.dumps({"id": "b", "version": "1.0", "tasks": tasks}))
    return folder


@pytest.mark.parametrize("engine", ENGINES)
def test_a_listed_test_that_answers_by_chance_is_named(engine: str, benchmark: Path, tmp_path: Path) -> None:
    # one in four goes wrong: that twelve rounds show it on neither side has a chance of 1 in 10,000
    found = _validated(benchmark, "12", engine, tmp_path)

    assert (found["shaky"]["verdict"], found["steady"]["verdict"]) == ("flickering", "valid")
    assert CHANCE in {f["test"] for f in found["shaky"]["flicker"] if f["listed"]}
    assert any(CHANCE in why for why in found["shaky"]["why"])
    assert [f["listed"] for f in found["steady"]["flicker"]] == [False] * len(found["steady"]["flicker"])
    assert found["steady"]["headroom"]["peak_memory"] > 1 << 20
    assert found["steady"]["proposed"]["memory"] == "64M"


def _validated(benchmark: Path, rounds: str, engine: str, folder: Path) -> dict[str, Any]:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "validate", str(benchmark), "--execute", rounds]
    env = {**os.environ, "PROCTOR_HOME": str(folder / "home")}
    done = subprocess.run(
        [*command, "--sandbox", engine, "--json", "-q"],
        capture_output=True,
        cwd=folder,
        env=env,
        timeout=300,
    )
    assert done.returncode == 2, done.stderr.decode()[-2000:]
    return {task["task"]: task for task in json.loads(done.stdout)["tasks"]}
