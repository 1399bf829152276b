"""`python -m unittest`, watched from inside its own process: test ids, and proof that it came to its end."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.jsonlines import judge_layer, read_step, report_path, reporting
from orchestrator.testreports.report import TestReport
from sandboxes.spec import Command

_RUNS_UNITTEST = re.compile(r"""\bpython[\d.]*\s(?:[^;&|]*\s)?-\w*m\s+unittest(?=$|[\s;&|)"'`])""")
_HINT = (
    "the command must leave PYTHONPATH open (write PYTHONPATH=src:$PYTHONPATH) "
    "and must not run python with -E, -I or -S"
)


class UnittestReporter:
    """Reads the unittest of Python 3.6 or newer. Ids are dotted: "tests.test_m.TestF.test_g"."""

    name = "unittest"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_UNITTEST.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        asked = Command(command, env=reporting("UNITTEST", env, token))
        return Step(asked, reads=(report_path(token),), layers=(judge_layer(),))

    def read(self, result: StepResult, token: str) -> TestReport:
        return read_step(result, token, _HINT)
