"""Each fault at each call of a clean pair of trials on a real engine, and more of them by chance.

Counted: verdicts that are not the right ones, runs that do not come to an end, and what is on the engine or
on this machine when the provider was closed.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sandboxes.docker import DockerProvider, room
from sandboxes.docker import engine as calls
from sandboxes.docker.engine import DEFAULT_SOCKET
from sandboxes.spec import Owner
from tests.faults.proxy import FAULTS, Call, Fault, Plan, Proxy
from tests.faults.tally import Outcome, Tally, within
from tests.faults.trials import Pair, pairs, wrong

ANSWER_WITHIN = 3.0
"""Seconds that an engine may take to answer here: a fault that never answers would cost two minutes else."""
DEAF = ("gone for good", "never answered")
"""After these the engine cannot be asked to give back what it holds: the next start does."""


def enumerated(step: int = 1, offset: int = 0) -> Tally:
    """Every fault at every call, once; `step` takes only every so many of them, from `offset` on."""
    tally = Tally()
    with _world() as (home, both):
        for number, (pair, at, fault) in enumerate(_places(both)):
            if number % step == offset % step:
                _try(tally, pair, home, f"{fault.name} at call {at} of {pair.task}", {at: fault})
    return tally


def at_random(runs: int, seed: int) -> Tally:
    """One to five faults at calls by chance, in trials by chance."""
    tally, dice = Tally(), random.Random(seed)
    with _world() as (home, both):
        lengths = {pair.task: len(_recorded(pair)) for pair in both}
        for _ in range(runs):
            pair = dice.choice(both)
            numbers = [dice.randint(1, lengths[pair.task] + 20) for _ in range(dice.randint(1, 5))]
            faults = {at: dice.choice(FAULTS) for at in numbers}
            told = ", ".join(f"{faults[at].name} at call {at}" for at in sorted(faults))
            _try(tally, pair, home, f"{told} of {pair.task}", faults)
    return tally


def _places(both: tuple[Pair, ...]) -> Iterator[tuple[Pair, int, Fault]]:
    for pair in both:
        for call in _recorded(pair):
            for fault in FAULTS:
                if _can_befall(fault, call):
                    yield pair, call.number, fault


def _can_befall(fault: Fault, call: Call) -> bool:
    if fault.name == "no exit code":
        return call.name == "GET /containers/ID/json"
    if "outside" in fault.name:
        return call.name.startswith(("POST /containers/ID", "GET /containers/ID", "GET /events"))
    return True


def _recorded(pair: Pair) -> list[Call]:
    with Proxy(_engine()) as between:
        provider = DockerProvider(Owner.current("faults"), address=between.address)
        found = wrong(pair.run(provider))
        provider.close()
    if found:
        raise RuntimeError(f"even undisturbed: {found}")
    return between.calls


def _try(tally: Tally, pair: Pair, home: Path, told: str, faults: Mapping[int, Fault]) -> None:
    met: list[str] = []

    def plan(call: Call) -> Fault | None:
        fault = faults.get(call.number)
        if fault is not None:
            met.append(f"{fault.name} ({call.name})")
        return fault

    deaf = any(fault.name in DEAF for fault in faults.values())
    began = time.monotonic()
    outcome = within(lambda: _run(pair, home, plan, deaf))
    tally.add(told, outcome, met, time.monotonic() - began)


def _run(pair: Pair, home: Path, plan: Plan, deaf: bool) -> Outcome:
    with Proxy(_engine(), plan) as between:
        owner = Owner.current(f"faults-{id(between):x}")
        provider = DockerProvider(owner, address=between.address)
        try:
            records = pair.run(provider)
        finally:
            provider.close()
    unscored = sum(record.status in ("errored", "not_run") for record in records)
    left = _left(owner, home)
    return Outcome(wrong(records), unscored, [] if deaf else left)


def _left(owner: Owner, home: Path) -> list[str]:
    """What of this owner is still there; it is removed, so that the next run begins with nothing."""
    engine = calls.Engine(_engine())
    found = []
    for seen in engine.containers(f"proctor.run={owner.run_id}"):
        found.append(f"container {seen['Names'][0]} ({seen['State']})")
        engine.remove(seen["Id"])
    engine.close()
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    points = [line.split(" ")[4] for line in mounts.splitlines() if f" {home}/" in line]
    return found + [f"mount {point}" for point in points if owner.run_id in point]


def _engine() -> str:
    return os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET


@contextmanager
def _world() -> Iterator[tuple[Path, tuple[Pair, Pair]]]:
    """Two pairs of trials, a home of their own, and an engine that is given up soon."""
    before, waits = os.environ.get("PROCTOR_HOME"), (calls.ANSWER_WITHIN, room.ANSWER_WITHIN)
    with tempfile.TemporaryDirectory(prefix="proctor-faults-") as name:
        both = pairs(Path(name).resolve())
        os.environ["PROCTOR_HOME"] = str(both[0].home)
        calls.ANSWER_WITHIN = room.ANSWER_WITHIN = ANSWER_WITHIN  # type: ignore[assignment]
        try:
            yield both[0].home, both
        finally:
            calls.ANSWER_WITHIN, room.ANSWER_WITHIN = waits
            os.environ.pop("PROCTOR_HOME")
            if before is not None:
                os.environ["PROCTOR_HOME"] = before
