"""What test runners report: {test id: status}, read from files of ours or from recorded logs."""

from __future__ import annotations

from orchestrator.testreports.phpunit_output import PhpunitOutput
from orchestrator.testreports.pytest_report import PytestReporter
from orchestrator.testreports.report import FAILING, PASSING, Reporter, Status, TestReport
from orchestrator.testreports.unittest_report import UnittestReporter

__all__ = [
    "FAILING",
    "PASSING",
    "PhpunitOutput",
    "PytestReporter",
    "Reporter",
    "Status",
    "TestReport",
    "UnittestReporter",
    "built_in",
]


def built_in() -> tuple[Reporter, ...]:
    """The readers that ship, in the order they are asked whether they recognise a command."""
    return PytestReporter(), UnittestReporter(), PhpunitOutput()
