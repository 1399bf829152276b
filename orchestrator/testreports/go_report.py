"""`go test`: the events of its own `-json`, asked for through GOFLAGS.

The go tool makes them out of what the test binary prints, so they prove what a printed log proves: a result
that is printed twice is ambiguous, a package without its own end is an incomplete run, and a binary that
imitates a whole run word for word and then exits by itself is believed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once, printed_text
from sandboxes.spec import Command

_RUNS_GO = re.compile(r"""(?:^|[\s;&|(/"'`])go\s+test(?=$|[\s;&|)"'`])""")
_NOT_BUILT = re.compile(r"FAIL\s+(\S+) \[(?:build|setup) failed\]\s*")
_WORDS: Mapping[str, Status] = {"pass": "passed", "fail": "failed", "skip": "skipped", "bench": "unknown"}


class GoReporter:
    """Reads Go 1.14 or newer. Ids are `import/path::TestName/subtest`; a test with subtests is one, too."""

    name = "go"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_GO.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        flags = " ".join(filter(None, (env.get("GOFLAGS"), "-json")))
        return Step(Command(command, env={"GOFLAGS": flags}))

    def read(self, result: StepResult, token: str) -> TestReport:
        text = printed_text(result)
        return text if isinstance(text, TestReport) else read_events(text)


def read_events(text: str) -> TestReport:
    """The events of every `go test` that one command ran.

    >>> line = '{"Action": "%s", "Package": "p", "Test": "T"}\\n'
    >>> read_events(line % "run" + line % "pass" + '{"Action": "pass", "Package": "p"}\\n').statuses
    {'p::T': 'passed'}
    """
    packages: dict[str, _Package] = {}
    for event in _events(text):
        packages.setdefault(event["Package"], _Package()).take(event)
    unbuilt = [found[1] for found in map(_NOT_BUILT.fullmatch, text.split("\n")) if found]
    if not packages and not unbuilt:
        hint = "the command must run go test, leave GOFLAGS open and print what it prints"
        return TestReport("report_missing", problems=(f"go printed no event; {hint}",))
    statuses, doubled = once(
        (f"{name}::{test}", status)
        for name, package in packages.items()
        for test, status in package.results()
    )
    collection: dict[str, Status] = dict.fromkeys(unbuilt, "error")
    collection |= {name: "error" for name, package in packages.items() if package.failed_by_itself}
    open_ended = [name for name, package in packages.items() if not package.end]
    problems = [f"{name} never came to its end" for name in open_ended]
    if collection:
        problems.append(f"not built, or failed outside of any test: {', '.join(list(collection)[:3])}")
    return TestReport(
        _end(bool(open_ended), statuses, collection),
        statuses,
        tuple(problems),
        collection=collection,
        doubled=doubled,
        tool="go test",
    )


def _end(open_ended: bool, statuses: Mapping[str, Status], collection: Mapping[str, Status]) -> ReportEnd:
    if open_ended or (collection and not statuses):
        return "run_incomplete"
    return "graded" if statuses else "nothing_ran"


@dataclass
class _Package:
    begun: list[str] = field(default_factory=list)
    ended: list[tuple[str, Status]] = field(default_factory=list)
    end: str = ""

    def take(self, event: Mapping[str, Any]) -> None:
        test, action = event.get("Test"), event["Action"]
        if action == "run" and isinstance(test, str):
            self.begun.append(test)
        elif action in _WORDS and isinstance(test, str):
            self.ended.append((test, _WORDS[action]))
        elif action in _WORDS:
            self.end = action

    def results(self) -> Iterator[tuple[str, Status]]:
        """Tests that began and have no end went down with their binary."""
        yield from self.ended
        known = {test for test, _ in self.ended}
        yield from ((test, "error") for test in dict.fromkeys(self.begun) if test not in known)

    @property
    def failed_by_itself(self) -> bool:
        return self.end == "fail" and not any(status in ("failed", "error") for _, status in self.results())


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Lines of other programs are left alone."""
    for line in text.split("\n"):
        if not line.startswith("{"):
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and isinstance(event.get("Action"), str) and event.get("Package"):
            yield {**event, "Package": str(event["Package"])}
