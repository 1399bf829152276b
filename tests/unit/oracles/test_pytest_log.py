"""Recorded pytest logs: cases 10 and 11, and xdist's."""

from __future__ import annotations

import json
from pathlib import Path

from orchestrator.testreports.pytest_log import read_log


def test_every_trap_of_a_summary_is_read_right(data: Path) -> None:
    log = (data / "pytest_traps" / "after.log").read_bytes()

    read = read_log(log)

    assert read.report.statuses == json.loads((data / "pytest_traps" / "expected.json").read_text())
    assert read.unnamed_skips == 2
    assert read.report.problems == ()
    assert read.report.end == "graded"


def test_a_known_id_settles_where_the_id_ends() -> None:
    log = "FAILED t.py::t[a] - b] - AssertionError\n=== 1 failed in 0.1s ==="

    read = read_log(log, known=["t.py::t[a] - b]"])

    assert read.report.statuses == {"t.py::t[a] - b]": "failed"}


def test_a_collection_error_is_no_result(data: Path) -> None:
    read = read_log((data / "tests_vanish" / "after-collection-error.log").read_bytes())

    assert read.report.end == "run_incomplete"
    assert read.report.statuses == {"tests/test_s.py": "error"}
    assert read.report.status("tests/test_s.py::test_bug") == "missing"
    assert "collection error" in read.report.problems[0]


def test_a_deleted_test_is_missing(data: Path) -> None:
    read = read_log((data / "tests_vanish" / "after-deleted-test.log").read_bytes())

    assert read.report.end == "graded"
    assert read.report.status("tests/test_s.py::test_bug") == "passed"
    assert read.report.status("tests/test_s.py::test_other") == "missing"


def test_nothing_collected_is_an_end_of_its_own(data: Path) -> None:
    assert read_log((data / "tests_vanish" / "after-nothing-collected.log").read_bytes()).report.end == (
        "nothing_ran"
    )


def test_a_log_without_totals_never_came_to_its_end() -> None:
    assert read_log("collected 3 items\n\nt.py::a PASSED   [ 33%]\n").report.end == "run_incomplete"


def test_totals_that_do_not_fit_are_named() -> None:
    read = read_log("PASSED t.py::a\n=== 2 passed in 0.1s ===")

    assert read.report.problems == ("the totals line says 2 passed, but 1 were read",)


def test_a_status_on_the_next_line_belongs_to_the_test_before_it() -> None:
    log = "t.py::a starting worker 7\nPASSED    [ 50%]\nt.py::b PASSED   [100%]\n=== 2 passed in 0.1s ==="

    assert read_log(log).report.statuses == {"t.py::a": "passed", "t.py::b": "passed"}


def test_xdist_lines_come_in_any_order_and_a_crashed_worker_is_an_error() -> None:
    log = (
        "[gw1] [ 40%] PASSED t.py::a \n[gw0] [ 60%] FAILED t.py::b\n"
        "worker 'gw2' crashed while running 't.py::c'\n=== 1 failed, 1 passed, 1 error in 0.1s ==="
    )

    assert read_log(log).report.statuses == {
        "t.py::a": "passed",
        "t.py::b": "failed",
        "t.py::c": "error",
    }
