"""What is settled before the first trial: documents, agents, the plan, an engine that can keep the limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.agents import Agent
    from orchestrator.cli.given import Given
    from orchestrator.cli.wish import Wish
    from orchestrator.plan import Plan
    from sandboxes.protocol import Provider


def loaded(wish: Wish) -> tuple[Given, dict[str, Agent]]:
    """The documents and the agents. Raises AuthoringError with everything that is wrong with them."""
    from orchestrator.agents import make_all
    from orchestrator.cli import given
    from orchestrator.cli.engine import refuse_unknown
    from orchestrator.errors import AuthoringError

    if wish.resume and wish.out is None:
        raise AuthoringError("--resume needs the run's folder: add --out DIR")
    found = given.load(wish.benchmark, wish.rubrics, wish.config)
    refuse_unknown(found.registry.sandboxes, wish.sandbox)
    if wish.benchmark_id not in ("", found.benchmark.id):
        raise AuthoringError(
            f"{wish.benchmark} is {found.benchmark.id}, and the run is a run of {wish.benchmark_id}"
        )
    agents = dict(wish.made or make_all(wish.agents, found.registry.agents, found.benchmark))
    _refuse_roomless(wish, found, agents)
    return found, agents


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
            f"agent {agent_name(actors[0])} works in a room, but there is no environment for {few(without)}"
            "; bring the answers with --agent predictions:FILE, or choose other tasks with --tasks"
        )


def rooms(wish: Wish, given: Given, run_id: str) -> AbstractContextManager[Provider]:
    """An engine, or none where only text is to be graded (rule 213)."""
    from orchestrator.cli.engine import NoRooms, opened
    from orchestrator.plan import select
    from sandboxes.spec import Owner

    if not any(task.has_environment for task in select(given.benchmark, wish.tasks)):
        return nullcontext(NoRooms())
    kinds = given.registry.sandboxes
    return opened(kinds, wish.sandbox, Owner.current(run_id), allow_unlimited=wish.allow_unlimited)


def refuse_unenforceable(wish: Wish, given: Given, provider: Provider) -> None:
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
        shown = few(names)
        raise LimitUnenforceable(
            f"{provider.name} cannot enforce limits here that tasks ask for: {', '.join(limits)} ({shown}); "
            "run as root or on another engine, drop them, or pass --allow-unlimited"
        )


def plan_of(wish: Wish, given: Given, agents: Mapping[str, Agent], provider: str) -> Plan:
    """Which trials there are, with the digests of all that decides about them."""
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


def refs(given: Given, plan: Plan) -> set[str | None]:
    """The rubrics that the planned tasks name."""
    planned = {job.task for job in plan.trials}
    return {task.rubric_ref for task in given.benchmark.tasks if task.id in planned}


def few(names: Sequence[str]) -> str:
    """Three of the names, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
