"""pytest, through a plug-in of our own: raw node ids, every phase, and proof that the run came to its end."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.jsonlines import judge_layer, read_step, report_path, reporting
from orchestrator.testreports.report import TestReport
from sandboxes.spec import Command

_RUNS_PYTEST = re.compile(r"""(?:^|[\s;&|(/"'`])(?:py\.test|pytest)(?=$|[\s;&|)"'`])""")
_HINT = (
    "the command must leave PYTHONPATH and PYTEST_ADDOPTS open "
    "(write PYTHONPATH=src:$PYTHONPATH) and must not run python with -E, -I or -S"
)


class PytestReporter:
    """Reads pytest 6 to 9, with or without xdist."""

    name = "pytest"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_PYTEST.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        options = " ".join(filter(None, (env.get("PYTEST_ADDOPTS"), "-p proctor_pytest")))
        ours = reporting("PYTEST", env, token) | {"PYTEST_ADDOPTS": options}
        asked = Command(command, env=ours)
        return Step(asked, reads=(report_path(token),), layers=(judge_layer(),))

    def read(self, result: StepResult, token: str) -> TestReport:
        return read_step(result, token, _HINT)
