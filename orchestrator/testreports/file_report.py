"""Reports that the command itself writes to a file whose name only this run knows: $PROCTOR_REPORT."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.jsonlines import fresh_name
from orchestrator.testreports.report import TestReport
from sandboxes.spec import Command


class FileReporter(ABC):
    """Never recognised from a command: only used where a check names it."""

    name: str
    names_tests = True
    suffix: str
    """Of the file: some runners choose the format by it."""
    what: str
    """The format, for people."""

    def recognises(self, command: str) -> bool:
        return False

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        path = self._path(token)
        return Step(Command(command, env={"PROCTOR_REPORT": path}), reads=(path,))

    def read(self, result: StepResult, token: str) -> TestReport:
        path = self._path(token)
        if path in result.unread:
            return TestReport("report_unreadable", problems=(f"the report is {result.unread[path]}",))
        data = result.files.get(path)
        if data is None:
            hint = f"the command must write its {self.what} report to $PROCTOR_REPORT"
            return TestReport("report_missing", problems=(f"the test runner left no report; {hint}",))
        return self.parse(data)

    @abstractmethod
    def parse(self, data: bytes) -> TestReport:
        """The report in the file, whole."""

    def _path(self, token: str) -> str:
        return f"/tmp/proctor-{fresh_name(token)}.{self.suffix}"
