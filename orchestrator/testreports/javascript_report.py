"""jest, vitest and mocha: reporters of ours in their main process, added by a module that NODE_OPTIONS names.

Ids are `file > title > nested title`; the file is relative to where the runner was started. Nothing that
varies from run to run, such as a duration, is ever part of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, judge_layer, nonce, read_step, report_path
from orchestrator.testreports.report import TestReport
from sandboxes.spec import Command

_PRELOAD = f"--require={JUDGE_FOLDER}/proctor_runners.cjs"


class _JavaScriptReporter:
    """A runner whose script is called `name`. `nothing` is what it prints when it finds no test file."""

    names_tests = True

    def __init__(self, name: str, nothing: str) -> None:
        self.name = name
        self._runs = re.compile(rf"""(?:^|[\s;&|(/"'`])_?{name}(?:\.m?js)?(?=$|[\s;&|)"'`])""")
        self._nothing = re.compile(nothing)

    def recognises(self, command: str) -> bool:
        return bool(self._runs.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        ours = {
            "NODE_OPTIONS": " ".join(filter(None, (_PRELOAD, env.get("NODE_OPTIONS")))),
            f"PROCTOR_{self.name.upper()}_REPORT": report_path(token),
            f"PROCTOR_{self.name.upper()}_NONCE": nonce(token),
        }
        return Step(Command(command, env=ours), reads=(report_path(token),), layers=(judge_layer(),))

    def read(self, result: StepResult, token: str) -> TestReport:
        hint = f"the command must run {self.name} with Node and leave NODE_OPTIONS open"
        report = read_step(result, token, hint)
        printed = f"{result.done.stdout.text}\n{result.done.stderr.text}"
        if report.end == "report_missing" and self._nothing.search(printed):
            return TestReport("nothing_ran", problems=(f"{self.name} found no tests",), tool=self.name)
        return report


class JestReporter(_JavaScriptReporter):
    """Reads jest 26 to 30. jest 29 and older do not tell a `test.failing` from an ordinary test."""

    def __init__(self) -> None:
        super().__init__("jest", r"No tests found, exiting with code")


class VitestReporter(_JavaScriptReporter):
    """Reads vitest 1 to 4. Its own reporters of a configuration file give way to ours and its default."""

    def __init__(self) -> None:
        super().__init__("vitest", r"No test (?:suite |files? |files )?found")


class MochaReporter(_JavaScriptReporter):
    """Reads mocha 8 to 12. Flags of node itself belong into NODE_OPTIONS: mocha would start another process
    for them."""

    def __init__(self) -> None:
        super().__init__("mocha", r"No test files found")
