"""The folder a run is recorded in: a new one with its header, or an earlier one to go on with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.settled import few

if TYPE_CHECKING:
    from orchestrator.cli.given import Given
    from orchestrator.cli.wish import Wish
    from orchestrator.plan import Plan
    from orchestrator.store import Store
    from orchestrator.surroundings import Told
    from sandboxes.protocol import Provider


def opened(wish: Wish, given: Given, plan: Plan, provider: Provider, run_id: str, git: Told) -> Store:
    """The store of this run. Raises AuthoringError when there is none to go on with, or another."""
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
                f"no longer: {few(dropped)}"
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
    from orchestrator.store import HEADER, RunFolder

    known = {job.trial for job in plan.trials}
    earlier = type(plan).from_json(RunFolder(folder).header.plan, str(folder / HEADER))
    return [job.trial for job in earlier.trials if job.trial not in known]
