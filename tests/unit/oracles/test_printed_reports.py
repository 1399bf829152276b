"""Reports that are files of XML or lines on a stream: JUnit, PHPUnit's JUnit, TAP and Unity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import StepResult
from orchestrator.testreports import built_in
from orchestrator.testreports.junit_report import read_junit
from orchestrator.testreports.phpunit_output import read_output
from orchestrator.testreports.phpunit_report import read_reports
from orchestrator.testreports.report import TestReport, printed_text
from orchestrator.testreports.tap_report import read_points
from orchestrator.testreports.unity_report import read_lines
from sandboxes.fake import done
from sandboxes.protocol import Done, Output

DATA_SET = "App\\Tests\\ThingTest::testData with data set"
TOTALS = (
    "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\nERRORS!\n"
    "Tests: 11, Assertions: 7, Errors: 1, Failures: 2, Warnings: 1, Skipped: 1, Incomplete: 1, Risky: 1.\n"
)


def suite(*cases: str) -> bytes:
    return f"<testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>".encode()


def test_phpunits_data_sets_keep_their_whole_names(data: Path) -> None:
    report = read_reports([(data / "junit" / "phpunit-9.xml").read_bytes()], read_output(TOTALS))

    assert report.end == "graded"
    assert dict(report.statuses) == {
        f'{DATA_SET} "a "b" \\n"': "passed",
        f'{DATA_SET} "emoji 😀"': "failed",
        f"{DATA_SET} #0": "passed",
        f'{DATA_SET} "boom::x"': "passed",
        "App\\Tests\\ThingTest::testFail": "failed",
        "App\\Tests\\ThingTest::testError": "error",
        "App\\Tests\\ThingTest::testSkip": "skipped",
        "App\\Tests\\ThingTest::testIncomplete": "skipped",
        "App\\Tests\\ThingTest::testRisky": "unknown",
        "App\\Tests\\ThingTest::testWarn": "unknown",
        "App\\Tests\\ThingTest::testEnv": "passed",
    }
    assert report.disagreement(2) == ""


def test_a_phpunit_report_that_does_not_fit_the_printed_totals_is_unreadable(data: Path) -> None:
    whole = (data / "junit" / "phpunit-9.xml").read_bytes()

    report = read_reports([whole], read_output(TOTALS.replace("Tests: 11", "Tests: 12")))

    assert (report.end, report.problems) == (
        "report_unreadable",
        ("PHPUnit printed 12 tests and reported 11",),
    )


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", "run_incomplete"),
        (b"<testsuites><testsuite>", "report_unreadable"),
        (b"<testsuites/>", "nothing_ran"),
    ],
)
def test_phpunit_that_stopped_early_is_no_result(data: bytes, end: str) -> None:
    assert read_reports([data], TestReport("report_missing")).end == end


def test_nested_suites_are_counted_once() -> None:
    inner = suite('<testcase classname="A" name="b"/>').decode()

    report = read_junit(f"<testsuites><testsuite>{inner[12:-13]}</testsuite></testsuites>".encode())

    assert report.statuses == {"A::b": "passed"}


def test_a_junit_id_that_comes_twice_is_ambiguous_and_hides_no_failure() -> None:
    once, failed = '<testcase name="a"/>', '<testcase name="a"><failure/></testcase>'

    harmless, hiding = read_junit(suite(once, once)), read_junit(suite(once, failed))

    assert harmless.status("a") == hiding.status("a") == "ambiguous"
    assert harmless.disagreement(0) == ""
    assert "1 went wrong (a)" in hiding.disagreement(0)


@pytest.mark.parametrize(
    "data",
    [
        b'<!DOCTYPE x [<!ENTITY a "b">]><testsuites><testcase name="&a;"/></testsuites>',
        b"<html/>",
        b"<testsuites><testcase><testcase/></testcase></testsuites>",
        b"\xff\xfe",
    ],
)
def test_what_no_runner_writes_is_unreadable(data: bytes) -> None:
    assert read_junit(data).end == "report_unreadable"


def test_tap_gives_every_point_its_own_status() -> None:
    report = read_points(
        "TAP version 13\n# \x1b[32mcolours\x1b[0m\nok 1 - adds\nnot ok 2 - takes # TODO later\n"
        "ok 3 - waits # SKIP no clock\nnot ok 4 - breaks\n  ---\n  ok 5 - said by a test\n  ...\n"
        "ok 5 with \\# in it # time=3ms\n1..5\n"
    )

    assert report.end == "graded"
    assert dict(report.statuses) == {
        "adds": "passed",
        "takes": "xfailed",
        "waits": "skipped",
        "breaks": "failed",
        "with # in it # time=3ms": "passed",
    }


def test_tap_subtests_are_named_by_their_path_and_their_own_points_are_no_tests() -> None:
    report = read_points(
        "# Subtest: outer\n    # Subtest: inner\n        ok 1 - leaf\n        not ok 2 - other\n"
        "        1..2\n"
        "    not ok 1 - inner\n    1..1\nnot ok 1 - outer\n1..1\n"
    )

    assert report.statuses == {"outer > inner > leaf": "passed", "outer > inner > other": "failed"}
    assert report.collection == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ok 1 - a\n", "never came to its plan"),
        ("1..2\nok 1 - a\n", "planned 2 points and printed 1"),
        ("ok 1 - a\nok 3 - b\n1..2\n", "point 3 stands where point 2 should"),
        ("1..1\nok 1 - a\nBail out! disk\n", "bailed out"),
        ("ok 1 - a\n1..1\nok 2 - b\n", "stands after the plan"),
    ],
)
def test_tap_that_does_not_add_up_is_no_result(text: str, problem: str) -> None:
    report = read_points(text)

    assert report.end == "run_incomplete"
    assert any(problem in said for said in report.problems)


def test_two_tap_points_of_one_name_are_ambiguous() -> None:
    report = read_points("ok 1 - a\nok 2 - a\n1..2\n")

    assert report.status("a") == "ambiguous"


def test_unity_lines_become_file_and_test() -> None:
    report = read_lines(
        "tests/m.c:10:adds:PASS\ntests/m.c:12:takes:FAIL: Expected 1 Was 2\nm.c:14:waits:IGNORE: later\n"
        "\n-----------------------\n3 Tests 1 Failures 1 Ignored \nFAIL\n"
    )

    assert report.end == "graded"
    assert report.statuses == {"m.c::adds": "passed", "m.c::takes": "failed", "m.c::waits": "skipped"}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("", "report_missing"),
        ("m.c:1:a:PASS\n", "run_incomplete"),
        ("m.c:1:a:PASS\n2 Tests 0 Failures 0 Ignored\n", "run_incomplete"),
        ("0 Tests 0 Failures 0 Ignored\n", "nothing_ran"),
    ],
)
def test_a_unity_program_that_died_early_is_no_result(text: str, end: str) -> None:
    assert read_lines(text).end == end


def test_output_that_was_cut_is_no_report() -> None:
    cut = Done("exited", 0, None, Output(b"ok 1\n", b"1..1\n", total=1000), Output(), 1.0)

    found = printed_text(StepResult(cut))

    assert isinstance(found, TestReport)
    assert found.end == "report_unreadable"


def test_a_check_may_name_the_report_its_command_leaves(run_check: Callable[..., Any]) -> None:
    check = {"kind": "command", "id": "t", "command": "make check", "report": "tap"}

    def answer(room: Any, command: Any) -> Done:
        return done(0, "1..2\nok 1 - a\n")

    outcome = run_check(CommandExecutor(), check, script=answer)

    assert (outcome.status, outcome.details["end"]) == ("failed", "run_incomplete")


def test_a_report_nobody_knows_is_the_authors_mistake(run_check: Callable[..., Any]) -> None:
    check = {"kind": "command", "id": "t", "command": "make check", "report": "surefire"}

    outcome = run_check(CommandExecutor(), check)

    assert not outcome.passed
    known = "cargo, ctrf, go, jest, junit, mocha, nextest, node, phpunit, pytest, tap, tape, unittest, unity"
    assert f"it must be one of {known}, vitest" in outcome.reason


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("node --test test/*.js", "node"),
        ("cd x && node --import tsx --test", "node"),
        ("node --test-reporter=tap x.js", None),
        ("node_modules/.bin/tape 'test/*.js'", "tape"),
        ("php vendor/bin/phpunit", "phpunit"),
        ("cat phpunit.xml tape.txt", None),
        ("make test", None),
    ],
)
def test_runners_are_recognised_by_their_command(command: str, name: str | None) -> None:
    assert next((r.name for r in built_in() if r.recognises(command)), None) == name
