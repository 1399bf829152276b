"""The keys of test reports: gone before the candidate's code begins, and none can be made of a later one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract import Key, Step
from orchestrator.deadline import Deadline
from orchestrator.evidence import _perform
from orchestrator.testreports.jsonlines import (
    key_path,
    keys_in_files,
    next_key,
    nonce,
    nonces,
    read_report,
)
from sandboxes.fake import FakeProvider, FakeRoom, done
from sandboxes.protocol import Done
from sandboxes.spec import Command, RoomSpec

JUDGE = Path(__file__).parents[3] / "orchestrator" / "testreports" / "judge"
TAKES = """import os, proctor_report
print(*proctor_report.take("X"))
print([name for name in os.environ if "PROCTOR" in name])
"""
TESTS = [("t.py::a", "passed")]


def taken(key_file: Path) -> list[str]:
    """What one test runner takes, and what of it its environment still holds."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PROCTOR_")},
        "PYTHONPATH": str(JUDGE),
        "PROCTOR_X_REPORT": "/r",
        "PROCTOR_X_NONCE": f"@{key_file}",
    }
    return subprocess.run(
        [sys.executable, "-c", TAKES], env=env, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_each_run_takes_its_own_key_and_leaves_the_next_ones(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text(nonce("t"))

    first, second = taken(key_file), taken(key_file)

    assert first == [f"/r {nonces('t')[0]}", "[]"]
    assert second == [f"/r {nonces('t')[1]}", "[]"]
    assert key_file.read_text() == nonces("t")[2]
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_that_is_not_there_is_no_key(tmp_path: Path) -> None:
    assert taken(tmp_path / "none") == ["/r ", "[]"]


def renamed(report: bytes, run: bytes) -> bytes:
    return report.replace(b'"r1"', b'"' + run + b'"')


def signed(make_report: Callable[..., bytes], key: str, tests: Any, run: bytes) -> bytes:
    """A whole section under a name of its own: the name is part of what is signed."""
    import hashlib
    import hmac
    import json

    lines = renamed(make_report("any", tests, 0), run).splitlines(keepends=True)
    mac = hmac.new(key.encode(), b"".join(lines[:-1]), hashlib.sha256)
    end = json.loads(lines[-1]) | {"digest": mac.hexdigest()}
    return b"".join(lines[:-1]) + json.dumps(end).encode() + b"\n"


def test_runs_of_one_command_are_read_with_one_key_each(make_report: Callable[..., bytes]) -> None:
    one = signed(make_report, nonces("t")[0], [("a", "passed")], b"r1")
    two = signed(make_report, nonces("t")[1], [("b", "failed")], b"r2")

    report = read_report(one + two, nonce("t"))

    assert (report.end, report.statuses) == ("graded", {"a": "passed", "b": "failed"})


@pytest.mark.parametrize("keys", [[1], [1, 2], [2], [1, 1], [2, 3, 4]])
def test_who_knows_only_later_keys_signs_nothing(make_report: Callable[..., bytes], keys: list[int]) -> None:
    """Code under test finds the next run's key, and may write the report anew with it."""
    forged = b"".join(
        signed(make_report, nonces("t")[key], TESTS, b"r%d" % number) for number, key in enumerate(keys)
    )

    report = read_report(forged, nonce("t"))

    assert report.end == "report_unreadable"
    assert "changed or forged" in report.problems[0]


def test_no_key_follows_from_the_one_after_it() -> None:
    chain = nonces("t", 5)

    assert [next_key(key) for key in chain[:-1]] == list(chain[1:])
    assert len(set(chain)) == 5


def test_a_steps_key_leaves_the_environment_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, bytes | None]] = []

    def script(room: FakeRoom, command: Command) -> Done:
        word = command.env["PROCTOR_X_NONCE"]
        seen.append((word, room.read(word.removeprefix("@"), 100) if word.startswith("@") else None))
        return done()

    step = keys_in_files(Step(Command("x", env={"PROCTOR_X_NONCE": nonce("t"), "A": "b"})), "t")
    with FakeProvider(script=script).provision(RoomSpec()) as room:
        _perform(room, step, Deadline())
        monkeypatch.setattr(FakeRoom, "in_memory", False)
        _perform(room, step, Deadline())

    assert step.keys == {"PROCTOR_X_NONCE": Key(key_path("t"), nonce("t"))}
    assert seen == [(nonce("t"), None), (f"@{key_path('t')}", nonce("t").encode())]


def test_a_step_without_a_key_is_as_it_was() -> None:
    step = Step(Command("x", env={"A": "b"}))

    assert keys_in_files(step, "t") is step
