"""The oracles in real rooms: a right fix passes, and a run that was cut short, forged or faked does not."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.command import CommandExecutor
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.contract import Context
from orchestrator.evidence import RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import MIB, Entry, Image, Layer, Limits, RoomSpec
from tests import engines

DEPS = "/opt/deps/python"
BROKEN = {
    "app/__init__.py": "",
    "app/m.py": "def f():\n    return 1\n",
    "tests/test_m.py": "from app.m import f\ndef test_f():\n    assert f() == 2\ndef test_ok():\n    pass\n",
}
LISTS = {"fail_to_pass": ["tests/test_m.py::test_f"], "pass_to_pass": ["tests/test_m.py::test_ok"]}
CHECK = {"kind": "command", "id": "t", "command": "python3 -m pytest -q -p no:cacheprovider tests"}


@pytest.fixture(scope="module", params=engines.REAL)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with engines.opened(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def pytest_layer() -> Layer:
    """The pytest that runs these tests, as the dependency layer of a room."""
    names = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
    origins = [spec.origin for spec in map(importlib.util.find_spec, names) if spec and spec.origin]

    def entries() -> Iterator[Entry]:
        for origin in map(Path, origins):
            package = origin.parent if origin.name == "__init__.py" else None
            site = package.parent if package else origin.parent
            for path in sorted(package.rglob("*.py")) if package else [origin]:
                yield Entry(os.fsencode(path.relative_to(site)), 0o100644, path.read_bytes())

    digest = hashlib.sha256(b"".join(e.path + b"\0" + e.data for e in entries())).hexdigest()
    return Layer(f"pytest-{digest}", DEPS, entries)


@pytest.fixture
def grade(provider: Provider, pytest_layer: Layer, tmp_path: Path) -> Callable[..., CheckOutcome]:
    def run(
        changed: Mapping[str, str],
        check: Mapping[str, Any] = CHECK,
        base: Mapping[str, str] = BROKEN,
        **arguments: Any,
    ) -> CheckOutcome:
        store = TreeStore(tmp_path / "trees")
        after_files = dict(base) | dict(changed)
        before = store.add(Entry(p.encode(), 0o100644, t.encode()) for p, t in base.items())
        after = store.add(Entry(p.encode(), 0o100644, t.encode()) for p, t in after_files.items())
        judge = RoomJudge(
            provider=provider,
            room=RoomSpec(
                image=Image("host"),
                layers=(pytest_layer,),
                env={"PYTHONPATH": DEPS},
                limits=Limits(memory=512 * MIB, disk=64 * MIB, time=60),
            ),
            trees=store,
            judge_tree=before,
            graded_tree=after,
            changes=lambda: store.changes(before, after),
            **arguments,
        )
        executor = ScoreDeltaExecutor() if check["kind"] == "score_delta" else CommandExecutor()
        return executor.execute(check, "", Context(judge=judge))

    return run


RIGHT = {"app/m.py": "def f():\n    return 2\n"}
CHEATS = {
    "leaves early": {"app/m.py": "import os\nos._exit(0)\n"},
    "leaves in the test": {"app/m.py": "import os\ndef f():\n    os._exit(0)\n"},
    "changes the exit code at the end": {
        "app/m.py": "import atexit, os\natexit.register(os._exit, 0)\ndef f():\n    return 1\n"
    },
    "is the runner itself": {"pytest.py": "print('2 passed')\nraise SystemExit(0)\n"},
    "kills the runner": {"app/m.py": "import os\ndef f():\n    os.kill(os.getpid(), 9)\n"},
    "writes into every report it finds": {
        "app/m.py": (
            "import glob, os\n"
            "def f():\n"
            "    for name in glob.glob('/tmp/*/report.jsonl'):\n"
            "        open(name, 'w').write('{}')\n"
            "    return 1\n"
        )
    },
    "is the report plug-in": {
        "proctor_pytest.py": (
            "import os, sys\n"
            "sys.path.insert(0, '/opt/proctor/judge')\n"
            "import proctor_report\n"
            "section = proctor_report.Section(*proctor_report.take('PYTEST'), 'pytest 9')\n"
            "for name in ('tests/test_m.py::test_f', 'tests/test_m.py::test_ok'):\n"
            "    section.test(name, [['call', 'passed', None]])\n"
            "section.end([], 0)\n"
            "os._exit(0)\n"
        )
    },
    "hides its failure in a fork": {
        "app/m.py": "import os\ndef f():\n    return 2 if os.fork() == 0 else os._exit(os.wait()[1] and 0)\n"
    },
}  # fmt: skip


@pytest.mark.parametrize(("expect", "expected"), [("test_transitions", LISTS), ("exit_zero", {})])
def test_a_right_fix_passes(grade: Callable[..., CheckOutcome], expect: str, expected: Any) -> None:
    outcome = grade(RIGHT, CHECK | {"expect": expect}, expected=expected)

    assert outcome.passed, outcome
    assert outcome.details["report"]["counts"] == {"passed": 2}


@pytest.mark.parametrize(("expect", "expected"), [("test_transitions", LISTS), ("exit_zero", {})])
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_does_not_pass(
    grade: Callable[..., CheckOutcome], cheat: str, expect: str, expected: Any
) -> None:
    outcome = grade(CHEATS[cheat], CHECK | {"expect": expect}, expected=expected)

    assert outcome.status == "failed", outcome


UNITTEST = {"kind": "command", "id": "t", "command": "python3 -B -m unittest discover -s tests -t ."}
UNITTEST_LISTS = {"fail_to_pass": ["tests.test_u.TestF.test_f"]}
UNITTEST_FILES = {
    "tests/__init__.py": "",
    "tests/test_u.py": (
        "import unittest\nfrom app.m import f\nclass TestF(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(f(), 2)\n"
    ),
}
UNITTEST_CHEATS = {name: files for name, files in CHEATS.items() if name != "is the runner itself"} | {
    "is the runner itself": {"unittest.py": "raise SystemExit(0)\n", "json.py": "raise SystemExit(0)\n"}
}


@pytest.mark.parametrize(("expect", "expected"), [("test_transitions", UNITTEST_LISTS), ("exit_zero", {})])
@pytest.mark.parametrize("cheat", [*UNITTEST_CHEATS, None])
def test_unittest_is_read_the_same_way(
    grade: Callable[..., CheckOutcome], cheat: str | None, expect: str, expected: Any
) -> None:
    change = RIGHT if cheat is None else UNITTEST_CHEATS[cheat]

    outcome = grade(change, UNITTEST | {"expect": expect}, base=BROKEN | UNITTEST_FILES, expected=expected)

    assert outcome.passed == (cheat is None), outcome


def test_no_change_fails_for_the_right_reason(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade({}, CHECK | {"expect": "test_transitions"}, expected=LISTS)

    assert outcome.reason == "of 2 listed tests 1 failed (tests/test_m.py::test_f)"


def test_a_limit_is_told_from_a_failure(grade: Callable[..., CheckOutcome]) -> None:
    outcome = grade({"app/m.py": "def f():\n    return bytearray(1 << 30)\n"})

    assert outcome.details["end"] == "limit_hit:memory", outcome


def test_a_number_is_measured_before_and_after(grade: Callable[..., CheckOutcome]) -> None:
    check = {
        "kind": "score_delta",
        "tool": "number",
        "min_delta": 2,
        "guard_command": "python3 -B -c 'import app.m'",
        "metadata": {"command": "wc -l < app/m.py", "higher_is_better": True, "unit": "lines"},
    }

    outcome = grade({"app/m.py": "def f():\n\n\n    return 2\n"}, check)

    assert outcome.passed, outcome
    assert (outcome.details["before"], outcome.details["after"]) == (2.0, 4.0)
