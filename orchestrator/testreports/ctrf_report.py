"""CTRF, the JSON that many test runners can write: the command writes it to $PROCTOR_REPORT."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from orchestrator.testreports.file_report import FileReporter
from orchestrator.testreports.report import Status, TestReport, once

_WORDS: Mapping[str, Status] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "not_run",
    "other": "unknown",
}


class CtrfReporter(FileReporter):
    """Ids are `suite > name`, or the name alone. Only used where a check says `report: ctrf`."""

    name = "ctrf"
    suffix = "json"
    what = "CTRF"

    def parse(self, data: bytes) -> TestReport:
        return read_ctrf(data)


def read_ctrf(data: bytes) -> TestReport:
    """One CTRF file. A flaky test passed only after it had failed, which is two results."""
    try:
        results = json.loads(data)["results"]
        listed, summary = results["tests"], results["summary"]
        if not isinstance(listed, list):
            raise TypeError("its tests are no list")
        tests = [_test(test) for test in listed]
        told = {word: int(summary[word]) for word in ("tests", *_WORDS)}
        tool = str(results.get("tool", {}).get("name", "CTRF"))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as trouble:
        said = f"{type(trouble).__name__}: {trouble}"[:200]
        return TestReport("report_unreadable", problems=(f"the report is no CTRF: {said}",), tool="CTRF")
    counts = Counter({"tests": len(tests)}) + Counter(word for _, word, _ in tests)
    wrong = [
        f"{word}: {said} told, {counts[word]} listed" for word, said in told.items() if said != counts[word]
    ]
    if wrong:
        problem = f"the report's summary does not fit its tests ({'; '.join(wrong)})"
        return TestReport("report_unreadable", problems=(problem,), tool=tool)
    statuses, doubled = once(
        (test_id, status)
        for test_id, word, flaky in tests
        for status in ((_WORDS.get(word, "unknown"), "failed") if flaky else (_WORDS.get(word, "unknown"),))
    )
    return TestReport("graded" if statuses else "nothing_ran", statuses, doubled=doubled, tool=tool)


def _test(test: Mapping[str, Any]) -> tuple[str, str, bool]:
    """(id, status word, whether it passed only when it was tried again)."""
    suite = test.get("suite")
    above = [suite] if isinstance(suite, str) else list(suite or ())
    name = test["name"]
    if not isinstance(name, str) or not all(isinstance(title, str) for title in above):
        raise TypeError("a test's name is no text")
    retried = bool(test.get("flaky")) or (test["status"] == "passed" and int(test.get("retries") or 0) > 0)
    return " > ".join((*above, name)), str(test["status"]), retried
