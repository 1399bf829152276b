"""Judges over the fake provider, and scripted test runs that leave real reports."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract import ChangedFile, Context
from orchestrator.evidence import RoomJudge
from sandboxes.fake import FakeProvider, FakeRoom, done
from sandboxes.protocol import Done
from sandboxes.spec import Command, Entry, RoomSpec

Files = Mapping[str, str]
DATA = Path(__file__).parents[2] / "data" / "oracles"


class MemoryTrees:
    """Work trees by name, as {path: text}."""

    def __init__(self, **trees: Files) -> None:
        self.trees = trees

    def entries(self, tree: str) -> Iterator[Entry]:
        return (Entry(path.encode(), 0o100644, text.encode()) for path, text in self.trees[tree].items())

    def delta(self, old: str, new: str) -> tuple[list[Entry], list[bytes]]:
        before, after = self.trees[old], self.trees[new]
        written = [e for e in self.entries(new) if before.get(e.path.decode()) != e.data.decode()]
        return written, [path.encode() for path in before if path not in after]

    def changes(self) -> tuple[ChangedFile, ...]:
        before, after = self.trees["before"], self.trees["after"]
        found = []
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path), after.get(path)
            if old != new:
                status = "added" if old is None else "deleted" if new is None else "modified"
                found.append(
                    ChangedFile(path, None, status, old and old.encode(), new and new.encode())  # type: ignore[arg-type]
                )
        return tuple(found)


@pytest.fixture
def data() -> Path:
    return DATA


@pytest.fixture
def make_judge() -> Callable[..., RoomJudge]:
    """make_judge(script=None, before={...}, after={...}, provider=None, **RoomJudge arguments)."""

    def make(
        script: Any = None,
        before: Files | None = None,
        after: Files | None = None,
        provider: FakeProvider | None = None,
        **arguments: Any,
    ) -> RoomJudge:
        before = {"state": "broken\n"} if before is None else before
        after = {"state": "fixed\n"} if after is None else after
        trees = MemoryTrees(before=before, after=after)
        return RoomJudge(
            provider=provider or FakeProvider(script=script),
            room=arguments.pop("room", RoomSpec()),
            trees=trees,
            judge_tree="before",
            graded_tree="after",
            changes=arguments.pop("changes", trees.changes),
            **arguments,
        )

    return make


@pytest.fixture
def run_check(make_judge: Callable[..., RoomJudge]) -> Callable[..., Any]:
    """run_check(executor, check, script=..., ...) -> CheckOutcome."""

    def run(executor: Any, check: Mapping[str, Any], *arguments: Any, **named: Any) -> Any:
        return executor.execute(check, "", Context(judge=make_judge(*arguments, **named)))

    return run


def state(room: FakeRoom) -> str:
    """The text of the file `state`: which side this room shows."""
    return (room.read(f"{room.spec.workdir}/state", 1000) or b"").decode().strip()


@pytest.fixture
def by_state() -> Callable[..., Any]:
    """by_state(broken=Done, fixed=Done): a script that answers by the side the room shows."""

    def script(**answers: Any) -> Callable[[FakeRoom, Command], Done | BaseException]:
        def answer(room: FakeRoom, command: Command) -> Any:
            found = answers[state(room)]
            return found(room, command) if callable(found) else found

        return answer

    return script


def report_bytes(nonce: str, tests: list[tuple[str, str]], exit_status: int, **end: Any) -> bytes:
    """What the plug-in writes, for (id, outcome) pairs; outcome "xfail-norun" and "skipped" are known."""
    phases = {
        "passed": [["setup", "passed", None], ["call", "passed", None], ["teardown", "passed", None]],
        "failed": [["setup", "passed", None], ["call", "failed", None], ["teardown", "passed", None]],
        "error": [["setup", "failed", None], ["teardown", "passed", None]],
        "skipped": [["setup", "skipped", None], ["teardown", "passed", None]],
        "xfailed": [
            ["setup", "passed", None],
            ["call", "skipped", "reason: x"],
            ["teardown", "passed", None],
        ],
        "not_run": [["setup", "skipped", "reason: [NOTRUN] x"], ["teardown", "passed", None]],
    }
    lines: list[dict[str, Any]] = [{"kind": "begin", "tool": "pytest 8.3.4"}]
    lines += [{"kind": "test", "id": i, "phases": phases[outcome]} for i, outcome in tests]
    lines += end.pop("extra", [])
    cut = end.pop("cut", False)
    mac, data = hmac.new(nonce.encode(), digestmod=hashlib.sha256), b""
    for facts in lines:
        line = json.dumps({**facts, "run": "r1"}).encode() + b"\n"
        mac.update(line)
        data += line
    if cut:
        return data
    last = {
        "kind": "end",
        "run": "r1",
        "ran": len({i for i, _ in tests}),
        "not_run": [],
        "lines": len(lines),
        "exit_status": exit_status,
        "digest": mac.hexdigest(),
        **end,
    }
    return data + json.dumps(last).encode() + b"\n"


@pytest.fixture
def make_report() -> Callable[..., bytes]:
    return report_bytes


@pytest.fixture
def reported_run() -> Callable[..., Any]:
    """reported_run(exit_code, {id: outcome}): a scripted run of pytest that leaves a report."""

    def make(exit_code: int, tests: Mapping[str, str] | list[tuple[str, str]], **end: Any) -> Any:
        pairs = list(tests.items()) if isinstance(tests, Mapping) else tests
        status = end.pop("exit_status", exit_code)

        def answer(room: FakeRoom, command: Command) -> Done:
            path = command.env["PROCTOR_PYTEST_REPORT"]
            report = report_bytes(command.env["PROCTOR_PYTEST_NONCE"], pairs, status, **end)
            folder, _, name = path.rpartition("/")
            room.write([Entry(name.encode(), 0o100644, report)], folder, owner="candidate")
            return done(exit_code)

        return answer

    return make
