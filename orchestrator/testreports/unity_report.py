"""Unity, the C test framework: one printed line for each test, and a line of totals at the end.

    file:line:name:PASS        file:line:name:FAIL: words        file:line:name:IGNORE: words
    26 Tests 0 Failures 0 Ignored

Printed by the test program itself, and lost as a whole when it dies with its output still buffered: a program
killed by a signal is its own end, never an empty success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.testreports.printed import PrintedReporter
from orchestrator.testreports.report import Status, TestReport, once

_LINE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<name>[^:\n]+):(?P<word>PASS|FAIL|IGNORE)\b.*$", re.MULTILINE
)
_TOTALS = re.compile(r"^(\d+) Tests (\d+) Failures (\d+) Ignored ?\r?$", re.MULTILINE)
_WORDS: Mapping[str, Status] = {"PASS": "passed", "FAIL": "failed", "IGNORE": "skipped"}


class UnityReporter(PrintedReporter):
    """Ids are `file::test`, the file without its folders. Only used where a check says `report: unity`."""

    name = "unity"

    def parse(self, text: str) -> TestReport:
        return read_lines(text)


def read_lines(text: str) -> TestReport:
    """The lines of every Unity program that one command ran.

    >>> read_lines("t/m.c:3:adds:PASS\\n1 Tests 0 Failures 0 Ignored\\n").statuses
    {'m.c::adds': 'passed'}
    """
    lines = list(_LINE.finditer(text))
    statuses, doubled = once((_id(found), _WORDS[found["word"]]) for found in lines)
    totals = [tuple(map(int, numbers)) for numbers in _TOTALS.findall(text)]
    if not lines and not totals:
        return TestReport("report_missing", problems=("the command printed no line of Unity's",))
    words = [found["word"] for found in lines]
    told = tuple(map(sum, zip(*totals, strict=True))) if totals else ()
    if told != (len(words), words.count("FAIL"), words.count("IGNORE")):
        problem = "its totals do not fit its lines" if totals else "it never printed its totals"
        return TestReport("run_incomplete", statuses, (f"the test program: {problem}",), tool="Unity")
    return TestReport("graded" if statuses else "nothing_ran", statuses, doubled=doubled, tool="Unity")


def _id(found: re.Match[str]) -> str:
    file = re.split(r"[\\/]", found["file"])[-1]
    return f"{file}::{found['name']}"
