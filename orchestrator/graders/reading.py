"""format, fact_match and tool_usage: graders that read what the question itself expects (rules 104, 105).

    expected:
      format: json                    # or {format: json, strict: true}
      facts: ["disk full", "noon"]
      expected_tools: [search, {name: open, arguments: {page: 2}}]   # or {calls: [...], in_order: true}

Each works as the check of its name does; the check's score, times five, is the grade.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.agents import AgentReport
from orchestrator.checks.fact_match import FactMatchExecutor
from orchestrator.checks.fields import Mistake
from orchestrator.checks.format import FormatExecutor
from orchestrator.checks.paths import PathError, texts
from orchestrator.checks.tool_usage import ToolUsageExecutor, wanted_calls
from orchestrator.contract import Check, CheckExecutor, Context
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.graders import no_argument
from orchestrator.outcomes import HIGHEST_GRADE, Grade, Verdict


class _Reading:
    """One check, made from the question's `expected`."""

    name = ""
    reads = ""
    """The key of `expected` it reads."""
    executor: CheckExecutor

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark, config: Config) -> _Reading:
        no_argument(cls.name, arg)
        return cls()

    def problems(self, task: Task) -> Iterator[str]:
        try:
            if self.reads in task.expected:
                self.prove(task)
        except (PathError, Mistake) as cause:
            yield f"{self.name} cannot read expected.{self.reads}: {cause}"

    def prove(self, task: Task) -> None:
        """Raises PathError or Mistake for what nothing could be held against."""

    def check(self, wanted: Any) -> Check:
        raise NotImplementedError

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        if self.reads not in task.expected:
            return Grade(self.name, None, f"the question has no expected.{self.reads}")
        context = Context(task.row, None, report.trajectory)
        outcome = self.executor.execute(self.check(task.expected[self.reads]), report.response, context)
        score = None if outcome.score is None else HIGHEST_GRADE * outcome.score
        return Grade(self.name, score, self.reason(outcome.reason), outcome.details)

    def reason(self, said: str) -> str:
        """The check's reason, as far as it is the grader's."""
        return said


class FormatGrader(_Reading):
    """Is the response a document of the expected format? 5 or 0."""

    name = reads = "format"
    executor = FormatExecutor()

    def check(self, wanted: Any) -> Check:
        asked = wanted if isinstance(wanted, Mapping) else {"format": wanted}
        return {"kind": "format", **asked}

    def prove(self, task: Task) -> None:
        wanted = task.expected[self.reads]
        if isinstance(wanted, Mapping) and not set(wanted) <= {"format", "strict"}:
            raise Mistake("write a format's name, or {format: NAME, strict: true}")
        self.executor.judge(self.check(wanted), "", Context())  # an unknown format is the author's mistake


class FactMatchGrader(_Reading):
    """The share of the expected facts that the response names, times five (C-54)."""

    name = "fact_match"
    reads = "facts"
    executor = FactMatchExecutor()

    def check(self, wanted: Any) -> Check:
        return {"kind": "fact_match", "source": "expected.facts", "threshold": 0}

    def prove(self, task: Task) -> None:
        texts(task.row, "expected.facts")

    def reason(self, said: str) -> str:
        return said.removesuffix("; 0 wanted")  # the threshold is the check's


class ToolUsageGrader(_Reading):
    """The share of the expected calls that the agent's own record shows, times five.

    Arguments that an expected call names must be equal. With `in_order` the calls must also come in the
    order in which they are listed, others between them or not. Without a record there is no grade.
    """

    name = "tool_usage"
    reads = "expected_tools"
    executor = ToolUsageExecutor()

    def check(self, wanted: Any) -> Check:
        nested = isinstance(wanted, Mapping) and "calls" in wanted
        source = "expected.expected_tools.calls" if nested else "expected.expected_tools"
        in_order = wanted.get("in_order", False) if nested else False
        return {"kind": "tool_usage", "source": source, "match_args": True, "in_order": in_order}

    def prove(self, task: Task) -> None:
        wanted = task.expected[self.reads]
        nested = isinstance(wanted, Mapping) and "calls" in wanted
        if nested and not (
            set(wanted) <= {"calls", "in_order"} and isinstance(wanted.get("in_order", False), bool)
        ):
            raise Mistake("write a list of calls, or {calls: [...], in_order: true}")
        wanted_calls(wanted["calls"] if nested else wanted, match_args=True)

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        if report.trajectory is None:
            return Grade(self.name, None, "there is no record of the agent's calls")
        return super().grade(task, report, verdict, criteria)
