"""The ways in which real suites go wrong, played by projects of two files: no network is needed for these.

tests/engine/test_nasty_cases.py has the same with the published packages themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENGINES = [pytest.param("oci", marks=pytest.mark.oci), pytest.param("docker", marks=pytest.mark.docker)]
TESTS = """\
import unittest
from shop import till

class Till(unittest.TestCase):
    def test_first(self):
        self.assertEqual(till.total([]), 0)

    def test_last(self):
        self.assertEqual(till.total([1, 2]), 3)
"""
MENDED = "def total(prices):\n    return sum(prices)\n"
HANGS = "def total(prices):\n    while prices:\n        pass\n    return 0\n"
CRASHES = "import os, signal\n\n\ndef total(prices):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
LACKS = "def sum_of(prices):\n    return sum(prices)\n"
IMPORTING = TESTS.replace("from shop import till", "from shop import till\nfrom shop.till import total")
UNSTABLE = (
    TESTS + "\n\nsetattr(Till, f'test_of_{object()!r}', lambda self: self.assertEqual(till.total([1]), 1))\n"
)
BY_ORDER = """\
import random
import unittest

from shop import till
from tests import state

class Till(unittest.TestCase):
    def test_first(self):
        self.assertEqual(till.total([2]), 2)

    def test_second(self):
        self.assertTrue(state.seen())
"""
STATE = "import random\n\n\ndef seen():\n    return random.random() < 0.5\n"
FIRST, LAST = (f"tests.test_till.Till.test_{name}" for name in ("first", "last"))

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(engine, faulty source, tests, expected, ...) -> both trials by agent, or what validation finds."""

    def one(
        engine: str,
        faulty: str,
        tests: str,
        expected: dict[str, Any],
        *,
        seconds: int = 60,
        rounds: int = 0,
        more: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        _write(tmp_path, faulty, {"tests/test_till.py": tests, **(more or {})}, expected, seconds)
        words = ["validate", "bench", "--execute", str(rounds)]
        if not rounds:
            words = ["run", "bench", "--agent", "gold", "--agent", "noop"]
        answer, pid = _proctor([*words, "--sandbox", engine], tmp_path)
        assert not list((tmp_path / "home" / "rooms").glob(f"{pid}-*"))
        return answer if rounds else {trial["agent"]: trial for trial in answer["trials"]}

    return one


def _write(place: Path, faulty: str, tests: dict[str, str], expected: dict[str, Any], seconds: int) -> None:
    """A benchmark of one task, whose fix replaces all of shop/till.py. JSON is YAML."""
    files = {"shop/__init__.py": "", "shop/till.py": faulty, "tests/__init__.py": "", **tests}
    for path, text in files.items():
        file = place / "bench" / "repo" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    task = {
        "id": "t",
        "environment": {"host": True},
        "source": {"kind": "path", "path": "repo"},
        "fix_patch": "fix.patch",
        "rubric_ref": "rubric/turns@1.0",
        "limits": {"oracle_time": f"{seconds}s"},
        "expected": expected,
    }
    command = "python3 -B -m unittest discover -s tests -t ."
    check = {"kind": "command", "id": "tests", "expect": "test_transitions", "command": command}
    rubric = {"id": "turns", "version": "1.0", "checks": [check], "scoring": {"combine": "all_pass"}}
    (place / "bench" / "rubrics").mkdir()
    (place / "bench" / "benchmark.yaml").write_text(
        json.dumps({"id": "b", "version": "1.0", "tasks": [task]})
    )
    (place / "bench" / "rubrics" / "turns.yaml").write_text(json.dumps(rubric))
    (place / "bench" / "fix.patch").write_text(_patch(faulty, MENDED))


def _patch(old: str, new: str) -> str:
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    head = f"@@ -1,{len(old.splitlines())} +1,{len(new.splitlines())} @@"
    return "\n".join(["--- a/shop/till.py", "+++ b/shop/till.py", head, *lines, ""])


def _proctor(words: list[str], place: Path) -> tuple[dict[str, Any], int]:
    program = "from orchestrator.cli import main; raise SystemExit(main())"
    env = {**os.environ, "PROCTOR_HOME": str(place / "home")}
    command = [sys.executable, "-c", program, *words, "-q", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=env, cwd=place) as child:
        out, err = child.communicate(timeout=900)
    assert out, err.decode()[-2000:]
    answer: dict[str, Any] = json.loads(out)
    return answer, child.pid


@pytest.mark.parametrize("engine", ENGINES)
def test_a_faulty_state_that_hangs_hits_its_limit_and_leaves_nothing(run: Run, engine: str) -> None:
    expected = {"fail_to_pass": [LAST], "missing_before_ok": True}

    trials = run(engine, HANGS, TESTS, expected, seconds=8)

    assert trials["gold"]["status"] == "passed", trials
    assert trials["noop"]["status"] == "failed", trials
    assert "hit its time limit" in trials["noop"]["reason"]


@pytest.mark.oci
def test_tests_that_vanish_with_their_module_are_missing_and_never_passed(run: Run) -> None:
    trials = run("oci", LACKS, IMPORTING, {"fail_to_pass": [FIRST, LAST], "missing_before_ok": True})

    assert trials["gold"]["status"] == "passed", trials
    assert trials["noop"]["status"] == "failed", trials
    assert "2 missing" in trials["noop"]["reason"]


@pytest.mark.oci
def test_without_leave_a_module_that_cannot_be_imported_is_a_task_to_mend(run: Run) -> None:
    trials = run("oci", LACKS, IMPORTING, {"fail_to_pass": [FIRST, LAST]})

    assert {trial["status"] for trial in trials.values()} == {"invalid"}


@pytest.mark.oci
def test_a_crash_before_any_line_is_a_crash_and_no_empty_success(run: Run) -> None:
    trials = run("oci", CRASHES, TESTS, {"fail_to_pass": [FIRST, LAST], "missing_before_ok": True})

    assert trials["gold"]["status"] == "passed", trials
    assert trials["noop"]["status"] == "failed", trials
    assert "SIGSEGV" in trials["noop"]["reason"]


@pytest.mark.oci
def test_an_id_that_changes_with_each_run_is_refused_by_validation(run: Run) -> None:
    phantom = "tests.test_till.Till.test_of_<object object at 0x7efc7e66fc90>"

    found = run("oci", LACKS, UNSTABLE, {"fail_to_pass": [phantom]}, rounds=2)

    (task,) = found["tasks"]
    assert task["verdict"] == "invalid"
    assert "missing" in json.dumps(task["why"])


@pytest.mark.oci
def test_a_test_that_hangs_on_chance_or_order_is_named_by_validation(run: Run) -> None:
    faulty = "def total(prices):\n    return 0\n"
    names = [f"tests.test_till.Till.test_{name}" for name in ("first", "second")]
    expected = {"fail_to_pass": names[:1], "pass_to_pass": names[1:]}

    found = run("oci", faulty, BY_ORDER, expected, rounds=8, more={"tests/state.py": STATE})

    (task,) = found["tasks"]
    assert task["verdict"] in ("flickering", "invalid")
    assert names[1] in json.dumps(task["flicker"])
