"""Reports that are what the command prints: nothing is asked of the runner, and nothing guards the lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.report import TestReport, printed_text
from sandboxes.spec import Command


class PrintedReporter(ABC):
    """Never recognised from a command: only used where a check names it."""

    names_tests = True

    def recognises(self, command: str) -> bool:
        return False

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return Step(Command(command))

    def read(self, result: StepResult, token: str) -> TestReport:
        text = printed_text(result)
        return text if isinstance(text, TestReport) else self.parse(text)

    @abstractmethod
    def parse(self, text: str) -> TestReport:
        """The report in what was printed, whole."""
