"""Green PHPUnit runs in which nothing was tested (case 13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.command import CommandExecutor
from orchestrator.errors import TaskInvalid
from orchestrator.testreports import PhpunitReporter
from orchestrator.testreports.phpunit_output import read_output
from sandboxes.fake import done

CHECK = {"kind": "command", "id": "t", "command": "vendor/bin/phpunit --colors=never"}


def recorded(data: Path, name: str) -> str:
    return (data / "phpunit_green_nothing" / name).read_text()


@pytest.mark.parametrize(("name", "end"), [("none.log", "nothing_ran"), ("died-early.log", "run_incomplete")])
def test_a_green_run_that_tested_nothing_is_no_pass(
    run_check: Callable[..., Any], data: Path, name: str, end: str
) -> None:
    output = done(0, recorded(data, name))

    outcome = run_check(CommandExecutor(), CHECK, script=lambda room, command: output)

    assert (outcome.status, outcome.details["end"]) == ("failed", end)


def test_a_run_of_skips_alone_holds_and_says_so(run_check: Callable[..., Any], data: Path) -> None:
    output = done(0, recorded(data, "skipped-only.log"))

    outcome = run_check(CommandExecutor(), CHECK, script=lambda room, command: output)

    assert outcome.passed
    assert "no test really ran" in outcome.reason
    assert outcome.details["report"]["counts"] == {"skipped": 2, "unknown": 1}


def test_totals_are_read() -> None:
    head = "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\n"

    assert read_output(head + "OK (3 tests, 5 assertions)\n").counts == {"passed": 3}
    red = read_output(head + "FAILURES!\nTests: 4, Assertions: 4, Failures: 1, Errors: 1.\n")
    assert red.counts == {"passed": 2, "failed": 1, "error": 1}
    assert red.disagreement(0) == "exit code 0, but the report says 2 went wrong"
    assert red.disagreement(1) == ""


def test_a_list_of_tests_is_not_judged_by_totals_alone(run_check: Callable[..., Any]) -> None:
    check = CHECK | {"expect": "test_transitions"}
    red = done(1, "PHPUnit 9.6.7 by Sebastian Bergmann.\n\nTests: 1, Assertions: 1, Failures: 1.\n")

    with pytest.raises(TaskInvalid, match="missing before the change, should fail: A::b"):
        run_check(
            CommandExecutor(), check, script=lambda room, command: red, expected={"fail_to_pass": ["A::b"]}
        )


@pytest.mark.parametrize(
    ("command", "known"), [("phpunit", True), ("php phpunit.phar x", True), ("cat phpunit.xml", False)]
)
def test_phpunit_is_recognised(command: str, known: bool) -> None:
    assert PhpunitReporter().recognises(command) is known
