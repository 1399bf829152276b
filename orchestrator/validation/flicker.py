"""Which tests answer differently although nothing differs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from orchestrator.checks.transitions import Wanted
from orchestrator.documents.benchmark import Task
from orchestrator.documents.validation import Flicker
from orchestrator.testreports import FAILING, PASSING
from orchestrator.validation.witness import Sighting

SHOWN = 200
"""Flickering tests kept of one task; those that decide come first."""

Statuses = Mapping[str, str]
State = Literal["before", "gold"]


def flickering(
    task: Task, gold: Sequence[Sequence[Sighting]], noop: Sequence[Sequence[Sighting]]
) -> list[Flicker]:
    """Tests with more than one kind of answer in one state.

    The before rooms and no-op's after rooms hold the same state, so both are samples of it. A test of a
    task's lists decides; in a task without lists every test does, since each can turn the exit code.
    """
    listed = _listed(task)
    runs: list[tuple[State, Sequence[Sighting]]] = [("before", _state(r, before=True)) for r in noop]
    runs += [("before", _after(r)) for r in noop]
    runs += [("gold", _after(r)) for r in gold]
    found = []
    for state in ("before", "gold"):
        for check, samples in _by_check([seen for name, seen in runs if name == state]).items():
            for test, statuses in _differing(samples):
                decides = listed is None or test in listed
                found.append(Flicker(check=check, state=state, test=test, statuses=statuses, listed=decides))
    return sorted(found, key=lambda f: not f.listed)[:SHOWN]


def _state(run: Sequence[Sighting], *, before: bool) -> list[Sighting]:
    return [s for s in run if s.side == ("before" if before else "after") and s.statuses is not None]


def _after(run: Sequence[Sighting]) -> list[Sighting]:
    return _state(run, before=False)


def _by_check(runs: Sequence[Sequence[Sighting]]) -> dict[str, list[Statuses]]:
    found: dict[str, list[Statuses]] = {}
    for run in runs:
        for sighting in run:
            found.setdefault(sighting.check, []).append(sighting.statuses or {})
    return found


def _differing(samples: Sequence[Statuses]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for test in dict.fromkeys(test for sample in samples for test in sample):
        statuses = tuple(sample.get(test, "missing") for sample in samples)
        if len({_kind(status) for status in statuses}) > 1:
            yield test, statuses


def _kind(status: str) -> str:
    """What an oracle makes of a status: failed or error is all the same to it."""
    return "pass" if status in PASSING else "fail" if status in FAILING else status


def _listed(task: Task) -> frozenset[str] | None:
    try:
        wanted = Wanted.from_expected(task.expected)
    except ValueError:
        return None
    return None if wanted is None else frozenset(wanted.ids)
