"""docs/test-reports.md: what it says a runner's words become is what the readers make of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.testreports import Status, TestReport, built_in
from orchestrator.testreports.cargo_report import read_lines as read_cargo
from orchestrator.testreports.ctrf_report import read_ctrf
from orchestrator.testreports.go_report import read_events
from orchestrator.testreports.jsonlines import nonce, read_report, status_of
from orchestrator.testreports.junit_report import read_junit
from orchestrator.testreports.nextest_report import read_nextest
from orchestrator.testreports.phpunit_output import read_output
from orchestrator.testreports.phpunit_report import read_reports
from orchestrator.testreports.report import once
from orchestrator.testreports.tap_report import read_points
from orchestrator.testreports.unity_report import read_lines as read_unity

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "test-reports.md").read_text(encoding="utf-8")
RECORDED = ROOT / "tests" / "data" / "oracles" / "runners"


def tables() -> list[list[list[str]]]:
    """Every table of the page, as rows of cells, without the line below its head."""
    found = re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in row.strip("|").split("|")]
            for row in table.splitlines()
            if "|---" not in row
        ]
        for table in found
    ]


def words() -> dict[tuple[str, str], str]:
    """(runner, word) -> status, from the page."""
    head, *rows = next(table for table in tables() if table[0][:2] == ["runner", "passed"])
    return {
        (row[0], word.strip()): status
        for row in rows
        for status, cell in zip(head[1:], row[1:], strict=True)
        for word in cell.split(",")
        if word.strip()
    }


def only(report: TestReport) -> str:
    (status,) = report.statuses.values()
    return status


def phases(*found: tuple[str, str, str | None]) -> Callable[[], str]:
    return lambda: status_of(found)


def twice() -> str:
    statuses, _ = once([("a", "passed"), ("a", "passed")])
    return statuses["a"]


def not_ended() -> str:
    """Collected and never executed: a report of ours says so in its last line."""
    report = read_report((RECORDED / "mocha-12.jsonl").read_bytes(), nonce("recorded"))
    return report.status("test/a.js > before each > left")


def seen(file: str, test: str) -> Callable[[], str]:
    """What a recorded run of the real runner makes of a test."""
    return lambda: read_report((RECORDED / file).read_bytes(), nonce("recorded")).status(test)


def junit(inside: str) -> Callable[[], str]:
    data = f"<testsuites><testsuite><testcase name='a'>{inside}</testcase></testsuite></testsuites>".encode()
    return lambda: only(read_junit(data))


def phpunit(inside: str) -> Callable[[], str]:
    data = f"<testsuites><testsuite><testcase name='a'>{inside}</testcase></testsuite></testsuites>".encode()
    return lambda: only(read_reports([data], read_output("")))


def tap(line: str) -> Callable[[], str]:
    return lambda: only(read_points(f"TAP version 13\n1..1\n{line}\n"))


def unity(word: str, failures: int = 0, ignored: int = 0) -> Callable[[], str]:
    return lambda: only(read_unity(f"a.c:1:t:{word}\n1 Tests {failures} Failures {ignored} Ignored\n"))


def go(*actions: str) -> Callable[[], str]:
    event = '{"Action": "%s", "Package": "p", "Test": "T"}\n'
    return lambda: only(read_events("".join(event % action for action in actions)))


def cargo(word: str, totals: str) -> Callable[[], str]:
    out = f"running 1 test\ntest a ... {word}\n\ntest result: ok. {totals}; 0 filtered out\n"
    return lambda: only(read_cargo(out, "     Running unittests src/lib.rs (target/debug/deps/a-1)\n"))


def nextest(*events: tuple[str, str]) -> Callable[[], str]:
    out = "\n".join(json.dumps({"type": "test", "event": e, "name": n}) for e, n in events)
    return lambda: only(read_nextest(out, "     Summary [   0.1s] 1 test run: 1 passed\n"))


def ctrf(status: str, **more: object) -> Callable[[], str]:
    counts = {word: int(word == status) for word in ("passed", "failed", "skipped", "pending", "other")}
    results = {"summary": {"tests": 1, **counts}, "tests": [{"name": "a", "status": status, **more}]}
    return lambda: only(read_ctrf(json.dumps({"results": results}).encode()))


PASSED, SKIPPED = ("call", "passed", None), ("call", "skipped", None)
CALL_FAILED = ("call", "failed", None)
OUTCOMES: dict[tuple[str, str], Callable[[], str]] = {
    ("pytest", "passed"): phases(("setup", "passed", None), PASSED, ("teardown", "passed", None)),
    ("pytest", "failed"): phases(CALL_FAILED),
    ("pytest", "setup failed"): phases(("setup", "failed", None)),
    ("pytest", "teardown failed"): phases(PASSED, ("teardown", "failed", None)),
    ("pytest", "worker crashed"): phases(("crash", "failed", None)),
    ("pytest", "skipped"): phases(("setup", "skipped", None)),
    ("pytest", "xfailed"): phases(("call", "skipped", "reason")),
    ("pytest", "xpassed"): phases(("call", "passed", "reason")),
    ("pytest", "xfail(run=False)"): phases(("setup", "skipped", "reason: [NOTRUN] later")),
    ("pytest", "collected only"): not_ended,
    ("pytest", "rerun"): phases(("call", "rerun", None), PASSED),
    ("pytest", "twice"): twice,
    ("pytest", "other outcome"): phases(("call", "odd", None)),
    ("unittest", "success"): phases(PASSED),
    ("unittest", "failure"): phases(CALL_FAILED),
    ("unittest", "unexpected success"): phases(CALL_FAILED),
    ("unittest", "error"): phases(("setup", "failed", None)),
    ("unittest", "skip"): phases(SKIPPED),
    ("unittest", "expected failure"): phases(("call", "skipped", "expected")),
    ("unittest", "collected only"): not_ended,
    ("unittest", "twice"): twice,
    ("phpunit", "passed"): phpunit(""),
    ("phpunit", "failure"): phpunit("<failure/>"),
    ("phpunit", "error"): phpunit("<error/>"),
    ("phpunit", "skipped"): phpunit("<skipped/>"),
    ("phpunit", "incomplete"): phpunit("<skipped/>"),
    ("phpunit", "twice"): twice,
    ("phpunit", "risky"): phpunit("<error type='PHPUnit\\Framework\\RiskyTestError'/>"),
    ("phpunit", "warning"): phpunit("<warning/>"),
    ("node", "pass"): phases(PASSED),
    ("node", "fail"): phases(CALL_FAILED),
    ("node", "skip"): phases(SKIPPED),
    ("node", "todo fail"): phases(("call", "skipped", "todo")),
    ("node", "todo pass"): phases(("call", "passed", "todo")),
    ("node", "twice"): twice,
    ("tape", "ok"): phases(PASSED),
    ("tape", "not ok"): phases(CALL_FAILED),
    ("tape", "skip"): phases(SKIPPED),
    ("tape", "todo not ok"): phases(("call", "skipped", "todo")),
    ("tape", "todo ok"): phases(("call", "passed", "todo")),
    ("tape", "collected only"): not_ended,
    ("tape", "twice"): twice,
    ("jest", "passed"): seen("jest-30.jsonl", "test/a.test.js > group > works"),
    ("jest", "failed"): seen("jest-30.jsonl", "test/a.test.js > group > breaks"),
    ("jest", "pending"): seen("jest-30.jsonl", "test/a.test.js > group > again"),
    ("jest", "skipped"): phases(SKIPPED),
    ("jest", "failing"): seen("jest-30.jsonl", "test/a.test.js > known"),
    ("jest", "todo"): seen("jest-30.jsonl", "test/a.test.js > group > later"),
    ("jest", "retried"): seen("jest-30.jsonl", "test/a.test.js > flaky"),
    ("jest", "twice"): seen("jest-30.jsonl", "test/a.test.js > twice"),
    ("jest", "disabled"): phases(("call", "jest says disabled", None)),
    ("vitest", "pass"): seen("vitest-4.jsonl", "test/a.test.js > group > works"),
    ("vitest", "fail"): seen("vitest-4.jsonl", "test/a.test.js > group > breaks"),
    ("vitest", "beforeAll failed"): seen("vitest-4.jsonl", "test/c.test.js > hooked > never"),
    ("vitest", "skip"): seen("vitest-4.jsonl", "test/a.test.js > group > again"),
    ("vitest", "fails"): seen("vitest-4.jsonl", "test/a.test.js > known"),
    ("vitest", "todo"): seen("vitest-4.jsonl", "test/a.test.js > group > later"),
    ("vitest", "queued"): phases(("call", "skipped", "[NOTRUN] it never came to its end")),
    ("vitest", "retried"): seen("vitest-4.jsonl", "test/a.test.js > flaky"),
    ("vitest", "twice"): seen("vitest-4.jsonl", "test/a.test.js > twice"),
    ("mocha", "pass"): seen("mocha-12.jsonl", "test/a.js > group > works"),
    ("mocha", "fail"): seen("mocha-12.jsonl", "test/a.js > group > breaks"),
    ("mocha", "hook failed"): seen("mocha-12.jsonl", "test/a.js > after each > torn"),
    ("mocha", "pending"): seen("mocha-12.jsonl", "test/a.js > group > later"),
    ("mocha", "after a failed hook"): not_ended,
    ("mocha", "retried"): seen("mocha-12.jsonl", "test/a.js > flaky"),
    ("mocha", "twice"): seen("mocha-12.jsonl", "test/a.js > twice"),
    ("go", "pass"): go("run", "pass"),
    ("go", "fail"): go("run", "fail"),
    ("go", "no end"): go("run"),
    ("go", "skip"): go("run", "skip"),
    ("go", "twice"): go("run", "pass", "run", "pass"),
    ("go", "bench"): go("run", "bench"),
    ("cargo", "ok"): cargo("ok", "1 passed; 0 failed; 0 ignored; 0 measured"),
    ("cargo", "FAILED"): cargo("FAILED", "0 passed; 1 failed; 0 ignored; 0 measured"),
    ("cargo", "ignored"): cargo("ignored, slow", "0 passed; 0 failed; 1 ignored; 0 measured"),
    ("cargo", "twice"): twice,
    ("cargo", "bench"): cargo("bench:          10 ns/iter", "0 passed; 0 failed; 0 ignored; 1 measured"),
    ("nextest", "ok"): nextest(("started", "a"), ("ok", "a")),
    ("nextest", "failed"): nextest(("started", "a"), ("failed", "a")),
    ("nextest", "timeout"): nextest(("started", "a"), ("timeout", "a")),
    ("nextest", "no end"): nextest(("started", "a")),
    ("nextest", "ignored"): nextest(("ignored", "a")),
    ("nextest", "retried"): nextest(("failed", "a"), ("ok", "a#2")),
    ("nextest", "twice"): nextest(("ok", "a"), ("ok", "a")),
    ("nextest", "other event"): nextest(("odd", "a")),
    ("tap", "ok"): tap("ok 1 - a"),
    ("tap", "not ok"): tap("not ok 1 - a"),
    ("tap", "skip"): tap("ok 1 - a # SKIP"),
    ("tap", "todo not ok"): tap("not ok 1 - a # TODO"),
    ("tap", "todo ok"): tap("ok 1 - a # TODO"),
    ("tap", "twice"): twice,
    ("unity", "PASS"): unity("PASS"),
    ("unity", "FAIL"): unity("FAIL: x", failures=1),
    ("unity", "IGNORE"): unity("IGNORE", ignored=1),
    ("unity", "twice"): twice,
    ("junit", "testcase"): junit(""),
    ("junit", "failure"): junit("<failure/>"),
    ("junit", "error"): junit("<error/>"),
    ("junit", "skipped"): junit("<skipped/>"),
    ("junit", "twice"): twice,
    ("junit", "risky"): junit("<error type='RiskyTestError'/>"),
    ("junit", "warning"): junit("<warning/>"),
    ("ctrf", "passed"): ctrf("passed"),
    ("ctrf", "failed"): ctrf("failed"),
    ("ctrf", "skipped"): ctrf("skipped"),
    ("ctrf", "pending"): ctrf("pending"),
    ("ctrf", "flaky"): ctrf("passed", flaky=True),
    ("ctrf", "twice"): twice,
    ("ctrf", "other"): ctrf("other"),
}


@pytest.mark.parametrize(("runner", "word"), OUTCOMES)
def test_a_word_becomes_the_status_that_the_table_says(runner: str, word: str) -> None:
    assert OUTCOMES[runner, word]() == words()[runner, word]


def test_the_table_says_nothing_that_is_not_tried_here() -> None:
    assert words().keys() == OUTCOMES.keys()


def test_every_reader_and_every_status_stands_in_the_tables() -> None:
    readers = {reader.name for reader in built_in()}
    statuses, sources = (
        next(table for table in tables() if table[0][1] == second) for second in ("passed", "recognised by")
    )

    assert {row[0] for row in statuses[1:]} == {row[0] for row in sources[1:]} == readers
    assert {*statuses[0][1:], "missing"} == set(get_args(Status))


def test_what_the_page_says_a_runner_is_recognised_by_recognises_it() -> None:
    sources = next(table for table in tables() if table[0][1] == "recognised by")

    for name, by, *_ in sources[1:]:
        reader = next(reader for reader in built_in() if reader.name == name)
        for command in re.findall(r"`([^`]+)`", by):
            assert reader.recognises(command) != command.startswith("report: "), command
