"""Tasks drafted from real states in real rooms, and the commands of docs/writing-tasks.md."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.loading import load_benchmark

DOC = Path(__file__).parents[2] / "docs" / "writing-tasks.md"
ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
PROGRAM = f"#!{sys.executable}\nfrom orchestrator.cli import main\nmain()\n"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A home of its own, and `proctor` on PATH."""
    program = tmp_path / "bin" / "proctor"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PROCTOR_HOME": str(tmp_path / "home")}


def shell(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    command = ["bash", "-e", "-c", script]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=600)


def blocks(mark: str) -> list[str]:
    """The document's commands under one mark."""
    return re.findall(rf"^```{mark}\n(.*?)^```$", DOC.read_text(), re.MULTILINE | re.DOTALL)


REPOSITORY = """
git init -q shop; cd shop; git config user.name me; git config user.email me@example.org
mkdir till tests; touch till/__init__.py tests/__init__.py
printf 'def total(prices):\\n    return {}\\n' > till/sums.py
cat > tests/test_sums.py <<'END'
import unittest
from till.sums import total

class Total(unittest.TestCase):
    def test_of_nothing(self):
        self.assertEqual(total([]), 0)

    def test_of_two(self):
        self.assertEqual(total([1, 2]), 3)
END
git add -A; git commit -q -m one; git tag v1.0
printf 'def total(prices):\\n    return {}\\n' > till/sums.py
git add -A; git commit -q -m two; git tag v1.1
"""


@pytest.mark.oci
def test_the_commands_of_writing_tasks_work_as_written(tmp_path: Path, env: dict[str, str]) -> None:
    (first, drafted) = blocks("sh")

    done = shell(first + drafted, tmp_path / "here", env)

    assert done.returncode == 0, done.stderr
    assert "my_benchmark 1.0: 1 task, 3 rounds: 1 valid" in done.stdout
    assert "till_task 1.0: 1 task, 2 rounds: 1 valid" in done.stdout


@pytest.mark.parametrize("engine", ENGINES)
def test_two_commits_become_a_task_with_its_lists(engine: str, tmp_path: Path, env: dict[str, str]) -> None:
    made = REPOSITORY.format("sum(prices[1:])", "sum(prices)")

    done = shell(
        f"{made}\ncd ..; proctor init out --from git:shop#v1.1..v1.0 --sandbox {engine}", tmp_path / "w", env
    )

    assert done.returncode == 0, done.stderr
    (task,) = load_benchmark(tmp_path / "w" / "out").tasks
    assert task.expected == {
        "fail_to_pass": ["tests.test_sums.Total.test_of_two"],
        "pass_to_pass": ["tests.test_sums.Total.test_of_nothing"],
    }
    assert b"tests/" not in (tmp_path / "w" / "out" / "fix.patch").read_bytes()


@pytest.mark.oci
def test_when_no_test_tells_the_states_apart_nothing_is_written(tmp_path: Path, env: dict[str, str]) -> None:
    made = REPOSITORY.format("sum(prices)", "sum(list(prices))")

    done = shell(f"{made}\ncd ..; proctor init out --from git:shop#v1.1..v1.0", tmp_path / "w", env)

    assert done.returncode == 2
    assert "none of its 2 tests fails on shop at v1.0" in done.stderr
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["shop"]


@pytest.mark.network
@pytest.mark.oci
def test_releases_of_the_registries_become_tasks_in_a_minute_or_so(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (script,) = blocks("sh network")
    for line in script.splitlines():
        began = time.monotonic()

        done = shell(line, tmp_path / "here", env)

        assert done.returncode == 0, done.stderr
        assert time.monotonic() - began < 120  # 60 on a machine that does nothing else
    (task,) = load_benchmark(tmp_path / "here" / "cjson-task").tasks
    assert task.expected["fail_to_pass"] == ["misc_tests.c::cjson_parse_big_numbers_should_not_report_error"]
    assert len(task.expected["pass_to_pass"]) == 25
    (task,) = load_benchmark(tmp_path / "here" / "bleach-task").tasks
    assert "tests/test_linkify.py::test_link_with_qs_with_array" in task.expected["fail_to_pass"]
    assert len(task.expected["fail_to_pass"]) == 4
