"""Any test runner that can write JUnit XML: the command writes it to $PROCTOR_REPORT."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports import junit
from orchestrator.testreports.jsonlines import fresh_name
from orchestrator.testreports.report import TestReport, once
from sandboxes.spec import Command


class JUnitReporter:
    """Ids are `classname::name`. Only used where a check says `report: junit`."""

    name = "junit"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return False

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        path = _path(token)
        return Step(Command(command, env={"PROCTOR_REPORT": path}), reads=(path,))

    def read(self, result: StepResult, token: str) -> TestReport:
        path = _path(token)
        if path in result.unread:
            return TestReport("report_unreadable", problems=(f"the report is {result.unread[path]}",))
        data = result.files.get(path)
        if data is None:
            hint = "the command must write its JUnit report to $PROCTOR_REPORT"
            return TestReport("report_missing", problems=(f"the test runner left no report; {hint}",))
        return read_junit(data)


def read_junit(data: bytes) -> TestReport:
    """One JUnit file of any runner."""
    try:
        statuses, doubled = once((junit.named(case), case.status) for case in junit.cases(data))
    except junit.JUnitTrouble as trouble:
        return TestReport("report_unreadable", problems=(str(trouble),), tool="JUnit XML")
    return TestReport("graded" if statuses else "nothing_ran", statuses, doubled=doubled, tool="JUnit XML")


def _path(token: str) -> str:
    return f"/tmp/proctor-{fresh_name(token)}.xml"
