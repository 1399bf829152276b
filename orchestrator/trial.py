"""One attempt of one trial, from a task to a verdict. Start reading here.

Retries stand around this line (`attempts`), deadlines and rooms beneath it (`deadline`, `evidence`), the
record beside it (`notebook`).
"""

from __future__ import annotations

from contextlib import ExitStack

from orchestrator import criteria, grading
from orchestrator.agents import Actor, AgentReport, Bringer, Fix, is_bringer
from orchestrator.contract import Context
from orchestrator.deadline import Deadline
from orchestrator.documents.benchmark import Task
from orchestrator.documents.record import TrialRecord
from orchestrator.endings import conclude, unusable
from orchestrator.errors import AuthoringError
from orchestrator.notebook import Notebook
from orchestrator.outcomes import Verdict
from orchestrator.plan import TrialJob
from orchestrator.tasks.states import TaskState
from orchestrator.tools import Tools
from orchestrator.watched import Watched
from orchestrator.worktree.change import Change
from orchestrator.worktree.patches import PatchError


def run(job: TrialJob, note: Notebook, tools: Tools) -> TrialRecord:
    """One attempt.

    Whatever the agent did or failed to do ends in a record. Raises sandboxes.errors.SandboxError (fresh
    rooms may help), TaskInvalid and AuthoringError (nobody's score).
    """
    task = tools.tasks[job.task]
    if not task.has_environment:
        return _answer_only(task, job, note, tools)
    deadline = Deadline.after(task.limits.trial_time, "trial_time")
    note.unenforced = tools.unenforced

    with note.phase("prepare"):
        state = tools.state(task)
        note.digests["state"] = state.digest
        note.keep_materials(state.digest, tools.materials(state))
    try:
        report, change = _work(job, state, deadline, note, tools)
        note.keep_change(change)
        graded = tools.graded(state, change)
    except PatchError as error:
        return unusable(note, error)

    with note.phase("grade"):
        note.touched(graded.touched_protected)
        judge = tools.judge(state, graded, Deadline.after(task.limits.trial_time, "trial_time"), note)
        context = Context(task.row, judge, report.trajectory, tools.benchmark.root)
        verdict = _graded(task, report, note, tools, context)
    empty = change.empty and judge.asked
    return conclude(note, verdict, tools.pass_threshold, empty=empty, must_hold=task.grades_rubric)


def _work(
    job: TrialJob, state: TaskState, deadline: Deadline, note: Notebook, tools: Tools
) -> tuple[AgentReport, Change]:
    """What the agent leaves: a response and a change, and nothing else."""
    agent = tools.agents[job.agent]
    if is_bringer(agent):
        report, patch = _brought(agent, state.task, state.gold)
        note.keep_report(report)
        return report, note.keep_brought(patch)
    assert isinstance(agent, Actor)
    with ExitStack() as open_rooms:
        with note.phase("provision"):
            room = open_rooms.enter_context(tools.provider.provision(tools.agents_room(state)))
        with note.phase("act"):
            left = deadline.within(state.task.limits.agent_time, "agent_time")
            report = agent.act(state.task, Watched(room, note.saw), left)
            note.keep_report(report)
        with note.phase("capture"):
            return report, Change.capture(state.store, state.base_tree, room, state.task.workdir)


def _brought(agent: Bringer, task: Task, gold: bytes | None) -> tuple[AgentReport, bytes]:
    brought = agent.brings(task, Fix(gold))
    report = AgentReport(
        response=brought.response, trajectory=brought.trajectory, model=brought.model, note=brought.note
    )
    return report, brought.change


def _answer_only(task: Task, job: TrialJob, note: Notebook, tools: Tools) -> TrialRecord:
    """A question: no room is opened, only the response is graded (rule 213)."""
    agent = tools.agents[job.agent]
    if not is_bringer(agent):
        raise AuthoringError(f"{job.agent} works in a room, and task {task.id} has no environment")
    report, _ = _brought(agent, task, None)
    note.keep_report(report)
    with note.phase("grade"):
        context = Context(task.row, None, report.trajectory, tools.benchmark.root)
        verdict = _graded(task, report, note, tools, context)
    return conclude(note, verdict, tools.pass_threshold)


def _graded(
    task: Task, report: AgentReport, note: Notebook, tools: Tools, context: Context
) -> Verdict | None:
    """Every grader's grade, into the notebook, and the rubric's verdict: None when the task selects no rubric
    grader or its ref names nothing (C-30)."""
    rubric = tools.rubrics(task.rubric_ref) if task.rubric_ref else None
    note.ref_unresolved = task.rubric_ref is not None and rubric is None
    verdict = None
    if rubric is not None and task.grades_rubric:
        verdict = grading.evaluate(
            rubric, report.response, context, tools.executors, tools.rubrics, tools.executors_for(task)
        )
    note.keep_grades(tools.grades(task, report, verdict, criteria.merge(task.criteria, rubric)))
    return verdict
