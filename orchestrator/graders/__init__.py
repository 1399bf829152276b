"""What a grader is: it gives a question (or a task) a grade from 0 to 5. Found by entry point.

Group `orchestrator.graders`; a task names one as NAME or NAME:ARG. A question's score is the mean over the
graders that graded (C-25, rule 215). Grading is opt-in: see `Task.graders` (rule 216).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from orchestrator.agents import AgentReport
from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.errors import AuthoringError, Problem
from orchestrator.outcomes import Grade, Verdict


@runtime_checkable
class Grader(Protocol):
    """Built once per run by `for_spec`, then shared by every trial and thread.

    Optional: `ready()`, asked before a run starts; raises AuthoringError for what this machine lacks.
    """

    name: str
    """As tasks name it: "format", "judge:careful"."""

    @classmethod
    def for_spec(cls, arg: str, benchmark: Benchmark, config: Config) -> Grader:
        """From the part after "NAME:" (empty when there is none). Raises AuthoringError when it is wrong."""
        ...

    def problems(self, task: Task) -> Iterable[str]:
        """What it cannot read in this task; told to the author before any run. A task that has nothing for it
        to grade by is no problem: it gets no grade."""
        ...

    def grade(self, task: Task, report: AgentReport, verdict: Verdict | None, criteria: str) -> Grade:
        """`verdict` is the rubric's, None when it was not executed; `criteria` are the question's own with
        the rubric's merged in (rules 31 to 39).

        A response that is bad gets a low grade; nothing to grade is a grade of None. Work that the grader
        itself could not do is a grade with an `end`: the trial has no score then. An exception is reported
        as a bug.
        """
        ...


def make(spec: str, kinds: Mapping[str, Any], benchmark: Benchmark, config: Config) -> Grader:
    """The grader that `spec` names; `kinds` are the registry's grader classes. Raises AuthoringError."""
    name, _, arg = spec.partition(":")
    if name not in kinds:
        raise AuthoringError(f'unknown grader "{spec}"; known graders: {", ".join(sorted(kinds))}')
    grader: Grader = kinds[name].for_spec(arg, benchmark, config)
    return grader


def make_all(benchmark: Benchmark, kinds: Mapping[str, Any], config: Config) -> dict[str, Grader]:
    """Every grader that a task names, by spec. Raises one AuthoringError with what is wrong with any."""
    made: dict[str, Grader] = {}
    wrong: dict[str, str] = {}
    problems: list[Problem] = []
    for task in benchmark.tasks:
        for spec in task.grader_names:
            if spec not in made and spec not in wrong:
                try:
                    made[spec] = make(spec, kinds, benchmark, config)
                except AuthoringError as error:
                    wrong[spec] = "; ".join(problem.message for problem in error.problems)
            said = [wrong[spec]] if spec in wrong else made[spec].problems(task)
            problems += (Problem(benchmark.file, task.line, f"task {task.id}.graders", s) for s in said)
    if problems:
        raise AuthoringError(problems)
    return made


def ready(graders: Iterable[Grader]) -> None:
    """Raises one AuthoringError with everything that this machine lacks."""
    problems = [problem for grader in graders for problem in _lacks(grader)]
    if problems:
        raise AuthoringError(problems)


def _lacks(grader: Grader) -> Iterator[Problem]:
    check = getattr(grader, "ready", None)
    if check is not None:
        try:
            check()
        except AuthoringError as error:
            yield from error.problems


def no_argument(name: str, arg: str) -> None:
    """Raises AuthoringError when a grader that takes no argument was given one."""
    if arg:
        raise AuthoringError(f'the grader {name} takes no argument, but was given "{arg}"')
