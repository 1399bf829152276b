"""How a benchmark is examined: before, gold and no-op, several times, by the ordinary run of trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from orchestrator import trial
from orchestrator.attempts import Attempt
from orchestrator.befores import BeforeCache
from orchestrator.documents.benchmark import Task
from orchestrator.documents.record import TrialRecord
from orchestrator.documents.validation import TaskValidation
from orchestrator.notebook import Notebook
from orchestrator.plan import Plan, TrialJob
from orchestrator.tools import Tools
from orchestrator.validation.judgement import Round, judge, judge_question
from orchestrator.validation.witness import Witness

AGENTS = ("gold", "noop")
"""Each once per round. Both ask the same before room, once per round; no-op's after room is the before state
again, so a guard that fails there fails on the unmodified state (C-14)."""


def watched(tools: Tools, witness: Witness) -> Attempt:
    """Attempts whose every command `witness` sees. No answer of one round is used in another: that would
    hide what flickers."""
    executors = witness.over(tools.executors)
    rounds: dict[int, Tools] = {}

    def attempt(job: TrialJob, notebook: Notebook) -> TrialRecord:
        fresh = rounds.setdefault(job.repeat, replace(tools, executors=executors, befores=BeforeCache()))
        witness.forget(job.trial)
        return trial.run(job, notebook, fresh)

    return attempt


def findings(
    plan: Plan, tasks: Iterable[Task], latest: Mapping[str, TrialRecord], witness: Witness
) -> tuple[TaskValidation, ...]:
    """A verdict on every planned task, in the benchmark's order. `latest` is the record of each trial."""
    by_task: dict[str, dict[str, list[Round]]] = {}
    for job in plan.trials:
        rounds = by_task.setdefault(job.task, {agent: [] for agent in AGENTS})
        rounds[job.agent].append(Round(latest.get(job.trial), witness.of(job.trial)))
    return tuple(
        (judge if task.has_environment else judge_question)(task, *by_task[task.id].values())
        for task in tasks
        if task.id in by_task
    )
