"""The plug-in inside real runs of pytest, read back as the judge would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import orchestrator.testreports
from orchestrator.testreports import TestReport
from orchestrator.testreports.jsonlines import read_report
from orchestrator.testreports.pytest_report import PytestReporter

JUDGE = Path(orchestrator.testreports.__file__).parent / "judge"


@dataclass
class Ran:
    exit_code: int
    report: TestReport | None
    stdout: str


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Ran]:
    """run(test file text, *arguments, command=None) -> Ran."""

    def run_pytest(text: str, *arguments: str, command: str | None = None) -> Ran:
        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        (work / "test_it.py").write_text(text, encoding="utf-8")
        report = tmp_path / "judge" / "report.jsonl"
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": f"{JUDGE}/start:{JUDGE}",
            "PYTEST_ADDOPTS": "-p proctor_pytest",
            "PROCTOR_PYTEST_REPORT": str(report),
            "PROCTOR_PYTEST_NONCE": "n0nce",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        argv = argv if command is None else ["/bin/sh", "-c", command.replace("PYTEST", " ".join(argv))]
        done = subprocess.run(argv, cwd=work, env=env, capture_output=True, timeout=120, check=False)
        read = read_report(report.read_bytes(), "n0nce") if report.exists() else None
        return Ran(done.returncode, read, done.stdout.decode("utf-8", "replace"))

    return run_pytest


STATUSES = """
import pytest, unittest

def test_passes(): pass
def test_fails(): assert 0
@pytest.fixture
def broken(): raise RuntimeError
@pytest.fixture
def breaks_after():
    yield
    raise RuntimeError
def test_setup_breaks(broken): pass
def test_teardown_breaks(breaks_after): pass
@pytest.mark.skip
def test_skipped(): pass
def test_skips_itself(): pytest.skip("no")
@pytest.mark.xfail
def test_known(): assert 0
@pytest.mark.xfail
def test_mended(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.mark.xfail(run=False)
def test_never_run(): pass
def test_gives_up(): pytest.xfail("later")
class TestOld(unittest.TestCase):
    def test_method(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
"""


def test_every_word_of_pytest_becomes_its_own_status(run: Callable[..., Ran]) -> None:
    ran = run(STATUSES)

    assert ran.report is not None
    assert ran.report.end == "graded"
    assert {i.removeprefix("test_it.py::"): s for i, s in ran.report.statuses.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_setup_breaks": "error",
        "test_teardown_breaks": "error",
        "test_skipped": "skipped",
        "test_skips_itself": "skipped",
        "test_known": "xfailed",
        "test_mended": "xpassed",
        "test_strict": "failed",
        "test_never_run": "not_run",
        "test_gives_up": "xfailed",
        "TestOld::test_method": "passed",
        "TestOld::test_expected": "xfailed",
        "TestOld::test_unexpected": "failed",
    }
    assert ran.report.exit_statuses == (1,)
    assert ran.report.disagreement(ran.exit_code) == ""


def test_ids_come_whole_however_odd(run: Callable[..., Ran]) -> None:
    ran = run(
        "import pytest\n"
        "IDS = ['a - b', 'x::y', 'é\\u2028☃', 'trailing ', 'k' * 11_000, 'nul\\x00', 'cr\\r\\n',\n"
        "       '\\x1b[31m', '\\ud800', '[', ']']\n"
        "@pytest.mark.parametrize('p', IDS, ids=IDS)\n"
        "def test_p(p): pass\n"
    )

    assert ran.report is not None
    assert ran.exit_code == 0
    assert len(ran.report.statuses) == 11
    assert ran.report.counts == {"passed": 11}
    assert f"test_it.py::test_p[{'k' * 11_000}]" in ran.report.statuses
    assert "test_it.py::test_p[trailing ]" in ran.report.statuses


def test_a_run_that_leaves_early_is_incomplete(run: Callable[..., Ran]) -> None:
    ran = run("import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): assert 0\n")

    assert ran.exit_code == 0
    assert ran.report is not None
    assert ran.report.end == "run_incomplete"
    assert ran.report.status("test_it.py::test_c") == "missing"


def test_leaving_while_tests_are_collected_is_incomplete(run: Callable[..., Ran]) -> None:
    ran = run("import os\nos._exit(0)\n")

    assert ran.exit_code == 0
    assert ran.report is not None
    assert ran.report.end == "run_incomplete"


def test_an_exit_code_changed_after_the_summary_disagrees(run: Callable[..., Ran]) -> None:
    ran = run("import atexit, os\natexit.register(os._exit, 0)\ndef test_a(): assert 0\n")

    assert ran.exit_code == 0
    assert ran.report is not None
    assert ran.report.end == "graded"
    assert "exit code 0, but the report says" in ran.report.disagreement(ran.exit_code)


@pytest.mark.parametrize(
    ("text", "arguments", "end", "says"),
    [
        ("def test_a(:\n", (), "run_incomplete", "collection error in test_it.py"),
        ("x = 1\n", (), "nothing_ran", "found no tests"),
        ("def test_a(): pass\n", ("--no-such-option",), None, ""),
        ("def test_a(): raise KeyboardInterrupt\n", (), "run_incomplete", "interrupted"),
    ],
    ids=["syntax error", "no test", "wrong usage", "interrupted"],
)
def test_pytests_exit_codes_are_told_apart(
    run: Callable[..., Ran], text: str, arguments: tuple[str, ...], end: str | None, says: str
) -> None:
    ran = run(text, *arguments)

    assert (ran.report and ran.report.end) == end
    assert ran.report is None or says in " ".join(ran.report.problems)
    assert ran.exit_code != 0


def test_tests_that_were_collected_but_not_reached_are_not_run(run: Callable[..., Ran]) -> None:
    ran = run("def test_a(): assert 0\ndef test_b(): pass\n", "-x")

    assert ran.report is not None
    assert ran.report.statuses == {"test_it.py::test_a": "failed", "test_it.py::test_b": "not_run"}


def test_one_id_with_two_results_is_ambiguous(run: Callable[..., Ran]) -> None:
    ran = run("def test_a(): pass\n", command="PYTEST test_it.py; PYTEST test_it.py")

    assert ran.report is not None
    assert ran.report.statuses == {"test_it.py::test_a": "ambiguous"}
    assert ran.report.exit_statuses == (0, 0)


def test_a_failure_in_the_first_of_two_runs_is_not_hidden(run: Callable[..., Ran]) -> None:
    ran = run("def test_a(): assert 0\n", command="PYTEST; true")

    assert ran.exit_code == 0
    assert ran.report is not None
    assert ran.report.disagreement(ran.exit_code) != ""


def test_a_pytest_started_by_a_test_does_not_report(run: Callable[..., Ran]) -> None:
    ran = run(
        "import subprocess, sys\n"
        "def test_a(tmp_path):\n"
        "    (tmp_path / 'test_in.py').write_text('def test_inner(): assert 0')\n"
        "    done = subprocess.run([sys.executable, '-m', 'pytest', str(tmp_path)], capture_output=True)\n"
        "    assert done.returncode == 1\n"
    )

    assert ran.report is not None
    assert ran.report.statuses == {"test_it.py::test_a": "passed"}


def test_a_failing_subtest_fails_its_test(run: Callable[..., Ran]) -> None:
    ran = run(
        "import unittest\n"
        "class TestIt(unittest.TestCase):\n"
        "    def test_a(self):\n"
        "        for n in (1, 2):\n"
        "            with self.subTest(n=n):\n"
        "                self.assertEqual(n, 2)\n"
    )

    assert ran.report is not None
    assert ran.report.statuses == {"test_it.py::TestIt::test_a": "failed"}
    assert ran.report.disagreement(ran.exit_code) == ""


def test_a_test_that_forks_does_not_write_for_its_parent(run: Callable[..., Ran]) -> None:
    ran = run(
        "import os, sys\n"
        "def test_a():\n"
        "    pid = os.fork()\n"
        "    if pid == 0: raise SystemExit(1)\n"
        "    os.waitpid(pid, 0)\n"
    )

    assert ran.report is not None
    assert ran.report.end == "graded"
    assert ran.report.statuses == {"test_it.py::test_a": "passed"}


def test_text_appended_by_the_tests_makes_the_report_unreadable(run: Callable[..., Ran]) -> None:
    ran = run(
        "import atexit, glob, os\n"
        "def late():\n"
        "    for name in glob.glob('../judge/*'):\n"
        '        open(name, \'a\').write(\'{"kind": "test", "id": "x"}\\n\')\n'
        "def test_a(): os.register_at_fork; __import__('atexit').register(late)\n"
    )

    assert ran.report is not None
    assert ran.report.end == "report_unreadable"


def test_the_nonce_is_gone_before_any_conftest(run: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "conftest.py").write_text(
        "import os\nassert not [k for k in os.environ if 'PROCTOR' in k]\n"
    )

    ran = run("def test_a(): pass\n")

    assert ran.exit_code == 0, ran.stdout
    assert ran.report is not None
    assert ran.report.counts == {"passed": 1}


@pytest.mark.parametrize(
    "arguments", [("-m", "not slow"), ("-W", "error"), ("-k", "test_a")], ids=["marker", "warnings", "name"]
)
def test_arguments_of_the_runner_do_not_hide_it(run: Callable[..., Ran], arguments: tuple[str, ...]) -> None:
    ran = run("def test_a(): pass\n", *arguments)

    assert ran.exit_code == 0, ran.stdout
    assert ran.report is not None
    assert ran.report.counts == {"passed": 1}


@pytest.mark.parametrize(
    "start", ["PYTHON -W ignore -m pytest", "PYTHON -Bm pytest -m 'not x'", "SCRIPT -m 'not x'"]
)
def test_the_runner_is_known_however_it_is_started(run: Callable[..., Ran], start: str) -> None:
    script = str(Path(sys.executable).with_name("pytest"))
    command = start.replace("PYTHON", sys.executable).replace("SCRIPT", script)

    ran = run("def test_a(): pass\n", command=command)

    assert ran.report is not None
    assert ran.report.counts == {"passed": 1}


FORGERY = """
import os, sys
sys.path.insert(0, {judge!r})
import proctor_report
section = proctor_report.Section(*proctor_report.take("PYTEST"), "pytest 9")
section.test("test_it.py::test_a", [["call", "passed", None]])
section.end(["test_it.py::test_a"], 0)
os._exit(0)
"""


@pytest.mark.parametrize(
    "name", ["proctor_pytest.py", "proctor_report.py", "json.py", "hmac.py", "sitecustomize.py"]
)
def test_a_file_of_the_candidates_does_not_take_our_place(
    run: Callable[..., Ran], tmp_path: Path, name: str
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / name).write_text(FORGERY.format(judge=str(JUDGE)))

    ran = run("def test_a(): assert 0\n")

    assert ran.exit_code != 0 or ran.report is None or ran.report.end != "graded"


@pytest.mark.parametrize(
    ("command", "known"),
    [
        ("pytest", True),
        ("python3 -m pytest -q $TESTS", True),
        ("cd app && /usr/bin/pytest tests", True),
        ("(pytest; echo)", True),
        ("py.test", True),
        ("python -m unittest", False),
        ("./pytest_wrapper.sh", False),
        ("cat pytest.ini", False),
    ],
)
def test_pytest_is_recognised_in_a_shell_command(command: str, known: bool) -> None:
    assert PytestReporter().recognises(command) is known


@pytest.mark.parametrize(
    ("cheat", "told"),
    [
        ("import contextlib; pytest.raises = lambda *a, **k: contextlib.nullcontext()", "pytest.raises"),
        (
            "import unittest; unittest.TestCase.assertEqual = lambda *a, **k: None",
            "unittest.case.TestCase.assertEqual",
        ),
        (
            "pytest.TestReport.outcome = property(lambda self: 'passed', lambda self, v: 0)",
            "_pytest.reports.TestReport.outcome",
        ),
    ],
)
def test_a_runner_that_was_patched_by_what_it_tests_is_told(
    run: Callable[..., Ran], cheat: str, told: str
) -> None:
    ran = run(f"import pytest\n{cheat}\ndef test_a(): pass\n")

    assert ran.report is not None
    assert told in ran.report.changed


def test_a_hook_that_excuses_tests_is_named_with_its_file(run: Callable[..., Ran], tmp_path: Path) -> None:
    conftest = tmp_path / "work" / "conftest.py"
    conftest.parent.mkdir()
    conftest.write_text("def pytest_pyfunc_call(pyfuncitem): return True\n")

    ran = run("def test_a(): assert 0\n")

    assert ran.report is not None
    assert ran.report.counts == {"passed": 1}
    assert f"pytest_pyfunc_call of {conftest}" in ran.report.hooks


def test_honest_habits_of_tests_are_no_change_of_the_runner(run: Callable[..., Ran]) -> None:
    ran = run(
        "import pytest, unittest\nfrom unittest import mock\n"
        "class T(unittest.TestCase):\n    def test_t(self): self.assertEqual(1, 1)\n"
        "def test_a(monkeypatch, capsys, tmp_path):\n    monkeypatch.setattr('builtins.open', None)\n"
        "    with pytest.raises(TypeError): open('x')\n"
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_b(n): assert [n] == [n]\n"
    )

    assert ran.report is not None
    assert (ran.report.changed, ran.report.counts) == ((), {"passed": 4})
    assert not any("conftest" in hook for hook in ran.report.hooks)
