"""rubric_checks: the rubric's verdict as a grade (rules 40 to 44).

`rubric_checks:ai_eval` executes only the kinds that the source system executes (C-55).
"""

from __future__ import annotations

from orchestrator.agents import AgentReport
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.errors import AuthoringError
from orchestrator.outcomes import HIGHEST_GRADE, Grade, Verdict

AI_EVAL = "rubric_checks:ai_eval"


class RubricChecks:
    name = "rubric_checks"

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark, config: Config) -> RubricChecks:
        if arg not in ("", "ai_eval"):
            raise AuthoringError(
                f'rubric_checks has no set of executors "{arg}": write {AI_EVAL}, or no argument'
            )
        return cls()

    def problems(self, task: Task) -> tuple[str, ...]:
        """A rubric is executed once, so one set of executors is in force."""
        chosen = [name for name in task.grader_names if name.partition(":")[0] == self.name]
        return ("rubric_checks is chosen twice: keep one of them",) if len(chosen) > 1 else ()

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        """Five times the rubric's score; None when nothing was executed (rule 42)."""
        if verdict is None:
            return Grade(self.name, None, "no rubric was executed")
        score = None if verdict.score is None else HIGHEST_GRADE * verdict.score
        return Grade(self.name, score, verdict.reason, {"rubric": verdict.rubric, "passed": verdict.passed})
