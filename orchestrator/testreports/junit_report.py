"""Any test runner that can write JUnit XML: the command writes it to $PROCTOR_REPORT."""

from __future__ import annotations

from orchestrator.testreports import junit
from orchestrator.testreports.file_report import FileReporter
from orchestrator.testreports.report import TestReport, once


class JUnitReporter(FileReporter):
    """Ids are `classname::name`. Only used where a check says `report: junit`."""

    name = "junit"
    suffix = "xml"
    what = "JUnit"

    def parse(self, data: bytes) -> TestReport:
        return read_junit(data)


def read_junit(data: bytes) -> TestReport:
    """One JUnit file of any runner."""
    try:
        statuses, doubled = once((junit.named(case), case.status) for case in junit.cases(data))
    except junit.JUnitTrouble as trouble:
        return TestReport("report_unreadable", problems=(str(trouble),), tool="JUnit XML")
    return TestReport("graded" if statuses else "nothing_ran", statuses, doubled=doubled, tool="JUnit XML")
