"""PHPUnit's totals, out of what it prints: enough to see that a green run tested nothing or died early.

Totals only, without ids, and printed by the candidate's own process: a fallback that can refuse a run, and
never the reason for a pass that the exit code does not give.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from orchestrator.testreports.report import Status, TestReport

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BANNER = re.compile(r"^PHPUnit (\d+\.\S+) by ", re.MULTILINE)
_FINE = re.compile(r"^OK \((\d+) tests?, (\d+) assertions?\)\s*$", re.MULTILINE)
_TOTALS = re.compile(r"^(Tests: \d+, Assertions: \d+.*?)\.?\s*$", re.MULTILINE)
_NOTHING = re.compile(r"^No tests executed!\s*$", re.MULTILINE)
_WORDS: Mapping[str, Status] = {
    "Failures": "failed",
    "Errors": "error",
    "Skipped": "skipped",
    "Incomplete": "skipped",
    "Risky": "unknown",
}


def read_output(text: str) -> TestReport:
    """Every run of PHPUnit in one command's output, its totals added up."""
    text = _ESCAPES.sub("", text)
    banners = _BANNER.findall(text)
    if not banners:
        return TestReport("report_missing", problems=("PHPUnit did not print its banner",))
    tool = f"PHPUnit {banners[0]}"
    counts: Counter[Status] = Counter()
    for total in _FINE.findall(text):
        counts["passed"] += int(total[0])
    for line in _TOTALS.findall(text):
        counts += _counted(line)
    nothing = len(_NOTHING.findall(text))
    ends = len(_FINE.findall(text)) + len(_TOTALS.findall(text)) + nothing
    if ends < len(banners):
        return TestReport("run_incomplete", problems=("PHPUnit never printed its totals",), tool=tool)
    if nothing and not counts:
        return TestReport("nothing_ran", problems=("PHPUnit executed no test",), tool=tool)
    return TestReport("graded", unnamed=dict(counts), tool=tool)


def _counted(line: str) -> Counter[Status]:
    """One totals line as statuses; what is not named otherwise passed."""
    said = {name.strip(): int(count) for name, count in re.findall(r"([A-Z][A-Za-z ]*): (\d+)", line)}
    counts: Counter[Status] = Counter()
    for name, status in _WORDS.items():
        counts[status] += said.get(name, 0)
    counts["passed"] += max(0, said.get("Tests", 0) - sum(counts.values()))
    return +counts
