"""PHPUnit: a JUnit report asked for from outside the command, held against the totals that PHPUnit prints."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports import junit
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, judge_layer, report_path
from orchestrator.testreports.phpunit_output import read_output
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once, printed_text
from sandboxes.spec import Command

_RUNS_PHPUNIT = re.compile(r"""(?:^|[\s;&|(/"'`])phpunit(?:-[\d.]+)?(?:\.phar)?(?=$|[\s;&|)"'`])""")
RUNS = 9
"""How often one command may run PHPUnit."""


class PhpunitReporter:
    """Reads PHPUnit 8 to 12. Ids are `Namespace\\Class::method`, then ` with data set "..."`.

    The report is written by PHPUnit when it comes to its end. Without it the printed totals remain, which
    name no test.
    """

    name = "phpunit"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_PHPUNIT.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        ours = {
            "PHP_INI_SCAN_DIR": f"{env.get('PHP_INI_SCAN_DIR', '')}:{JUDGE_FOLDER}/php",
            "PROCTOR_PHPUNIT_REPORT": report_path(token),
        }
        return Step(Command(command, env=ours), reads=_paths(token), layers=(judge_layer(),))

    def read(self, result: StepResult, token: str) -> TestReport:
        printed = read_output(result.done.stdout.text)
        for path in _paths(token):
            if path in result.unread:
                return TestReport("report_unreadable", problems=(f"the report is {result.unread[path]}",))
        files = [data for path in _paths(token) if (data := result.files.get(path)) is not None]
        whole = printed_text(result)
        if not files and isinstance(whole, TestReport):
            return whole
        return read_reports(files, printed)


def read_reports(files: list[bytes], printed: TestReport) -> TestReport:
    """The JUnit files of one command, and what PHPUnit printed meanwhile."""
    if not files:
        return printed
    if any(not data for data in files):
        return TestReport("run_incomplete", problems=("PHPUnit never came to its end",), tool=printed.tool)
    try:
        cases = [case for data in files for case in junit.cases(data)]
    except junit.JUnitTrouble as trouble:
        return TestReport("report_unreadable", problems=(str(trouble),), tool=printed.tool)
    statuses, doubled = once((_id(case), case.status) for case in cases)
    end: ReportEnd = "graded" if statuses else "nothing_ran"
    problems: tuple[str, ...] = ()
    if printed.end == "run_incomplete":
        end, problems = "run_incomplete", printed.problems
    elif printed.end == "graded" and (told := contradiction(printed.unnamed, [c.status for c in cases])):
        end, problems = "report_unreadable", (told,)
    # A command may hide what PHPUnit prints; code under test may as well, and then writes what it likes.
    silent = ("PHPUnit's printed totals, which are missing",) if printed.end == "report_missing" else ()
    tool = printed.tool or "PHPUnit"
    return TestReport(end, statuses, problems, doubled=doubled, tool=tool, changed=silent)


def contradiction(printed: Mapping[Status, int], reported: list[Status]) -> str:
    """What the printed totals and the report say against each other; empty when they agree. Code under test
    may write over the report when the process ends, but not over what was printed."""
    told = sum(printed.values())
    if told != len(reported):
        return f"PHPUnit printed {told} tests and reported {len(reported)}"
    wrong = printed.get("failed", 0) + printed.get("error", 0)
    counted = sum(status in ("failed", "error") for status in reported)
    return f"PHPUnit printed {wrong} failures and reported {counted}" if wrong > counted else ""


def _id(case: junit.Case) -> str:
    owner = case.attributes.get("class") or case.attributes.get("classname", "").replace(".", "\\")
    name = case.attributes.get("name", "")
    return f"{owner}::{name}" if owner else name


def _paths(token: str) -> tuple[str, ...]:
    return tuple(f"{report_path(token)}.{number}" for number in range(1, RUNS + 1))
