"""From what was asked for to a finished run: load, plan, open an engine, execute, report."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.agents import Agent
    from orchestrator.attempts import Attempt, Listener
    from orchestrator.cli.given import Given
    from orchestrator.cli.live import Progress
    from orchestrator.cli.pace import Pace
    from orchestrator.documents.record import TrialRecord
    from orchestrator.grading import ExecutorSet
    from orchestrator.notebook import Notebook
    from orchestrator.plan import Plan, TrialJob
    from orchestrator.report import Report
    from orchestrator.store import Store
    from orchestrator.summary import RunSummary
    from orchestrator.surroundings import Told
    from orchestrator.tools import Tools
    from sandboxes.protocol import Provider


@dataclass(frozen=True)
class Wish:
    """What was asked for. The defaults are the command line's."""

    benchmark: Path
    agents: tuple[str, ...]
    sandbox: str | None = None
    tasks: str | None = None
    repeats: int = 1
    slots: int = field(default_factory=lambda: os.cpu_count() or 1)
    retries: int = 2
    starts_per_second: float | None = None
    out: Path | None = None
    resume: bool = False
    allow_unlimited: bool = False
    config: Path | None = None
    rubrics: tuple[Path, ...] = ()
    executors: ExecutorSet = "all"
    quiet: bool = False
    telemetry: bool = False
    argv: tuple[str, ...] = ()
    quarantined: bool = False
    """Whether tasks of the benchmark's quarantine are run like any other."""
    tags: tuple[str, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)
    """More tasks that are kept apart, and why, beside the benchmark's quarantine."""
    made: Mapping[str, Agent] | None = None
    """Agents that are made already, by their specs; None makes them of `agents`."""
    only: frozenset[str] | None = None
    """Only these trials of the plan; None takes all."""
    regraded_from: str = ""
    """The id of the run whose kept work is graded again."""
    benchmark_id: str = ""
    """What the benchmark must be called; empty takes any."""


@dataclass(frozen=True)
class Result:
    """A run that ended, one way or the other."""

    folder: Path
    report: Report
    summary: RunSummary
    provider: str

    @property
    def exit_code(self) -> int:
        """The summary's, as the benchmark's gates leave it."""
        from orchestrator import gates

        results = self.report.gates
        return gates.exit_code(self.summary.exit_code, [r.gate for r in results], results)


def planned(wish: Wish) -> Plan:
    """The plan alone; nothing is opened or written. Raises AuthoringError."""
    given, agents = _loaded(wish)
    return _plan(wish, given, agents, wish.sandbox or "")


Trials = Callable[["Tools"], "Attempt"]
"""How one attempt of one trial is made with the run's tools."""


def ordinary(tools: Tools) -> Attempt:
    """A trial as `orchestrator.trial` tells it."""
    from orchestrator import trial

    return lambda job, notebook: trial.run(job, notebook, tools)


def carry_out(wish: Wish, trials: Trials = ordinary) -> Result:
    """The whole run, with progress on stderr.

    Raises AuthoringError before anything is started, sandboxes.errors.EngineGone when no room can be
    opened here, orchestrator.journal.JournalFailed when records can no longer be kept.
    """
    from orchestrator.cli.given import find
    from orchestrator.surroundings import revision

    place = find(wish.benchmark)
    with revision(place if place.is_dir() else place.parent) as git:
        return _carried_out(wish, trials, git)


def _carried_out(wish: Wish, trials: Trials, git: Told) -> Result:
    from orchestrator import applied, graders
    from orchestrator.cli.live import shown
    from orchestrator.report import summarise
    from orchestrator.store import new_run_id

    given, agents = _loaded(wish)
    graders.ready(given.graders.values())
    if wish.telemetry:
        from orchestrator import telemetry

        telemetry.ready()
    run_id = new_run_id(given.benchmark.id)
    with _rooms(wish, given, run_id) as provider:
        _refuse_unenforceable(wish, given, provider)
        plan = _plan(wish, given, agents, provider.name)
        title = given.benchmark.label or given.benchmark.id
        with (
            _store(wish, given, plan, provider, run_id, git) as store,
            shown(title, len(plan.trials), quiet=wish.quiet, pace=_pace(wish, plan, store)) as progress,
            _told(wish, plan, store, provider, progress) as listener,
        ):
            applied.keep(store.path, _refs(given, plan), given.rubrics.resolve)
            summary = _execute(wish, given, agents, plan, provider, store, listener, trials)
        return Result(store.path, summarise(store.records(), plan), summary, provider.name)


def _pace(wish: Wish, plan: Plan, store: Store) -> Pace | None:
    """How fast the run goes, with what runs beside it took; None where nobody asks."""
    if wish.quiet:
        return None
    from orchestrator.cli.pace import WORTH_TELLING, Pace, learn_meanwhile
    from orchestrator.summary import KEPT, standings

    held = standings(store.records()) if wish.resume else {}
    left = [job for job in plan.trials if job.trial not in held or held[job.trial].status not in KEPT]
    pace = Pace(left, wish.slots)
    if len(left) >= WORTH_TELLING:
        learn_meanwhile(pace, store.path.absolute().parent, plan.benchmark, store.path)
    return pace


def _execute(
    wish: Wish,
    given: Given,
    agents: Mapping[str, Agent],
    plan: Plan,
    provider: Provider,
    store: Store,
    listener: Listener,
    trials: Trials,
) -> RunSummary:
    from importlib.metadata import version
    from shutil import disk_usage

    from orchestrator import run
    from orchestrator.ahead import Ahead
    from orchestrator.befores import BeforeCache
    from orchestrator.scheduler import LocalScheduler
    from orchestrator.tools import Tools
    from sandboxes.home import home

    tools = Tools(
        benchmark=given.benchmark,
        provider=provider,
        agents=agents,
        executors=given.registry.executors,
        rubrics=given.rubrics.resolve,
        home=home(),
        config=given.config,
        executor_set=wish.executors,
        version=version("proctor"),
        befores=BeforeCache(home() / "befores"),
        graders=given.graders,
    )
    apart = {**({} if wish.quarantined else given.quarantine), **wish.apart}
    done = {record.trial for record in store.records() if record.final}
    coming = dict.fromkeys(job.task for job in plan.trials if job.trial not in done and job.task not in apart)
    ahead = Ahead([tools.tasks[task] for task in coming], tools.prepare_ahead)
    abandon = [stop for g in given.graders.values() if (stop := getattr(g, "abandon", None))]
    with ahead.running(tools.stop_fetching):
        return run.execute(
            plan,
            attempt=_kept_apart(trials(tools), apart),
            benchmark=given.benchmark,
            provider=provider,
            store=store,
            slots=wish.slots,
            scheduler=LocalScheduler.of_machine(
                wish.slots, disk=disk_usage(home()).free, starts_per_second=wish.starts_per_second
            ),
            retries=wish.retries,
            listener=listener,
            on_stop=[ahead.stop, tools.stop_fetching, *abandon],
        )


def _told(
    wish: Wish, plan: Plan, store: Store, provider: Provider, progress: Progress
) -> AbstractContextManager[Listener]:
    """Who hears of the run: the display, and OpenTelemetry where it was asked for."""
    if not wish.telemetry:
        return nullcontext(progress)
    from orchestrator.telemetry import exported

    about: dict[str, str | int] = {
        "proctor.run": store.header.run_id,
        "proctor.benchmark": plan.benchmark,
        "proctor.benchmark.version": plan.benchmark_version,
        "proctor.provider": provider.name,
        "proctor.planned": len(plan.trials),
    }
    return exported(progress, about)


def _refs(given: Given, plan: Plan) -> set[str | None]:
    """The rubrics that the planned tasks name."""
    planned = {job.task for job in plan.trials}
    return {task.rubric_ref for task in given.benchmark.tasks if task.id in planned}


def _kept_apart(attempt: Attempt, quarantine: Mapping[str, str]) -> Attempt:
    """Tasks in quarantine are not run: their trials are invalid, and nobody's score."""
    from orchestrator.errors import TaskInvalid

    def one(job: TrialJob, notebook: Notebook) -> TrialRecord:
        if job.task in quarantine:
            raise TaskInvalid(f"quarantined: {quarantine[job.task]}", end="quarantined")
        return attempt(job, notebook)

    return one


def _rooms(wish: Wish, given: Given, run_id: str) -> AbstractContextManager[Provider]:
    """An engine, or none where only text is to be graded (rule 213)."""
    from orchestrator.cli.engine import NoRooms, opened
    from orchestrator.plan import select
    from sandboxes.spec import Owner

    if not any(task.has_environment for task in select(given.benchmark, wish.tasks)):
        return nullcontext(NoRooms())
    kinds = given.registry.sandboxes
    return opened(kinds, wish.sandbox, Owner.current(run_id), allow_unlimited=wish.allow_unlimited)


def _refuse_unenforceable(wish: Wish, given: Given, provider: Provider) -> None:
    """Limits that a task asks for and nobody can keep here stop the whole start, with one sentence."""
    from orchestrator.plan import select
    from orchestrator.tools import limits_of
    from sandboxes.errors import LimitUnenforceable

    if wish.allow_unlimited:
        return
    beyond = set(provider.capabilities().unenforced)
    tasks = [task for task in select(given.benchmark, wish.tasks) if task.has_environment]
    asking = {task.id: limits_of(task.limits).asked & beyond for task in tasks}
    limits = sorted(set().union(*asking.values()))
    if limits:
        names = [name for name, asked in asking.items() if asked]
        shown = _few(names)
        raise LimitUnenforceable(
            f"{provider.name} cannot enforce limits here that tasks ask for: {', '.join(limits)} ({shown}); "
            "run as root or on another engine, drop them, or pass --allow-unlimited"
        )


def _loaded(wish: Wish) -> tuple[Given, dict[str, Agent]]:
    from orchestrator.agents import make_all
    from orchestrator.cli import given
    from orchestrator.errors import AuthoringError

    if wish.resume and wish.out is None:
        raise AuthoringError("--resume needs the run's folder: add --out DIR")
    loaded = given.load(wish.benchmark, wish.rubrics, wish.config)
    if wish.benchmark_id not in ("", loaded.benchmark.id):
        raise AuthoringError(
            f"{wish.benchmark} is {loaded.benchmark.id}, and the run is a run of {wish.benchmark_id}"
        )
    agents = dict(wish.made or make_all(wish.agents, loaded.registry.agents, loaded.benchmark))
    _refuse_roomless(wish, loaded, agents)
    return loaded, agents


def _refuse_roomless(wish: Wish, given: Given, agents: Mapping[str, Agent]) -> None:
    """An agent that works in a room has nothing to do where a task has none."""
    from orchestrator.agents import Bringer
    from orchestrator.cli.words import agent_name
    from orchestrator.errors import AuthoringError
    from orchestrator.plan import select

    actors = [spec for spec, agent in agents.items() if not isinstance(agent, Bringer)]
    without = [t.id for t in select(given.benchmark, wish.tasks) if not t.has_environment]
    if actors and without:
        raise AuthoringError(
            f"agent {agent_name(actors[0])} works in a room, but there is no environment for {_few(without)}"
            "; bring the answers with --agent predictions:FILE, or choose other tasks with --tasks"
        )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")


def _plan(wish: Wish, given: Given, agents: Mapping[str, Agent], provider: str) -> Plan:
    from importlib.metadata import version

    from orchestrator import inputs, plan

    decisive = inputs.of(
        given.benchmark,
        agents,
        given.rubrics.resolve,
        version=version("proctor"),
        config=given.config,
        options={"provider": provider, "executors": wish.executors},
    )
    made = plan.make(given.benchmark, wish.agents, wish.repeats, wish.tasks, inputs=decisive)
    if wish.only is None:
        return made
    return replace(made, trials=tuple(job for job in made.trials if job.trial in wish.only))


def _store(wish: Wish, given: Given, plan: Plan, provider: Provider, run_id: str, git: Told) -> Store:
    import platform
    from importlib.metadata import version

    from orchestrator.cli.failure import say
    from orchestrator.store import RunHeader, Store, now
    from orchestrator.surroundings import machine

    header = RunHeader(
        run_id=run_id,
        benchmark=given.benchmark.id,
        started=now(),
        argv=wish.argv,
        provider=provider.name,
        versions={
            "proctor": version("proctor"),
            "python": platform.python_version(),
            "kernel": platform.release(),
            provider.name: provider.capabilities().version,
        },
        tags=wish.tags,
        machine=machine(),
        git=git(),
        given=_whereabouts(wish, given),
        regraded_from=wish.regraded_from,
        plan=plan.to_json(),
    )
    if wish.resume:
        assert wish.out is not None
        dropped = _dropped(wish.out, plan)
        store = Store.resume(header, wish.out)
        if dropped:
            say(
                f"{len(dropped)} of the trials that {wish.out} was begun with are not in this plan and count "
                f"no longer: {_few(dropped)}"
            )
        return store
    return Store.create(header, wish.out)


def _whereabouts(wish: Wish, given: Given) -> dict[str, object]:
    return {
        "benchmark": str(Path(given.benchmark.file).resolve()),
        "rubrics": [str(folder.resolve()) for folder in wish.rubrics],
        "config": None if wish.config is None else str(wish.config.resolve()),
        "executors": wish.executors,
    }


def _dropped(folder: Path, plan: Plan) -> list[str]:
    """Trials of the run's earlier plan that this one leaves out. Raises AuthoringError (no such run)."""
    from orchestrator.store import RunFolder

    known = {job.trial for job in plan.trials}
    earlier = type(plan).from_json(RunFolder(folder).header.plan)
    return [job.trial for job in earlier.trials if job.trial not in known]
