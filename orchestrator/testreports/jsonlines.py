"""Reports of our own plug-ins, from JSON lines to statuses; anything that does not add up is unreadable.

The format is `judge/proctor_report.py`'s; what it proves and what it cannot is said there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from orchestrator.contract import Key, Step, StepResult
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once
from sandboxes.spec import Entry, Layer

JUDGE_FOLDER = "/opt/proctor/judge"
"""Where the plug-ins lie in a room; belongs to root, read-only."""


def judge_layer() -> Layer:
    """The plug-ins as a layer; its digest is that of their content."""
    entries = tuple(_files(files("orchestrator.testreports").joinpath("judge"), ""))
    digest = hashlib.sha256(b"".join(e.path + b"\0" + e.data + b"\0" for e in entries)).hexdigest()
    return Layer(f"judge-{digest}", JUDGE_FOLDER, lambda: iter(entries))


def reporting(runner: str, env: Mapping[str, str], token: str) -> dict[str, str]:
    """The environment that makes a plug-in report: ours first on PYTHONPATH, a path and a nonce made from
    `token`. `env` is what the room has already."""
    path = (f"{JUDGE_FOLDER}/start", JUDGE_FOLDER, env.get("PYTHONPATH"))
    return {
        "PYTHONPATH": ":".join(filter(None, path)),
        f"PROCTOR_{runner}_REPORT": report_path(token),
        f"PROCTOR_{runner}_NONCE": nonce(token),
    }


def read_step(result: StepResult, token: str, hint: str) -> TestReport:
    """What one step left at `report_path`; `hint` says what usually is the matter when that is nothing."""
    path = report_path(token)
    if path in result.unread:
        return TestReport("report_unreadable", problems=(f"the report is {result.unread[path]}",))
    data = result.files.get(path)
    if data is None:
        return TestReport("report_missing", problems=(f"the test runner left no report; {hint}",))
    return read_report(data, nonce(token))


def read_report(data: bytes, nonce: str) -> TestReport:
    """The report's JSON lines as statuses; anything that does not add up makes it unreadable."""
    try:
        sections = _sections(data, nonce)
    except _Unreadable as problem:
        return TestReport("report_unreadable", problems=(str(problem),))
    statuses, doubled = _statuses(sections)
    problems = tuple(dict.fromkeys(p for s in sections for p in s.problems()))
    return TestReport(
        _end(sections, statuses),
        statuses,
        problems,
        doubled=doubled,
        collection={i: status for s in sections for i, status in s.collection.items()},
        exit_statuses=tuple(s.exit_status for s in sections if s.exit_status is not None),
        tool=sections[0].tool if sections else "",
        changed=tuple(dict.fromkeys(name for s in sections for name in s.changed)),
        hooks=tuple(dict.fromkeys(name for s in sections for name in s.hooks)),
    )


def status_of(phases: Iterable[tuple[str, str, str | None]]) -> Status:
    """One test's status from its phases: (setup|call|teardown|crash, outcome, wasxfail).

    Several calls are subtests: the worst counts.

    >>> status_of([("setup", "passed", None), ("call", "passed", None), ("teardown", "passed", None)])
    'passed'
    >>> status_of([("setup", "skipped", "reason: [NOTRUN] later"), ("teardown", "passed", None)])
    'not_run'
    """
    phases = list(phases)
    calls = [(outcome, xfail) for when, outcome, xfail in phases if when == "call"]
    around = [(outcome, xfail) for when, outcome, xfail in phases if when in ("setup", "teardown")]
    if any(outcome == "rerun" for _, outcome, _ in phases):
        return "ambiguous"
    if any(when == "crash" for when, _, _ in phases) or any(o == "failed" for o, _ in around):
        return "error"
    if any(outcome not in ("passed", "failed", "skipped") for _, outcome, _ in phases):
        return "unknown"
    found = [_call_status(*call) for call in calls] or [_call_status(*p) for p in around if p[0] == "skipped"]
    return min(found, key=_WORST.index, default="not_run")


_WORST: tuple[Status, ...] = ("failed", "not_run", "skipped", "xfailed", "xpassed", "passed")


def _call_status(outcome: str, xfail: str | None) -> Status:
    if outcome == "failed":
        return "failed"
    if xfail is None:
        return "passed" if outcome == "passed" else "skipped"
    if outcome == "passed":
        return "xpassed"
    return "not_run" if "[NOTRUN]" in xfail else "xfailed"


class _Unreadable(Exception):
    """The report contradicts itself; str() says how."""


@dataclass
class _Section:
    """One run of the test runner inside the command."""

    tool: str
    tests: list[tuple[str, Status]] = field(default_factory=list)
    collection: dict[str, Status] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    lines: int = 0
    ended: bool = False
    exit_status: int | None = None

    def problems(self) -> Iterator[str]:
        if not self.ended:
            yield f"the test runner never came to its end ({len(self.tests)} tests reported until then)"
        elif self.exit_status in _CLASSES:
            yield _CLASSES[self.exit_status]
        yield from (f"the test runner reports: {what}" for what in self.trouble)
        broken = [i for i, status in self.collection.items() if status == "error"]
        if broken:
            yield f"collection error in {', '.join(broken[:3])}" + (" ..." if broken[3:] else "")

    @property
    def incomplete(self) -> bool:
        return not self.ended or bool(self.trouble) or self.exit_status in (None, 2, 3, 4)


_CLASSES = {
    2: "the test runner was interrupted (exit status 2)",
    3: "the test runner had an internal error (exit status 3)",
    4: "the test runner was called wrongly (exit status 4)",
    5: "the test runner found no tests (exit status 5)",
}


def _sections(data: bytes, nonce: str) -> list[_Section]:
    found: dict[str, _Section] = {}
    macs: dict[str, dict[str, hmac.HMAC]] = {}
    *lines, cut = data.split(b"\n")
    keys = _keys_of(lines, nonce)
    for number, line in enumerate(lines, 1):
        try:
            facts = json.loads(line)
            run, kind = facts["run"], facts["kind"]
            if kind == "begin":
                if run in found:
                    raise _Unreadable(f"line {number}: a second begin of one run")
                found[run], macs[run] = _Section(str(facts["tool"])), {key: _mac(key) for key in keys}
            section = found[run]
            if section.ended:
                raise _Unreadable(f"line {number}: more after the end of its run")
            if kind == "end":
                _spend(_signing(str(facts["digest"]), macs[run], keys), keys)
            _take(section, kind, facts)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            raise _Unreadable(f"line {number} is not one of ours ({type(problem).__name__})") from None
        for mac in macs[run].values():
            mac.update(line + b"\n")
        section.lines += 1
    if cut and all(section.ended for section in found.values()):
        raise _Unreadable("more after the end of the report")
    return list(found.values())


def _keys_of(lines: Iterable[bytes], first: str) -> list[str]:
    """One key for each run of a test runner that began, in the order they were taken: none may be left out,
    since who runs in one process may know the keys of those after it."""
    found = [first]
    begun = sum(b'"kind": "begin"' in line or b'"kind":"begin"' in line for line in lines)
    while len(found) < min(begun, _MOST_RUNS):
        found.append(next_key(found[-1]))
    return found


_MOST_RUNS = 200
"""Runs of a test runner in one command that can be told apart."""


def _spend(key: str, keys: list[str]) -> None:
    """Every key but the first signs once: only the first may have been given to all runs, and no code of the
    candidate ever sees it."""
    if key != keys[0]:
        keys.remove(key)


def _signing(digest: str, macs: Mapping[str, hmac.HMAC], left: Iterable[str]) -> str:
    """The key under which a section's digest fits its lines."""
    for key in left:
        if hmac.compare_digest(digest, macs[key].hexdigest()):
            return key
    raise _Unreadable("the report's digest does not fit its lines: it was changed or forged")


def _take(section: _Section, kind: str, facts: Mapping[str, Any]) -> None:
    """Add one line to its section."""
    if kind == "test":
        phases = [(str(w), str(o), None if x is None else str(x)) for w, o, x in facts["phases"]]
        section.tests.append((str(facts["id"]), status_of(phases)))
    elif kind == "collect":
        section.collection[str(facts["id"])] = "error" if facts["outcome"] == "failed" else "skipped"
    elif kind == "trouble":
        section.trouble.append(str(facts["what"]))
    elif kind in ("changed", "hook"):
        (section.changed if kind == "changed" else section.hooks).append(str(facts["what"]))
    elif kind == "end":
        if facts["lines"] != section.lines or facts["ran"] != len({i for i, _ in section.tests}):
            raise _Unreadable("the report's own counts do not fit its lines")
        section.ended = True
        section.not_run = [str(i) for i in facts["not_run"]]
        section.exit_status = None if facts["exit_status"] is None else int(facts["exit_status"])
    elif kind != "begin":
        raise ValueError(kind)


def _statuses(sections: list[_Section]) -> tuple[dict[str, Status], dict[str, Status]]:
    """Every id once, and the worst result of those that came twice."""
    statuses, doubled = once(test for section in sections for test in section.tests)
    for section in sections:
        for test_id in section.not_run:
            statuses.setdefault(test_id, "not_run")
    return statuses, doubled


def _end(sections: list[_Section], statuses: Mapping[str, Status]) -> ReportEnd:
    if not sections:
        return "run_incomplete"
    if any(section.incomplete for section in sections):
        return "run_incomplete"
    return "graded" if statuses else "nothing_ran"


def _mac(nonce: str) -> hmac.HMAC:
    return hmac.new(nonce.encode(), digestmod=hashlib.sha256)


def report_path(token: str) -> str:
    """Unpredictable, in a folder that only this run uses."""
    return f"/tmp/proctor-{fresh_name(token)}/report.jsonl"


def fresh_name(token: str) -> str:
    """Part of a file's name that nobody without the token can know beforehand."""
    return hashlib.sha256(b"path " + token.encode()).hexdigest()[:32]


def nonce(token: str) -> str:
    return hashlib.sha256(b"nonce " + token.encode()).hexdigest()


def key_path(token: str) -> str:
    """Where the key lies until the test runner takes it."""
    return f"/tmp/proctor-{fresh_name(token)}/key"


def next_key(key: str) -> str:
    """The key of the command's next run of a test runner. Who knows it does not know the one before.

    >>> next_key("a") == next_key("b")
    False
    """
    return hashlib.sha256(b"next " + key.encode()).hexdigest()


def nonces(token: str, number: int = 8) -> tuple[str, ...]:
    """The keys of a command's first runs of a test runner."""
    found = [nonce(token)]
    while len(found) < number:
        found.append(next_key(found[-1]))
    return tuple(found)


def keys_in_files(step: Step, token: str) -> Step:
    """The step with its key out of the environment."""
    keys = {
        name: Key(key_path(token), word)
        for name, word in step.command.env.items()
        if name.startswith("PROCTOR_") and name.endswith("_NONCE")
    }
    return replace(step, keys=keys) if keys else step


def _files(folder: Traversable, prefix: str) -> Iterator[Entry]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir() and item.name != "__pycache__":
            yield from _files(item, f"{prefix}{item.name}/")
        elif item.name.endswith((".py", ".mjs", ".cjs", ".php", ".ini")):
            yield Entry(f"{prefix}{item.name}".encode(), 0o100644, item.read_bytes())
