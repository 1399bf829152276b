"""gold: the task's own fix. What a perfect candidate would hand in; a task it fails is not valid."""

from __future__ import annotations

from orchestrator.agents import Brought, State, no_argument
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import TaskInvalid


class Gold:
    """Brings the task's own fix."""

    name = "gold"

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> Gold:
        no_argument(cls.name, arg)
        return cls()

    def fingerprint(self, task: Task) -> str:
        return ""

    def brings(self, task: Task, state: State | None) -> Brought:
        """The fix, and `expected.response` as the response when the task has one.

        Raises TaskInvalid when the task has an environment and no fix to bring.
        """
        gold = None if state is None else state.gold
        if task.has_environment and gold is None:
            raise TaskInvalid(f"task {task.id} has no fix for gold to bring; give it a fix_patch")
        response = task.expected.get("response")
        return Brought(gold or b"", response if isinstance(response, str) else "")
