"""Reports in real rooms of the machine's own tools: a right fix passes, others do not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import Context
from orchestrator.evidence import RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import MIB, Entry, Image, Limits, RoomSpec
from tests import engines


@pytest.fixture(scope="module", params=engines.REAL)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with engines.opened(request.param) as made:
        yield made


@pytest.fixture
def grade(provider: Provider, tmp_path: Path) -> Callable[..., CheckOutcome]:
    """grade(check, base files, changed files, expected) -> what the check says of the change."""

    def run(
        check: Mapping[str, Any],
        base: Mapping[str, str],
        changed: Mapping[str, str],
        expected: Mapping[str, Any],
    ) -> CheckOutcome:
        program = str(check["command"]).split()[0]
        if shutil.which(program) is None and not os.environ.get("CI"):
            pytest.skip(f"{program} is not installed")
        store = TreeStore(tmp_path / "trees")
        before, after = (
            store.add(Entry(p.encode(), 0o100644, t.encode()) for p, t in files.items())
            for files in (base, {**base, **changed})
        )
        limits = Limits(memory=512 * MIB, disk=64 * MIB, time=60)
        judge = RoomJudge(
            provider=provider,
            room=RoomSpec(image=Image("host"), limits=limits),
            trees=store,
            judge_tree=before,
            graded_tree=after,
            expected=expected,
        )
        return CommandExecutor().execute(check, "", Context(judge=judge))

    return run


NODE = {"kind": "command", "id": "t", "command": "node --test", "expect": "test_transitions"}
NODE_FILES = {
    "f.js": "module.exports = () => 1;\n",
    "f.test.js": (
        'const { test } = require("node:test");\nconst assert = require("node:assert");\n'
        'const f = require("./f");\n'
        'test("turns", () => assert.equal(f(), 2));\ntest("stays", () => {});\n'
    ),
}
NODE_LISTS = {"fail_to_pass": ["f.test.js > turns"], "pass_to_pass": ["f.test.js > stays"]}
NODE_CHEATS = {
    "exits early": "process.exit(0);\n",
    "prints green TAP and exits": (
        'console.log("TAP version 13\\nok 1 - turns\\nok 2 - stays\\n1..2");\nprocess.exit(0);\n'
    ),
    "kills the runner": 'module.exports = () => { process.kill(process.ppid, "SIGKILL"); };\n',
    "prints a second result of that name": (
        'module.exports = () => { console.log("# Subtest: turns\\nok 1 - turns"); return 1; };\n'
    ),
}


def test_nodes_titles_turn_with_the_right_fix(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade(NODE, NODE_FILES, {"f.js": "module.exports = () => 2;\n"}, NODE_LISTS)

    assert outcome.passed, outcome.reason
    assert outcome.details["report"]["tool"].startswith("node ")


@pytest.mark.parametrize("cheat", NODE_CHEATS)
def test_a_node_run_that_was_cut_short_or_imitated_does_not_pass(
    grade: Callable[..., CheckOutcome], cheat: str
) -> None:
    outcome = grade(NODE, NODE_FILES, {"f.js": NODE_CHEATS[cheat]}, NODE_LISTS)

    assert not outcome.passed


UNITY = {
    "kind": "command",
    "id": "t",
    "command": "gcc -o /tmp/t t.c f.c && /tmp/t",
    "expect": "test_transitions",
    "report": "unity",
}
UNITY_FILES = {
    "f.c": "int f(void) { return 1; }\n",
    "t.c": (
        "#include <stdio.h>\nint f(void);\nint main(void) {\n  int ok = f() == 2;\n"
        '  printf("t.c:3:turns:%s\\nt.c:4:stays:PASS\\n", ok ? "PASS" : "FAIL: Expected 2");\n'
        '  printf("\\n2 Tests %d Failures 0 Ignored\\n%s\\n", !ok, ok ? "OK" : "FAIL");\n  return !ok;\n}\n'
    ),
}
UNITY_LISTS = {"fail_to_pass": ["t.c::turns"], "pass_to_pass": ["t.c::stays"]}
UNITY_CHEATS = {
    "prints a line of its own": (
        '#include <stdio.h>\nint f(void) { printf("t.c:3:turns:PASS\\n"); return 1; }\n'
    ),
    "crashes": "int f(void) { return *(volatile int *)0; }\n",
    "does not compile": "int f(void) { return }\n",
    "exits early": "#include <stdlib.h>\nint f(void) { exit(0); }\n",
}


def test_unitys_lines_turn_with_the_right_fix(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade(UNITY, UNITY_FILES, {"f.c": "int f(void) { return 2; }\n"}, UNITY_LISTS)

    assert outcome.passed, outcome.reason


@pytest.mark.parametrize("cheat", UNITY_CHEATS)
def test_a_test_program_that_died_or_lied_does_not_pass(
    grade: Callable[..., CheckOutcome], cheat: str
) -> None:
    outcome = grade(UNITY, UNITY_FILES, {"f.c": UNITY_CHEATS[cheat]}, UNITY_LISTS)

    assert not outcome.passed


UNITTEST = {"kind": "command", "id": "t", "command": "python3 -m unittest -q", "expect": "test_transitions"}
UNITTEST_FILES = {
    "f.py": "def f(): return 1\n",
    "test_f.py": (
        "import unittest\nfrom f import f\nclass T(unittest.TestCase):\n"
        "    def test_turns(self): self.assertEqual(f(), 2)\n"
        "    def test_stays(self): self.assertTrue(f())\n"
    ),
}
UNITTEST_LISTS = {"fail_to_pass": ["test_f.T.test_turns"], "pass_to_pass": ["test_f.T.test_stays"]}
UNITTEST_CHEATS = {
    "at import": "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef f(): return 1\n",
    "in the test": (
        "def f():\n    import unittest\n"
        "    unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__\n"
        "    return 1\n"
    ),
}


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "plain"])
@pytest.mark.parametrize("cheat", UNITTEST_CHEATS)
def test_a_fix_that_patches_unittest_from_inside_does_not_pass(
    grade: Callable[..., CheckOutcome], cheat: str, listed: bool
) -> None:
    lists = UNITTEST_LISTS if listed else {}

    outcome = grade(UNITTEST, UNITTEST_FILES, {"f.py": UNITTEST_CHEATS[cheat]}, lists)

    assert (outcome.status, outcome.details["cause"]) == ("failed", "runner_changed")
    assert "unittest.case.TestCase.assertEqual" in outcome.reason


def test_a_fix_of_what_unittest_tests_passes(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade(UNITTEST, UNITTEST_FILES, {"f.py": "def f(): return 2\n"}, UNITTEST_LISTS)

    assert outcome.passed, outcome.reason
