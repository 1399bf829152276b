"""command: any shell command, run in the agent's room.

It gets the task's instruction on stdin and in the file that $PROCTOR_INSTRUCTION names, and the task's id
in $PROCTOR_TASK. What it prints on stdout is its response; what it leaves in the work tree is its change.
"""

from __future__ import annotations

from typing import Any

from orchestrator.agents import AgentReport, text_or_bytes
from orchestrator.deadline import Deadline
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError
from sandboxes.protocol import Done, Sandbox
from sandboxes.spec import Command, Entry

INSTRUCTION = "/tmp/instruction.md"
"""Belongs to root and is read-only; outside the work tree, so never part of the change."""


class CommandAgent:
    """Runs one shell command in the agent's room: how any coding agent with a command line takes part."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.name = f"command:{command}"

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> CommandAgent:
        if not arg.strip():
            raise AuthoringError('agent command needs a command; write --agent command:"./solve.sh"')
        if "\0" in arg:
            raise AuthoringError("agent command: a command cannot hold a NUL character")
        return cls(arg)

    def fingerprint(self, task: Task) -> str:
        return ""

    def act(self, task: Task, sandbox: Sandbox, deadline: Deadline) -> AgentReport:
        """Run the command. Its failure, a limit it hit, a missing binary are values: graded all the same."""
        if deadline.expired:
            return AgentReport("limit_hit:time", note=f"{deadline.cause} was used up before the agent began")
        instruction = task.input.encode("utf-8", "surrogateescape")
        folder, _, name = INSTRUCTION.rpartition("/")
        sandbox.write([Entry(name.encode(), 0o100644, instruction)], folder, owner="root")
        done = sandbox.run(
            Command(
                self.command,
                timeout=deadline.timeout(),
                stdin=instruction,
                env={"PROCTOR_TASK": task.id, "PROCTOR_INSTRUCTION": INSTRUCTION},
            )
        )
        ended, note = _ended(done, deadline)
        return AgentReport(
            ended=ended,
            exit_code=done.exit_code,
            response=text_or_bytes(done.stdout.data),
            usage=_usage(done),
            note=note,
            log=done.stderr.data,
        )


def _ended(done: Done, deadline: Deadline) -> tuple[str, str]:
    if done.ok:
        return "finished", ""
    if done.limit == "time" and deadline.expired:
        return done.end, f"the agent was stopped by {deadline.cause}"
    if done.limit:
        return done.end, f"the agent hit its {done.limit} limit"
    if done.end == "missing_binary":
        return "failed", "the agent's command could not be started"
    said = f"signal {done.signal}" if done.end == "signalled" else f"exit code {done.exit_code}"
    return "failed", f"the agent ended with {said}"


def _usage(done: Done) -> dict[str, Any]:
    usage: dict[str, Any] = {"seconds": round(done.seconds, 6)}
    if done.usage.peak_memory is not None:
        usage["peak_memory"] = done.usage.peak_memory
    if done.usage.cpu_seconds is not None:
        usage["cpu_seconds"] = done.usage.cpu_seconds
    return usage
