"""noop: hands in nothing. A task that it passes measures nothing."""

from __future__ import annotations

from orchestrator.agents import Brought, State, no_argument
from orchestrator.documents.benchmark import Benchmark, Task


class Noop:
    """Brings an empty change and no answer."""

    name = "noop"

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark) -> Noop:
        no_argument(cls.name, arg)
        return cls()

    def fingerprint(self, task: Task) -> str:
        return ""

    def brings(self, task: Task, state: State | None) -> Brought:
        return Brought()
