"""From what was asked for to a finished run: load, plan, open an engine, execute, report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from orchestrator.cli.recorded import opened
from orchestrator.cli.settled import loaded, plan_of, refs, refuse_unenforceable, rooms
from orchestrator.cli.wish import Result, Wish

if TYPE_CHECKING:
    from pathlib import Path

    from orchestrator.agents import Agent
    from orchestrator.attempts import Attempt, Listener
    from orchestrator.cli.given import Given
    from orchestrator.cli.live import Progress
    from orchestrator.cli.pace import Pace
    from orchestrator.documents.record import TrialRecord
    from orchestrator.notebook import Notebook
    from orchestrator.plan import Plan, TrialJob
    from orchestrator.report import Report
    from orchestrator.store import Store
    from orchestrator.summary import RunSummary
    from orchestrator.surroundings import Told
    from orchestrator.tools import Tools
    from sandboxes.protocol import Provider


def planned(wish: Wish) -> Plan:
    """The plan alone; nothing is opened or written. Raises AuthoringError."""
    given, agents = loaded(wish)
    return plan_of(wish, given, agents, wish.sandbox or "")


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

    given, agents = loaded(wish)
    graders.ready(given.graders.values())
    if wish.telemetry:
        from orchestrator import telemetry

        telemetry.ready()
    run_id = new_run_id(given.benchmark.id)
    with rooms(wish, given, run_id) as provider:
        refuse_unenforceable(wish, given, provider)
        plan = plan_of(wish, given, agents, provider.name)
        title = given.benchmark.label or given.benchmark.id
        with (
            opened(wish, given, plan, provider, run_id, git) as store,
            shown(title, len(plan.trials), quiet=wish.quiet, pace=_pace(wish, plan, store)) as progress,
            _told(wish, plan, store, provider, progress) as listener,
        ):
            applied.keep(store.path, refs(given, plan), given.rubrics.resolve)
            summary = _execute(wish, given, agents, plan, provider, store, listener, trials)
        report = summarise(store.records(), plan)
        _refuse_lacking(store.path, summary, report)
        return Result(store.path, report, summary, provider.name)


def _refuse_lacking(folder: Path, summary: RunSummary, report: Report) -> None:
    """What is shown is read from the file, and must hold all that the run knows it recorded. (It may hold
    more: a trial that was given up may have ended after all.) Raises InfrastructureError."""
    from orchestrator.errors import InfrastructureError
    from orchestrator.store import RECORDS

    lacking = [s for s, n in summary.counts.items() if s != "not_run" and report.counts[s] < n]
    if lacking:
        raise InfrastructureError(
            f"{folder / RECORDS} does not hold all that was recorded there: something else changed it "
            "meanwhile; --resume runs again what it lacks"
        )


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


def _kept_apart(attempt: Attempt, quarantine: Mapping[str, str]) -> Attempt:
    """Tasks in quarantine are not run: their trials are invalid, and nobody's score."""
    from orchestrator.errors import TaskInvalid

    def one(job: TrialJob, notebook: Notebook) -> TrialRecord:
        if job.task in quarantine:
            raise TaskInvalid(f"quarantined: {quarantine[job.task]}", end="quarantined")
        return attempt(job, notebook)

    return one
