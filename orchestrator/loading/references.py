"""What can only be seen with benchmark, rubrics and configuration side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Protocol

from orchestrator.documents.benchmark import Benchmark, Config, Task
from orchestrator.documents.rubric import Rubric
from orchestrator.errors import Problem
from orchestrator.loading.lint import Findings
from orchestrator.loading.words import did_you_mean

OWN_ENVIRONMENT = "ddev"
"""The profile that means the task's own environment unless configuration maps it elsewhere (C-5)."""
_GUARDS = frozenset({"pass_to_pass", "pass_to_pass_count"})
"""What of `expected` keeps a change from breaking what already worked."""
_ORACLES = ("command", "score_delta", "php_lint")


class Rubrics(Protocol):
    """What is asked of a store of rubrics."""

    def resolve(self, ref: str | None) -> Rubric | None: ...
    def advice(self, ref: str) -> str: ...


def check_references(
    benchmark: Benchmark,
    rubrics: Rubrics,
    config: Config | None = None,
    tools: Collection[str] | None = None,
) -> list[Problem]:
    """Mistakes that stop a run: a check whose `setup` is not the task's (C-15), an unknown profile (C-5),
    and, when `tools` names the analyzers there are, a score_delta with another tool.

    An unresolved rubric_ref is none of them: the task falls back to its criteria (C-30); `lint_references`
    names it.
    """
    found: dict[Problem, None] = {}
    for place, task in _places(benchmark):
        rubric = rubrics.resolve(task.rubric_ref)
        for holder, number, check in _oracles(rubric, rubrics, frozenset()):
            where = f"{holder.ref} checks[{number}]"
            for message, hint in _check_problems(check, task, config or Config(), tools):
                found[Problem(benchmark.file, task.line, place, f"{where} {message}", hint)] = None
    return list(found)


def lint_references(benchmark: Benchmark, rubrics: Rubrics) -> Findings:
    """For validate: refs that resolve to nothing are errors (C-30), a rubric of another bundle is a
    warning (C-31), and so is a task that nothing grades, or that guards no test it does not want mended."""
    errors, warnings = [], []
    for place, task in _places(benchmark):
        ref = task.rubric_ref
        rubric = rubrics.resolve(ref)
        if ref is not None and rubric is None:
            message = f"{ref} is not there or is disabled: the task would be graded on its criteria alone"
            errors.append(
                Problem(benchmark.file, task.line, f"{place}.rubric_ref", message, rubrics.advice(ref))
            )
        bundles = rubric.applicable_bundles if rubric else ()
        if rubric and bundles and benchmark.bundle not in bundles:
            message = f"{rubric.ref} is for {', '.join(bundles)}, not for {benchmark.bundle or 'no bundle'}"
            hint = "set the benchmark's bundle, or choose another rubric"
            warnings.append(Problem(benchmark.file, task.line, f"{place}.rubric_ref", message, hint))
        if task.expected.get("fail_to_pass") and not any(map(task.expected.get, _GUARDS)):
            message = "expected lists no pass_to_pass: a change that breaks every other test passes"
            hint = "list the tests that pass before and after, or give pass_to_pass_count"
            warnings.append(Problem(benchmark.file, task.line, f"{place}.expected", message, hint))
        if ref is None and task.has_environment:
            message = "has an environment but no rubric: nothing can be scored"
            warnings.append(Problem(benchmark.file, task.line, place, message, "add rubric_ref"))
        warnings += (Problem(benchmark.file, task.line, place, *words) for words in _unseen(task))
    return Findings(tuple(errors), (*warnings, *_idle_gates(benchmark)))


def _unseen(task: Task) -> Iterator[tuple[str, str]]:
    """What no grader of the task looks at."""
    if not task.grader_names and not task.has_environment:
        yield "is a question without graders: nothing is scored", "add graders, such as [rubric_checks]"
    elif task.has_environment and not task.grades_rubric:
        yield "none of its graders looks at the work, only at words", "add rubric_checks to graders"


def _idle_gates(benchmark: Benchmark) -> Iterator[Problem]:
    """Gates on a rubric that no task attaches: they could only be missed."""
    attached = {(task.rubric_ref or "").removeprefix("rubric/").partition("@")[0] for task in benchmark.tasks}
    for number, gate in enumerate(benchmark.gates):
        kind, _, rubric = gate.metric.partition(":")
        if kind == "rubric" and rubric not in attached:
            message = f"no task attaches the rubric {rubric}: the gate can only be missed"
            yield Problem(
                benchmark.file, 0, f"gates[{number}].metric", message, did_you_mean(rubric, attached)
            )


def _places(benchmark: Benchmark) -> Iterator[tuple[str, Task]]:
    for task in benchmark.tasks:
        yield f"task {task.id}", task


def _oracles(
    rubric: Rubric | None, rubrics: Rubrics, seen: frozenset[str]
) -> Iterator[tuple[Rubric, int, Any]]:
    """The rubric's checks that open rooms, through composites, each rubric once."""
    if rubric is None or rubric.ref in seen:
        return
    for number, check in enumerate(rubric.checks):
        if check.get("kind") in _ORACLES:
            yield rubric, number, check
        elif check.get("kind") == "composite":
            inner = rubrics.resolve(str(check.get("rubric_ref")))
            yield from _oracles(inner, rubrics, seen | {rubric.ref})


def _check_problems(
    check: Any, task: Task, config: Config, tools: Collection[str] | None
) -> Iterator[tuple[str, str]]:
    if not task.has_environment:
        return
    setup = check.get("setup", task.setup)
    if setup != task.setup:
        hint = f"write setup: {setup} in the task, or leave it out of the check"
        yield f"wants setup {setup}, but the task's is {task.setup}", hint
    profile = check.get("sandbox", OWN_ENVIRONMENT)
    if profile != OWN_ENVIRONMENT and profile not in config.profiles:
        known = {OWN_ENVIRONMENT, *config.profiles}
        yield f'wants the sandbox "{profile}", which proctor.yaml does not have', did_you_mean(profile, known)
    tool = check.get("tool")
    if tools is not None and check.get("kind") == "score_delta" and tool not in tools:
        yield f'wants the tool "{tool}", which is not installed', did_you_mean(str(tool), tools)
