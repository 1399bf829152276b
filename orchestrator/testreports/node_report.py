"""Node's own test runner and tape, watched from inside by modules of ours that NODE_OPTIONS names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, judge_layer, nonce, read_step, report_path
from orchestrator.testreports.report import TestReport
from sandboxes.spec import Command

_RUNS_NODE = re.compile(r"""(?:^|[\s;&|(/"'`])node(?:js)?\s(?:[^;&|]*\s)?--test(?=$|[\s;&|)"'`])""")
_RUNS_TAPE = re.compile(r"""(?:^|[\s;&|(/"'`])tape(?=$|[\s;&|)"'`])""")
_HINT = "the command must run Node 20 or newer with --test and leave NODE_OPTIONS open"


class NodeReporter:
    """`node --test`. Ids are `file > title > nested title`; the file is relative to where it was started."""

    name = "node"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_NODE.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return _step(command, env, token, "NODE", _options(command))

    def read(self, result: StepResult, token: str) -> TestReport:
        return read_step(result, token, _HINT)


class TapeReporter:
    """tape 4 and 5. Ids are the titles of the tests, without a file."""

    name = "tape"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_TAPE.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return _step(command, env, token, "TAPE", f"--require={JUDGE_FOLDER}/proctor_tape.cjs")

    def read(self, result: StepResult, token: str) -> TestReport:
        return read_step(result, token, "the command must run tape and leave NODE_OPTIONS open")


def _step(command: str, env: Mapping[str, str], token: str, runner: str, options: str) -> Step:
    ours = {
        "NODE_OPTIONS": " ".join(filter(None, (options, env.get("NODE_OPTIONS")))),
        f"PROCTOR_{runner}_REPORT": report_path(token),
        f"PROCTOR_{runner}_NONCE": nonce(token),
    }
    return Step(Command(command, env=ours), reads=(report_path(token),), layers=(judge_layer(),))


def _options(command: str) -> str:
    """Our reporter, and a destination for the command's own: node wants one for each reporter or none."""
    ours = f"--require={JUDGE_FOLDER}/proctor_fixed.cjs"
    ours += f" --test-reporter={JUDGE_FOLDER}/proctor_node.mjs --test-reporter-destination=/dev/null"
    reporters = len(re.findall(r"--test-reporter(?=[=\s])", command))
    destinations = command.count("--test-reporter-destination")
    if not reporters:
        return f"{ours} --test-reporter=spec --test-reporter-destination=stdout"
    return ours if destinations else f"{ours} --test-reporter-destination=stdout"
