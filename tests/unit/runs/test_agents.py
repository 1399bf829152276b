"""Agents that bring their work, one that acts in a room, and how a spec names them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from orchestrator.agents import Actor, Bringer, make, make_all
from orchestrator.agents.command import INSTRUCTION, CommandAgent
from orchestrator.agents.gold import Gold
from orchestrator.agents.noop import Noop
from orchestrator.agents.predictions import Predictions
from orchestrator.deadline import Deadline
from orchestrator.documents.benchmark import Environment, Task
from orchestrator.errors import AuthoringError, TaskInvalid
from sandboxes.errors import SandboxLost
from sandboxes.fake import FakeProvider, done, ended
from sandboxes.protocol import Usage
from sandboxes.spec import RoomSpec

KINDS = {"gold": Gold, "noop": Noop, "predictions": Predictions, "command": CommandAgent}
NO_FIX = SimpleNamespace(gold=None)
FIX = SimpleNamespace(gold=b"--- a\r\n+++ b\n\xff")


def test_the_built_in_agents_are_of_the_two_kinds(benchmark, tmp_path):
    preds = tmp_path / "preds.jsonl"
    preds.write_text('{"instance_id": "t", "model_patch": ""}')
    agents = make_all(("gold", "noop", f"predictions:{preds}", "command:echo hi"), KINDS, benchmark("t"))

    assert [isinstance(agent, Bringer) for agent in agents.values()] == [True, True, True, False]
    assert [isinstance(agent, Actor) for agent in agents.values()] == [False, False, False, True]
    assert [agent.name for agent in agents.values()] == list(agents)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "glod",
            r'unknown agent "glod"; did you mean "gold"\? known agents: command, gold, noop, predictions',
        ),
        ("", "known agents: command, gold"),
        ("gold:fast", "takes no argument"),
        ("noop:x", "takes no argument"),
        ("command:  ", "needs a command"),
        ("command:a\0b", "NUL"),
        ("predictions", "needs a file or a folder"),
        ("predictions:nowhere.jsonl", "nowhere.jsonl: no such file"),
    ],
)
def test_a_spec_that_names_no_agent_says_what_would(benchmark, spec, said):
    with pytest.raises(AuthoringError, match=said):
        make(spec, KINDS, benchmark("t"))


def test_all_wrong_specs_are_told_at_once(benchmark):
    with pytest.raises(AuthoringError) as error:
        make_all(("gold", "glod", "command"), KINDS, benchmark("t"))

    assert len(error.value.problems) == 2


def test_a_command_may_hold_colons(benchmark):
    agent = make("command:echo a:b", KINDS, benchmark("t"))

    assert isinstance(agent, CommandAgent) and agent.command == "echo a:b"


def test_gold_brings_the_fix_byte_for_byte_and_the_response_the_task_expects():
    task = Task(id="t", environment=Environment(host=True), expected={"response": "because"})

    brought = Gold().brings(task, FIX)

    assert (brought.change, brought.response) == (FIX.gold, "because")


def test_a_task_without_a_fix_is_invalid_for_gold_and_a_question_is_not():
    with pytest.raises(TaskInvalid, match="give it a fix_patch"):
        Gold().brings(Task(id="t", environment=Environment(host=True)), NO_FIX)

    assert Gold().brings(Task(id="q"), None).change == b""


def test_noop_brings_nothing():
    brought = Noop().brings(Task(id="t"), FIX)

    assert (brought.change, brought.response) == (b"", "")


@pytest.fixture
def act():
    """Runs a command agent in a fake room; `answer` is what the room says to the command."""

    def run(command="./solve.sh", answer=None, deadline=None, **task):
        seen = {}

        def script(room, asked):
            seen.update(command=asked, instruction=room.read(INSTRUCTION, 1 << 20))
            return answer

        provider = FakeProvider(script=script)
        with provider.provision(RoomSpec()) as room:
            report = CommandAgent(command).act(
                Task(id="t", **task), room, deadline or Deadline.after(60, "agent_time")
            )
        return report, seen

    return run


def test_the_instruction_is_on_stdin_and_in_a_file_and_stdout_is_the_response(act):
    report, seen = act(answer=done(0, "my answer\n", "thinking"), input="Mend it.\r\nBitte schön.")

    command = seen["command"]
    assert command.argv == "./solve.sh"
    assert command.stdin == seen["instruction"] == "Mend it.\r\nBitte schön.".encode()
    assert command.env == {"PROCTOR_TASK": "t", "PROCTOR_INSTRUCTION": INSTRUCTION}
    assert (report.ended, report.exit_code, report.response) == ("finished", 0, "my answer\n")
    assert report.log == b"thinking"


def test_a_response_that_is_not_utf8_stays_bytes(act):
    report, _ = act(answer=done(0, b"\xff\xfe"))

    assert report.response == b"\xff\xfe"


@pytest.mark.parametrize(
    ("answer", "ended_as", "note"),
    [
        (done(3), "failed", "exit code 3"),
        (done(137), "failed", "exit code 137"),
        (ended("signalled", signal=11), "failed", "signal 11"),
        (ended("missing_binary"), "failed", "could not be started"),
        (ended("limit_hit:memory"), "limit_hit:memory", "memory limit"),
        (ended("limit_hit:output"), "limit_hit:output", "output limit"),
        (ended("limit_hit:time"), "limit_hit:time", "time limit"),
    ],
)
def test_how_an_agent_failed_is_a_value(act, answer, ended_as, note):
    report, _ = act(answer=answer)

    assert report.ended == ended_as and note in report.note
    assert report.exit_code == answer.exit_code


def test_the_nearer_limit_stops_the_agent_and_is_named():
    times = iter([0.0, 1.0, 8.0])  # asked before the start, for the timeout, at the end
    deadline = Deadline(5.0, "trial_time", lambda: next(times))
    provider = FakeProvider(script=lambda room, command: ended("limit_hit:time"))

    with provider.provision(RoomSpec()) as room:
        report = CommandAgent("sleep 60").act(Task(id="t"), room, deadline)

    assert report.ended == "limit_hit:time" and "trial_time" in report.note


def test_an_agent_whose_time_is_up_before_it_begins_is_not_started(act):
    report, seen = act(deadline=Deadline(0.0, "trial_time", lambda: 1.0))

    assert report.ended == "limit_hit:time" and "trial_time" in report.note and not seen


def test_what_the_command_used_is_told(act):
    answer = done(0, seconds=1.5)
    object.__setattr__(answer, "usage", Usage(peak_memory=4096, cpu_seconds=0.5))

    report, _ = act(answer=answer)

    assert report.usage == {"seconds": 1.5, "peak_memory": 4096, "cpu_seconds": 0.5}


def test_a_lost_room_is_not_the_agents_failure(act):
    with pytest.raises(SandboxLost):
        act(answer=SandboxLost("gone"))
