"""Faults that people met in other tools of this field, each with the end it must have here."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks.missing import missing_program
from orchestrator.checks.transitions import nearest
from orchestrator.contract import StepResult
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.record import TrialRecord
from orchestrator.evidence import describe
from orchestrator.loading import lint_references
from orchestrator.plan import Plan, TrialJob
from orchestrator.report import AgentSummary, Report, as_json, summarise
from orchestrator.rubrics import RubricStore
from orchestrator.summary import STATUSES
from orchestrator.testreports import PhpunitReporter
from orchestrator.testreports.pytest_log import read_log
from orchestrator.worktree.change import Change
from sandboxes.fake import FakeProvider, FakeRoom, done, ended
from sandboxes.protocol import Done, Output, Provider
from sandboxes.spec import Command, RoomSpec

Graded = Callable[..., TrialRecord]
ANY_CHANGE = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
ODD = "diff --git a/o b/o\n--- a/o\n+++ b/o\n@@ -1,3 +1,3 @@\n-a\r\n+b\x85\u2028c \n \n x\r\n"


def exits(line: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "command", "id": "c", "command": line, **fields}


def says(exit_code: int, stderr: str) -> FakeProvider:
    """Rooms in which every command ends alike."""
    return FakeProvider(script=lambda room, command: done(exit_code, stderr=stderr))


# Patches on their way


def test_a_patch_is_the_same_bytes_by_json_by_file_and_by_output() -> None:
    """B002: text handling of a payload."""
    room = FakeProvider(script=lambda room, command: done(stdout=ODD.encode()))

    by_json = json.loads(json.dumps({"model_patch": ODD}))["model_patch"].encode()
    with room.provision(RoomSpec()) as opened:
        by_output = opened.run(Command("cat o")).stdout.data
    read = Change.read(by_json)

    assert by_json == by_output == read.patch == ODD.encode()
    assert read.mends == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_of_another_user_is_read_all_the_same(graded: Graded, tmp_path: Path) -> None:
    """B017: git's ownership check must never become an empty tree or diff."""
    owned = tmp_path / "owned"
    owned.mkdir()
    (owned / "a").write_text("1\n")
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=owned, check=True)
    for path in [owned, *owned.rglob("*")]:
        os.chown(path, 1000, 1000)

    source = {"kind": "git", "url": str(owned), "ref": "HEAD"}
    record = graded({}, exits("grep 1 a"), patch=ANY_CHANGE, source=source)

    assert (record.status, record.reason) == ("passed", "c: the command exits 0")


def test_an_agent_most_of_whose_changes_are_empty_is_doubted() -> None:
    """B018: half of a run once came back empty through a fault of the harness."""
    jobs = [TrialJob(f"{task}.a.1", "b", "1.0", task, "a", 1, 0.0, 0, "d") for task in "pqrs"]
    ends = ["change_empty", "change_empty", "graded", "graded"]
    records = [_failed(job, end) for job, end in zip(jobs, ends, strict=True)]

    report = summarise(records, Plan("b", "1.0", ("a",), 1, tuple(jobs)))

    (warning,) = report.warnings
    assert "a changed nothing in 2 of 4 graded trials" in warning
    assert as_json(report)["warnings"] == [warning]


@pytest.mark.parametrize(("agent", "empty"), [("noop", 4), ("a", 1), ("a", 0)])
def test_few_empty_changes_and_those_of_noop_are_as_they_should_be(agent: str, empty: int) -> None:
    counts = {**dict.fromkeys(STATUSES, 0), "failed": 4}
    line = AgentSummary(agent, 4, counts, 0.0, 0.0, empty)

    assert Report("b", "1.0", (), {}, (line,), (), 1).warnings == ()


# Commands and their ends


def test_a_stream_that_was_cut_says_how_long_it_was() -> None:
    """B027: silent truncation."""
    cut = Output(head=b"VERDICT\n", tail=b"end\n", total=50_000_000)

    facts = describe(StepResult(Done("exited", 0, None, cut, Output(), 1.0)))

    assert facts["truncated"] == {"stdout": 50_000_000}
    assert "truncated" not in describe(StepResult(done(0, "whole")))


def test_totals_out_of_a_cut_log_are_no_result() -> None:
    """B027: parsers refuse cut logs."""
    head = b"PHPUnit 9.6.0 by Example.\n\n..\n"
    cut = Output(head=head, tail=b"\nOK (2 tests, 2 assertions)\n", total=99_000_000)

    report = PhpunitReporter().read(StepResult(Done("exited", 0, None, cut, Output(), 1.0)), "token")

    assert report.end == "report_unreadable"
    assert "larger than what is kept" in report.problems[0]


def test_a_command_that_runs_over_ends_alone(graded: Graded) -> None:
    """B031: the limit of one command is not the end of the next."""

    def script(room: FakeRoom, command: Command) -> Done | None:
        return ended("limit_hit:time", seconds=2.0) if command.argv == "endless" else None

    checks = (exits("endless", id="slow"), exits("grep 1 a", id="quick"))
    record = graded({"a": "1\n"}, *checks, patch=ANY_CHANGE, provider=FakeProvider(script=script))

    assert record.verdict is not None
    assert [o.passed for o in record.verdict.outcomes] == [False, True]
    assert record.end == "limit_hit:time"


def test_an_agent_that_used_up_the_trials_time_is_graded_on_what_it_left(graded: Graded) -> None:
    """B133, B141: the nearer limit stops the agent and is named; the judge's time is counted afresh."""
    fields = {"limits": {"trial_time": 1}}

    record = graded({"a": "1\n"}, exits("grep 2 a"), agent="command:echo 2 > a; sleep 60", **fields)

    assert record.agent.ended == "limit_hit:time"
    assert record.agent.note == "the agent was stopped by trial_time"
    assert (record.status, record.end) == ("passed", "graded")


# Tools that are not there

NO_PYTEST = "/bin/sh: 1: pytest: not found\n"
NO_MODULE = "/usr/bin/python3: No module named pytest\n"


@pytest.mark.parametrize(
    ("line", "code", "stderr"),
    [
        ("pytest -q", 127, NO_PYTEST),
        ("pytest -q", 127, "/bin/sh: line 1: pytest: command not found\n"),
        ("python3 -m pytest -q", 1, NO_MODULE),
    ],
)
def test_a_tool_the_rooms_never_had_is_nobodys_failure(
    graded: Graded, line: str, code: int, stderr: str
) -> None:
    """B042: ten models "failed" because the test tool was gone from the image."""
    record = graded({"a": "1\n"}, exits(line), patch=ANY_CHANGE, provider=says(code, stderr))

    assert (record.status, record.end, record.score) == ("invalid", "task_invalid", None)
    assert "the room has no pytest, with or without the change" in record.reason


def test_a_guard_without_its_tool_is_nobodys_failure(graded: Graded) -> None:
    def script(room: FakeRoom, command: Command) -> Done | None:
        missing = "/bin/sh: 1: php: not found\n"
        return done(127, stderr=missing) if command.argv == "php -l a" else done(stdout="5\n")

    metadata = {"command": "cat a", "higher_is_better": True}
    check = {"kind": "score_delta", "tool": "number", "min_delta": 0, "metadata": metadata}
    record = graded(
        {"a": "5\n"},
        check | {"guard_command": "php -l a"},
        patch=ANY_CHANGE,
        provider=FakeProvider(script=script),
    )

    assert (record.status, record.score) == ("invalid", None)
    assert "the room has no php" in record.reason


def test_a_tool_that_only_the_change_broke_is_the_candidates_failure(graded: Graded) -> None:
    def script(room: FakeRoom, command: Command) -> Done:
        changed = room.read("/workspace/n", 10) is not None
        return done(127, stderr=NO_PYTEST) if changed else done(0)

    record = graded({"a": "1\n"}, exits("pytest -q"), patch=ANY_CHANGE, provider=FakeProvider(script=script))

    assert (record.status, record.score) == ("failed", 0.0)


@pytest.mark.parametrize(
    ("line", "code", "stderr"),
    [
        ("./run.sh", 127, "/bin/sh: 1: ./run.sh: not found\n"),
        ("./run.sh", 126, "/bin/sh: 1: ./run.sh: Permission denied\n"),
        ("PATH=bin:$PATH tool", 127, "/bin/sh: 1: tool: not found\n"),
        ("python3 -m app", 1, "/usr/bin/python3: No module named app\n"),
        ("python3 test.py", 1, "ModuleNotFoundError: No module named 'pytest'\n"),
    ],
)
def test_what_the_task_may_have_asked_for_is_the_candidates_to_bring(
    graded: Graded, line: str, code: int, stderr: str
) -> None:
    record = graded({"a": "1\n"}, exits(line), patch=ANY_CHANGE, provider=says(code, stderr))

    assert (record.status, record.score) == ("failed", 0.0)


def test_words_of_a_command_that_ended_well_name_no_missing_tool() -> None:
    assert missing_program(StepResult(done(0, stderr=NO_PYTEST))) == ""
    assert missing_program(StepResult(done(2, stderr=NO_MODULE))) == ""
    assert missing_program(StepResult(ended("limit_hit:time"))) == ""


# Tests and their lists


@pytest.mark.parametrize(
    ("expected", "warned"),
    [
        ({"fail_to_pass": ["a"]}, True),
        ({"fail_to_pass": ["a"], "pass_to_pass": []}, True),
        ({"fail_to_pass": ["a"], "pass_to_pass": ["b"]}, False),
        ({"fail_to_pass": ["a"], "pass_to_pass_count": 3}, False),
        ({}, False),
    ],
)
def test_lists_that_guard_no_working_test_are_warned_of(expected: dict[str, Any], warned: bool) -> None:
    """B058: a fix that breaks the rest is rewarded."""
    task = Task(id="t", expected=expected)
    benchmark = Benchmark(id="b", version="1.0", tasks=(task,), root=Path("/"), file="b.yaml")

    found = lint_references(benchmark, RubricStore([])).warnings

    assert [w.path for w in found if "no pass_to_pass" in w.message] == ["task t.expected"] * warned


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        ("t.py::test_f[length > 100]", "t.py::test_f[length > 100 ]"),
        ("t.py::test_quote", "t.py::test_quotes"),
        ("t.py::test_ok", None),
    ],
)
def test_the_nearest_id_is_named_only_when_it_is_near(wanted: str, near: str | None) -> None:
    """B061: the long path that two ids share does not make them near."""
    there = ["t.py::test_f[length > 100 ]", "t.py::test_quotes", "t.py::test_other"]
    folder = "packages/core/tests/unit/"

    found = nearest(folder + wanted, [folder + test_id for test_id in there])

    assert found == (near and folder + near)


def test_links_and_progress_lines_around_a_status_are_taken_off() -> None:
    """B062: terminal codes stick to the status word."""
    log = (
        "=========== short test summary info ===========\n"
        "\x1b]8;;file:///x\x07PASSED\x1b]8;;\x07 \x1b[1mt.py::a\x1b[0m\n"
        "collecting 1\rcollecting 22\rFAILED t.py::b\r\n"
        "=========== 1 failed, 1 passed in 0.1s ===========\n"
    )

    read = read_log(log)

    assert read.report.statuses == {"t.py::a": "passed", "t.py::b": "failed"}
    assert read.report.problems == ()


def test_a_non_zero_exit_that_no_test_explains_is_named(graded: Graded) -> None:
    """B079: a new version of a runner gives skips a failing exit code."""
    printed = (
        b"PHPUnit 11.0.0 by Example.\n\nSS\n\nOK, but some tests were skipped!\n"
        b"Tests: 2, Assertions: 0, Skipped: 2.\n"
    )
    rooms = FakeProvider(script=lambda room, command: done(1, stdout=printed))

    record = graded({"a": "1\n"}, exits("phpunit"), patch=ANY_CHANGE, provider=rooms)

    assert record.status == "failed"
    assert "exit code 1, though its test report says that nothing failed" in record.reason
    assert record.verdict is not None
    assert record.verdict.outcomes[0].details["report"]["tool"] == "PHPUnit 11.0.0"


# Zero is a number; engines have versions


def test_a_least_improvement_of_zero_means_no_worse(graded: Graded) -> None:
    """B107: a falsy zero."""
    metadata = {"command": "cat a", "higher_is_better": True}
    check = {"kind": "score_delta", "tool": "number", "min_delta": 0, "metadata": metadata}

    record = graded({"a": "5\n"}, check, patch=ANY_CHANGE)

    assert (record.status, record.score) == ("passed", 1.0)


@pytest.mark.parametrize("pattern", ["a", "b", "("])
def test_a_regex_outcome_names_the_engine_and_its_version(graded: Graded, pattern: str) -> None:
    """B117: answers differ by engine and version."""
    check = {"kind": "regex", "patterns": [pattern]}

    record = graded({"a": "1\n"}, check, agent="command:echo a; echo 2 > a")

    assert record.verdict is not None
    assert record.verdict.outcomes[0].details["engine"].startswith("PCRE2 10.")


# Rooms that are real

HONEST = """
cd /workspace
echo two > src/new.py; echo noise > x.log; printf '\\0\\377' > logo.bin; rm old.bin
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git log --format=%s; git -c user.name=x -c user.email=x@y commit -qam mine --amend; rm -rf .git/refs
"""
SLY = """
cd /workspace; echo 2 > a
for name in reward.txt result.json junit.xml; do echo 1 > /tmp/$name; echo 1 > $name; done
mkdir -p ~/.local/bin bin; printf '#!/bin/sh\\nexit 0\\n' > bin/grep; chmod +x bin/grep
cp -p bin/grep ~/.local/bin
echo 'PATH=/workspace/bin:$PATH; export PATH' > ~/.profile; cp ~/.profile ~/.bashrc
ln -s /etc/passwd out
(setsid sh -c 'while :; do echo EVIL > /tmp/e; sleep 0.05; done' > /dev/null 2>&1 &)
"""


def test_new_deleted_and_binary_files_are_captured_whatever_became_of_the_repository(
    graded: Graded, rooms: Provider
) -> None:
    """B007, B009, B050: nothing of the agent's own repository is believed."""
    files = {".gitignore": "*.log\n", "src/m.py": "1\n", "old.bin": "\0", "logo.bin": "\0x"}
    check = exits(
        "test -f src/new.py && test ! -e x.log && test ! -e old.bin && test $(wc -c < logo.bin) = 2"
    )

    record = graded(files, check, agent=f"command:{HONEST}", provider=rooms)

    assert record.status == "passed", record.reason
    assert record.change is not None
    assert record.change.files == ("logo.bin", "old.bin", "src/new.py")


def test_nothing_of_the_agents_room_reaches_the_judges(graded: Graded, rooms: Provider) -> None:
    """B047, B051, B053, B054: planted verdicts, tools, links and processes that live on."""
    honest = "test -L out && grep -x 2 a && test ! -e /tmp/reward.txt && test ! -e ~/.profile"
    honest += " && sleep 0.2 && test ! -e /tmp/e"

    record = graded(
        {"a": "1\n"},
        exits(honest, id="clean"),
        exits("grep -q never a", id="own_grep"),
        agent=f"command:{SLY}",
        provider=rooms,
    )

    assert record.verdict is not None
    assert [o.passed for o in record.verdict.outcomes] == [True, False], record.reason


def test_a_work_tree_behind_a_link_of_the_image_is_where_it_was_asked_for(
    graded: Graded, rooms: Provider
) -> None:
    """B145: `/var/run` is a link in most images."""
    agent = "command:echo 2 > a; pwd -P"

    record = graded({"a": "1\n"}, exits("grep 2 a"), agent=agent, provider=rooms, workdir="/var/run/x")

    assert record.status == "passed", record.reason


def _failed(job: TrialJob, end: str) -> TrialRecord:
    return TrialRecord.model_validate(
        {
            "trial": job.trial,
            "attempt": 1,
            "final": True,
            "benchmark": job.benchmark,
            "benchmark_version": job.benchmark_version,
            "task": job.task,
            "agent": {"name": job.agent},
            "repeat": 1,
            "status": "failed",
            "end": end,
            "score": 0.0,
            "reason": "",
            "rubric_ref": None,
            "started_at": "2026-01-01T00:00:00+00:00",
            "seconds": 0.5,
        }
    )
