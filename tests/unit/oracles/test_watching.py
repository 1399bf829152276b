"""What the judge's plug-ins notice from inside a runner: files, tracing, canaries, node's assert module."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import TestCase, mock

import pytest

JUDGE = Path(__file__).parents[3] / "orchestrator" / "testreports" / "judge"


def plug_in(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, JUDGE / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in (
        "tests/test_a.py",
        "tests/sub/helper.py",
        "src/m.py",
        "src/m_test.py",
        "node_modules/test_x.py",
    ):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("1\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def test_test_files_are_known_and_the_code_under_test_is_not(tree: Path) -> None:
    found = {Path(path).relative_to(tree).as_posix() for path in plug_in("proctor_watch").test_files()}

    assert found == {"tests/test_a.py", "tests/sub/helper.py", "src/m_test.py"}


@pytest.mark.parametrize(
    "way", ["rewritten", "rewritten and put back", "replaced", "removed", "folder swapped"]
)
def test_a_test_file_that_was_touched_is_told_once(tree: Path, way: str) -> None:
    module = plug_in("proctor_watch")
    watch = module.Watch(names=(), files=module.test_files())
    place, old = tree / "tests/test_a.py", (tree / "tests/test_a.py").stat()

    if way.startswith("rewritten"):
        place.write_text("2\n")
    if way == "rewritten and put back":
        place.write_text("1\n")
        os.utime(place, ns=(old.st_atime_ns, old.st_mtime_ns))
    elif way == "replaced":
        (tree / "new").write_text("1\n")
        (tree / "new").replace(place)
    elif way == "removed":
        place.unlink()
    else:
        shutil.copytree(tree / "tests", tree / "copy")
        (tree / "tests").rename(tree / "gone")
        (tree / "copy").rename(tree / "tests")

    assert "file tests/test_a.py" in watch.file_changes()
    assert watch.file_changes() == []


def test_new_files_and_reading_are_nobodys_business(tree: Path) -> None:
    module = plug_in("proctor_watch")
    watch = module.Watch(names=(), files=module.test_files())

    (tree / "tests/test_a.py").read_text()
    (tree / "tests/test_new.py").write_text("3\n")
    (tree / "src/m.py").write_text("3\n")

    assert watch.file_changes() == []


def test_who_traces_the_run_is_told() -> None:
    watch = plug_in("proctor_watch").Watch(names=())
    before = sys.getprofile()

    sys.setprofile(lambda *given: None)
    try:
        found = watch.changes()
    finally:
        sys.setprofile(before)

    assert found == ["sys.settrace"]


@pytest.mark.parametrize("kind", ["unittest_canaries", "pytest_canaries"])
def test_canaries_of_a_sound_runner_tell_nothing(kind: str) -> None:
    assert list(getattr(plug_in("proctor_canary"), kind)()) == []


def test_canaries_tell_of_a_runner_that_catches_nothing() -> None:
    kept: list[Any] = []
    bent = mock.patch.object(
        contextlib._GeneratorContextManager, "__exit__", lambda self, *given: kept.append(self.gen) or True
    )

    with bent:
        found = list(plug_in("proctor_canary").unittest_canaries())

    assert "a test that must fail did not" in found


def test_canaries_tell_of_a_runner_that_passes_nothing() -> None:
    def fails(self: TestCase, *given: Any) -> None:
        raise AssertionError

    with mock.patch.object(TestCase, "assertEqual", fails):
        found = list(plug_in("proctor_canary").unittest_canaries())

    assert found == ["a test that must pass did not"]


def test_canaries_fly_at_the_first_test_and_at_the_end_and_not_too_often() -> None:
    flights: list[int] = []
    after = plug_in("proctor_canary").flying(lambda kind, what: None, lambda: flights.append(1) or ())

    after()
    first = len(flights)
    for _ in range(5000):
        after()
    many = len(flights)
    after(now=True)

    assert (first, len(flights) - many) == (1, 1)
    assert 2 <= many <= 30


@pytest.mark.skipif(shutil.which("node") is None and not os.environ.get("CI"), reason="node is not installed")
@pytest.mark.parametrize(("context", "said"), [("child-v8", "kept"), ("", "exchanged")])
def test_nodes_assert_module_is_fixed_where_tests_run_and_nowhere_else(context: str, said: str) -> None:
    script = (
        "const assert = require('node:assert'); const fake = () => {}; assert.equal = fake;"
        "assert.strict.equal = fake; const was = assert.equal === fake || assert.strict.equal === fake;"
        "console.log(was ? 'exchanged' : 'kept')"
    )
    env = {**os.environ, "NODE_TEST_CONTEXT": context, "NODE_OPTIONS": f"--require={JUDGE}/proctor_fixed.cjs"}

    done = subprocess.run(["node", "-e", script], env=env, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == said
