"""The watcher inside real runs of unittest, read back as the judge would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import orchestrator.testreports
from orchestrator.testreports import TestReport
from orchestrator.testreports.jsonlines import read_report
from orchestrator.testreports.unittest_report import UnittestReporter

JUDGE = Path(orchestrator.testreports.__file__).parent / "judge"
Ran = tuple[int, TestReport | None]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """run(test file text, before="shell words") -> (exit code, report)."""

    def run_unittest(text: str, before: str = "") -> Ran:
        work = tmp_path / "work"
        work.mkdir()
        (work / "test_it.py").write_text("import os, unittest\n" + text, encoding="utf-8")
        report = tmp_path / "judge" / "report.jsonl"
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{JUDGE}/start:{JUDGE}",
            "PROCTOR_UNITTEST_REPORT": str(report),
            "PROCTOR_UNITTEST_NONCE": "n0nce",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = f"{before}{sys.executable} -m unittest -q"
        done = subprocess.run(
            command, shell=True, cwd=work, env=env, capture_output=True, timeout=60, check=False
        )
        return done.returncode, read_report(report.read_bytes(), "n0nce") if report.exists() else None

    return run_unittest


STATUSES = """
class TestIt(unittest.TestCase):
    def test_passes(self): pass
    def test_fails(self): self.fail()
    def test_breaks(self): raise RuntimeError
    @unittest.skip("no")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_known(self): self.fail()
    @unittest.expectedFailure
    def test_mended(self): pass
    def test_subtests(self):
        for n in (1, 2):
            with self.subTest(n=n): self.assertEqual(n, 2)
class TestClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise RuntimeError
    def test_never(self): pass
"""


def test_every_word_of_unittest_becomes_its_own_status(run: Callable[..., Ran]) -> None:
    exit_code, report = run(STATUSES)

    assert report is not None
    assert report.end == "graded"
    assert {i.removeprefix("test_it."): s for i, s in report.statuses.items()} == {
        "TestIt.test_passes": "passed",
        "TestIt.test_fails": "failed",
        "TestIt.test_breaks": "error",
        "TestIt.test_skipped": "skipped",
        "TestIt.test_known": "xfailed",
        "TestIt.test_mended": "failed",
        "TestIt.test_subtests": "failed",
        "TestClass.test_never": "not_run",
    }
    assert report.collection == {"setUpClass (test_it.TestClass)": "error"}
    assert report.disagreement(exit_code) == ""


@pytest.mark.parametrize(
    "text",
    [
        "os._exit(0)\n",
        "class T(unittest.TestCase):\n    def test_a(self): os._exit(0)\n",
        "class T(unittest.TestCase):\n    def tearDownClass(): os._exit(0)\n"
        "    def test_a(self): self.fail()\n",
    ],
    ids=["import", "test", "class"],
)
def test_a_run_that_leaves_early_is_incomplete(run: Callable[..., Ran], text: str) -> None:
    exit_code, report = run(text)

    assert report is not None
    assert exit_code == 0 or report.end != "graded"
    assert report.end == "run_incomplete" or report.disagreement(exit_code)


def test_an_exit_code_changed_at_the_end_disagrees(run: Callable[..., Ran]) -> None:
    exit_code, report = run(
        "import atexit; atexit.register(os._exit, 0)\n"
        "class T(unittest.TestCase):\n    def test_a(self): self.fail()\n"
    )

    assert exit_code == 0
    assert report is not None
    assert "exit code 0, but" in report.disagreement(exit_code)


def test_an_import_that_fails_is_a_collection_error(run: Callable[..., Ran]) -> None:
    exit_code, report = run("import nothing_of_that_name\n")

    assert exit_code == 1
    assert report is not None
    assert list(report.collection.values()) == ["error"]
    assert report.statuses == {}


def test_no_tests_is_nothing_ran(run: Callable[..., Ran]) -> None:
    _, report = run("x = 1\n")

    assert report is not None
    assert report.end == "nothing_ran"


def test_other_pythons_of_the_command_do_not_report(run: Callable[..., Ran]) -> None:
    exit_code, report = run(
        "import subprocess, sys\nclass T(unittest.TestCase):\n"
        "    def test_a(self): subprocess.run([sys.executable, '-m', 'unittest', '-h'])\n",
        before=f"{sys.executable} -c pass && ",
    )

    assert exit_code == 0
    assert report is not None
    assert (report.end, report.counts) == ("graded", {"passed": 1})


def test_a_runner_that_a_test_starts_is_its_own_affair(run: Callable[..., Ran]) -> None:
    _, report = run(
        "class T(unittest.TestCase):\n    def test_a(self):\n"
        "        class In(unittest.TestCase):\n            def test_in(self): self.fail()\n"
        "        suite = unittest.defaultTestLoader.loadTestsFromTestCase(In)\n"
        "        unittest.TextTestRunner(stream=open(os.devnull, 'w')).run(suite)\n"
    )

    assert report is not None
    assert report.statuses == {"test_it.T.test_a": "passed"}


@pytest.mark.parametrize(
    ("cheat", "told"),
    [
        ("unittest.TestCase.assertEqual = lambda *a, **k: None", "unittest.case.TestCase.assertEqual"),
        (
            "unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__",
            "unittest.case.TestCase.assertEqual",
        ),
        (
            "unittest.TextTestResult.addFailure = lambda self, test, err: self.addSuccess(test)",
            "unittest.runner.TextTestResult.addFailure",
        ),
        (
            "unittest.IsolatedAsyncioTestCase.assertEqual = lambda *a, **k: None",
            "unittest.async_case.IsolatedAsyncioTestCase.assertEqual",
        ),
        (
            "from unittest import mock; mock.NonCallableMock.assert_called_with = lambda *a, **k: None",
            "unittest.mock.NonCallableMock.assert_called_with",
        ),
        ("unittest.TestResult.wasSuccessful = lambda self: True", "unittest.result.TestResult.wasSuccessful"),
        ("import proctor_report; proctor_report.Section.write = print", "proctor_report.Section.write"),
        ("import builtins; builtins.AssertionError = unittest.SkipTest", "builtins.AssertionError"),
    ],
)
def test_a_runner_that_was_patched_by_what_it_tests_is_told(
    run: Callable[..., Ran], cheat: str, told: str
) -> None:
    _, report = run(cheat + "\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n")

    assert report is not None
    assert told in report.changed


def test_a_patch_made_while_a_test_runs_is_told(run: Callable[..., Ran]) -> None:
    _, report = run(
        "class T(unittest.TestCase):\n    def test_a(self):\n"
        "        unittest.TestCase.assertTrue = lambda *a: None\n        self.assertTrue(False)\n"
        "    def test_b(self): self.addCleanup(setattr, unittest.TestCase, 'assertTrue', None)\n"
    )

    assert report is not None
    assert report.changed == ("unittest.case.TestCase.assertTrue",)


def test_honest_habits_of_tests_are_no_change_of_the_runner(run: Callable[..., Ran]) -> None:
    _, report = run(
        "from unittest import mock\n"
        "unittest.TestCase.maxDiff = None\n"
        "unittest.TestCase.assertItemsEqual = unittest.TestCase.assertCountEqual\n"
        "class T(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self):\n"
        "        with mock.patch('builtins.open'): self.assertItemsEqual([1], [1])\n"
    )

    assert report is not None
    assert (report.end, report.changed, report.counts) == ("graded", (), {"passed": 1})


def test_a_helper_of_the_tests_that_equals_everything_is_left_alone(run: Callable[..., Ran]) -> None:
    """Only what test files do not define is told; the code under test has its case in `test_equals`."""
    exit_code, report = run(
        "class Anything(int):\n    __eq__ = lambda self, other: True\n    __hash__ = int.__hash__\n"
        "class T(unittest.TestCase):\n    def test_a(self): self.assertEqual(Anything(1), 2)\n"
    )

    assert report is not None
    assert (exit_code, report.end, report.changed, report.counts) == (0, "graded", (), {"passed": 1})


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("python3 -B -m unittest discover -s tests -t .", True),
        ("cd x; python -m unittest", True),
        ("python3.11 -Bm unittest -v", True),
        ("python3 -m pytest unittest", False),
        ("echo unittest", False),
    ],
)
def test_unittest_is_recognised(command: str, known: bool) -> None:
    assert UnittestReporter().recognises(command) is known
