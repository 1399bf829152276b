"""What test runners report: {test id: status}, read from files of ours or from recorded logs."""

from __future__ import annotations

from orchestrator.testreports.cargo_report import CargoReporter
from orchestrator.testreports.ctrf_report import CtrfReporter
from orchestrator.testreports.go_report import GoReporter
from orchestrator.testreports.javascript_report import JestReporter, MochaReporter, VitestReporter
from orchestrator.testreports.junit_report import JUnitReporter
from orchestrator.testreports.nextest_report import NextestReporter
from orchestrator.testreports.node_report import NodeReporter, TapeReporter
from orchestrator.testreports.phpunit_report import PhpunitReporter
from orchestrator.testreports.pytest_report import PytestReporter
from orchestrator.testreports.report import FAILING, PASSING, Reporter, Status, TestReport
from orchestrator.testreports.tap_report import TapReporter
from orchestrator.testreports.unittest_report import UnittestReporter
from orchestrator.testreports.unity_report import UnityReporter

__all__ = [
    "FAILING",
    "PASSING",
    "CargoReporter",
    "CtrfReporter",
    "GoReporter",
    "JUnitReporter",
    "JestReporter",
    "MochaReporter",
    "NextestReporter",
    "NodeReporter",
    "PhpunitReporter",
    "PytestReporter",
    "Reporter",
    "Status",
    "TapReporter",
    "TapeReporter",
    "TestReport",
    "UnittestReporter",
    "UnityReporter",
    "VitestReporter",
    "built_in",
]


def built_in() -> tuple[Reporter, ...]:
    """The readers that ship, in the order they are asked whether they recognise a command."""
    python = (PytestReporter(), UnittestReporter())
    node = (NodeReporter(), TapeReporter(), JestReporter(), VitestReporter(), MochaReporter())
    others = (PhpunitReporter(), GoReporter(), NextestReporter(), CargoReporter())
    named = (TapReporter(), UnityReporter(), JUnitReporter(), CtrfReporter())
    return (*python, *node, *others, *named)
