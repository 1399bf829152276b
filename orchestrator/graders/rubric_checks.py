"""rubric_checks: the rubric's verdict as a grade (rules 40 to 44)."""

from __future__ import annotations

from orchestrator.agents import AgentReport
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.graders import no_argument
from orchestrator.outcomes import HIGHEST_GRADE, Grade, Verdict


class RubricChecks:
    name = "rubric_checks"

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark, config: Config) -> RubricChecks:
        no_argument(cls.name, arg)
        return cls()

    def problems(self, task: Task) -> tuple[str, ...]:
        return ()

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        """Five times the rubric's score; None when nothing was executed (rule 42)."""
        if verdict is None:
            return Grade(self.name, None, "no rubric was executed")
        score = None if verdict.score is None else HIGHEST_GRADE * verdict.score
        return Grade(self.name, score, verdict.reason, {"rubric": verdict.rubric, "passed": verdict.passed})
