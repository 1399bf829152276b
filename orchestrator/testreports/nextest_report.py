"""`cargo nextest`, by its libtest-json.

nextest runs each test in a process of its own, keeps what that prints, and says in JSON how it ended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.cargo_report import BROKEN, ESCAPES, NO_COLOUR
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once, printed_text
from sandboxes.spec import Command

_RUNS_NEXTEST = re.compile(r"""(?:^|[\s;&|(/"'`])cargo(?:\s+[-+][^\s;&|]+)*[\s-]nextest(?=$|[\s;&|)"'`])""")


class NextestReporter:
    """Reads cargo-nextest 0.9 through its libtest-json. Ids are `crate::binary$module::test`."""

    name = "nextest"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_NEXTEST.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        ours = {
            **NO_COLOUR,
            "NEXTEST_EXPERIMENTAL_LIBTEST_JSON": "1",
            "NEXTEST_MESSAGE_FORMAT": "libtest-json",
            "NEXTEST_MESSAGE_FORMAT_VERSION": "0.1",
        }
        return Step(Command(command, env=ours))

    def read(self, result: StepResult, token: str) -> TestReport:
        text = printed_text(result)
        return text if isinstance(text, TestReport) else read_nextest(text, result.done.stderr.text)


_SUMMARY = re.compile(r"^ *Summary \[.*\] +(\d+)(?:/\d+)? tests? run\b", re.M)
_ATTEMPT = re.compile(r"(.+)#\d+", re.S)
_EVENTS: Mapping[str, Status] = {
    "ok": "passed",
    "failed": "failed",
    "ignored": "skipped",
    "timeout": "failed",
}


def read_nextest(stdout: str, stderr: str) -> TestReport:
    """nextest's events on `stdout`, held against its summary on `stderr`."""
    stderr = ESCAPES.sub("", stderr)
    begun: set[str] = set()
    ended: list[tuple[str, Status]] = []
    for event in _json_events(stdout):
        name = _whole_name(str(event.get("name")), begun)
        begun.add(name)
        if event.get("event") != "started":
            ended.append((name, _EVENTS.get(str(event.get("event")), "unknown")))
    summary = _SUMMARY.search(stderr)
    if not begun and summary is None:
        broken = BROKEN.search(stderr)
        if broken:
            return TestReport("run_incomplete", problems=(f"cargo says: {broken[0]}",), tool="nextest")
        if "no tests to run" in stderr:
            return TestReport("nothing_ran", problems=("nextest found no tests",), tool="nextest")
        return TestReport("report_missing", problems=("cargo nextest printed no event",))
    statuses, doubled = once(ended)
    statuses = {**dict.fromkeys(sorted(begun - statuses.keys()), "error"), **statuses}
    ran = len({name for name, status in ended if status != "skipped"})
    if summary is None:
        problem = "nextest never came to its summary"
    else:
        problem = (
            "" if int(summary[1]) == ran else f"nextest says it ran {summary[1]} tests and told of {ran}"
        )
    end: ReportEnd = "run_incomplete" if problem else "graded" if statuses else "nothing_ran"
    return TestReport(end, statuses, (problem,) if problem else (), doubled=doubled, tool="nextest")


def _whole_name(name: str, begun: set[str]) -> str:
    """A further attempt at a test is the same test: `name#2`."""
    attempt = _ATTEMPT.fullmatch(name)
    return attempt[1] if attempt and attempt[1] in begun else name


def _json_events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.split("\n"):
        try:
            event = json.loads(line) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and event.get("type") == "test" and isinstance(event.get("name"), str):
            yield event
