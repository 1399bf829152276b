"""Whole trials over rooms in memory: each agent, each owner of a fault, from documents to records."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sandboxes import fakeshell
from sandboxes.errors import ImageUnavailable, SandboxLost
from sandboxes.fake import FakeProvider, FakeRoom
from sandboxes.protocol import Done, Usage
from sandboxes.spec import Command


def test_gold_passes_and_nothing_fails(bench):
    runs = bench("word")

    summary = runs.run("gold", "noop")

    assert (summary.counts["passed"], summary.counts["failed"], summary.exit_code) == (1, 1, 1)
    assert runs.latest()["word noop"].end == "change_empty"


def test_predictions_are_graded_byte_for_byte_and_a_missing_one_fails_with_its_reason(bench):
    runs = bench("word", "other")
    preds = runs.folder / "preds.jsonl"
    fix = (runs.folder / "fix.patch").read_text()
    preds.write_text(json.dumps({"instance_id": "word", "model_name_or_path": "m-1", "model_patch": fix}))

    runs.run(f"predictions:{preds}")

    found = runs.latest()
    word, other = found["word predictions"], found["other predictions"]
    assert (word.status, word.agent.model) == ("passed", "m-1")
    assert (runs.out / word.artifacts["change.patch"]).read_text() == fix
    assert other.status == "failed" and "no prediction for this task" in other.agent.note


def test_a_changed_prediction_is_never_served_the_old_verdict(bench):
    runs = bench("word")
    preds = runs.folder / "preds.jsonl"
    wrong = (runs.folder / "fix.patch").read_text().replace("+right", "+left")
    right = (runs.folder / "fix.patch").read_text()

    for patch, status in ((wrong, "failed"), (right, "passed"), (right, "passed")):
        preds.write_text(json.dumps({"instance_id": "word", "model_patch": patch}))
        summary = runs.run(f"predictions:{preds}")
        assert runs.latest()["word predictions"].status == status

    assert summary.kept == 1 and len(runs.records) == 2


def test_a_command_works_in_its_own_room_and_its_change_is_graded(bench):
    runs = bench({"id": "word", "input": "Say right."})

    runs.run("command:echo right > answer.txt; cat /tmp/instruction.md")

    record = runs.latest()["word command"]
    assert (record.status, record.agent.ended, record.agent.exit_code) == ("passed", "finished", 0)
    assert (runs.out / record.artifacts["response.txt"]).read_text() == "Say right."
    assert [p.phase for p in record.phases if p.phase in ("act", "capture")] == ["act", "capture"]


def test_what_the_agents_commands_used_belongs_to_its_phase(bench):
    def script(room: FakeRoom, command: Command) -> Done:
        return replace(fakeshell.run(room, command), usage=Usage(1000, 0.5, 0.25))

    runs = bench("word")
    runs.provider.script = script

    runs.run("command:echo right > answer.txt")

    (act,) = [phase for phase in runs.latest()["word command"].phases if phase.phase == "act"]
    assert (act.peak_memory, act.cpu_seconds, act.throttled_seconds) == (1000, 0.5, 0.25)


@pytest.mark.parametrize(
    ("command", "ended"),
    [("echo right > answer.txt; exit 3", "failed"), ("echo right > answer.txt; nonsense", "failed")],
)
def test_what_a_failing_agent_left_is_graded_all_the_same(bench, command, ended):
    runs = bench("word")

    runs.run(f"command:{command}")

    record = runs.latest()["word command"]
    assert (record.status, record.agent.ended) == ("passed", ended)


def test_an_agent_over_its_time_is_graded_on_what_is_there(bench):
    runs = bench({"id": "word", "limits": {"agent_time": 0.2}})

    runs.run("command:echo right > answer.txt; sleep 60")

    record = runs.latest()["word command"]
    assert (record.status, record.agent.ended) == ("passed", "limit_hit:time")


def test_a_task_that_is_right_already_is_invalid_for_everyone(bench):
    runs = bench("word")
    (runs.folder / "repo" / "answer.txt").write_text("right\n")
    (runs.folder / "fix.patch").write_text(
        "--- a/answer.txt\n+++ b/answer.txt\n@@ -1 +1,2 @@\n right\n+more\n"
    )

    summary = runs.run("gold", "noop")

    assert summary.counts["invalid"] == 2 and summary.exit_code == 2
    assert all(record.score is None for record in runs.records)


@pytest.mark.parametrize(
    ("fault", "attempts"), [(SandboxLost("gone"), 3), (ImageUnavailable("no such image"), 1)]
)
@pytest.mark.parametrize("call", ["provision", "run"])
def test_trouble_with_rooms_is_never_a_score(bench, fault, attempts, call):
    runs = bench("word")
    runs.provider = FakeProvider(faults={call: fault})

    summary = runs.run("gold", "noop")

    assert summary.counts["errored"] == 2 and summary.pass_rate is None and summary.exit_code == 3
    assert len(runs.records) == 2 * attempts
    assert all((r.status, r.end, r.score) == ("errored", fault.end, None) for r in runs.records)


def test_a_rubric_that_changed_is_graded_again_on_resume(bench):
    runs = bench("word")
    runs.run("gold")
    rubric = runs.folder / "rubrics" / "right.yaml"
    rubric.write_text(rubric.read_text().replace("grep right", "grep -q right"))

    assert runs.run("gold").kept == 0
    assert runs.run("gold").kept == 1
