"""What a score_delta holds the state after the change against (C-12).

`baseline` of the check: the word setup (the state before the change is measured, the default), a number, a
stored measurement (an outcome's `details.measurement`), or an earlier run of the same task:

    baseline: {run: ../runs/last-week, agent: gold}

`run` is a run's folder, relative to the benchmark's. Its trials of this task, narrowed by `agent` or `trial`,
must agree on the measurement that the check of the same id (or the one named by `check`) left there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.analyzers import Measurement, OptionError
from orchestrator.analyzers.measurement import is_number
from orchestrator.contract import Check
from orchestrator.documents.record import TrialRecord
from orchestrator.errors import AuthoringError, TaskInvalid
from orchestrator.store import RunFolder

_NAMES = ("run", "agent", "trial", "check")


@dataclass(frozen=True)
class Baseline:
    """What was given instead of a measurement of the state before the change."""

    value: Measurement | float
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where it is from, JSON-serialisable."""


def given(check: Check, root: Path | None, task: str) -> Baseline | None:
    """None when the state before the change is to be measured. `root` is the benchmark's folder, `task` the
    task's id. Raises OptionError for what is no baseline, TaskInvalid for a run that gives none."""
    baseline = check.get("baseline", "setup")
    if baseline in ("setup", None):
        return None
    if is_number(baseline):
        return Baseline(float(baseline))
    if not isinstance(baseline, Mapping):
        raise OptionError(f"baseline is {baseline!r}; it must be setup, a number, a measurement or a run")
    if "run" in baseline:
        return _of_run(baseline, check, root or Path(), task)
    try:
        return Baseline(Measurement.from_json(baseline))
    except (ValueError, TypeError) as problem:
        raise OptionError(f"baseline is no stored measurement: {problem}") from None


def _of_run(baseline: Mapping[str, Any], check: Check, root: Path, task: str) -> Baseline:
    for name, value in baseline.items():
        if name not in _NAMES or not isinstance(value, str) or not value:
            raise OptionError(f"baseline.{name} is {value!r}; a run is named by {', '.join(_NAMES)}")
    folder = root / baseline["run"]
    try:
        run = RunFolder(folder)
    except AuthoringError as missing:
        raise TaskInvalid(f"the baseline is a run that is not there: {missing}") from None
    wanted = baseline.get("check", str(check.get("id")))
    found = [
        (record, measured)
        for record in run.latest().values()
        if record.task == task and _chosen(record, baseline)
        for measured in _measurements(record, wanted)
    ]
    which = f"run {baseline['run']}, task {task}, check {wanted}"
    if not found:
        raise TaskInvalid(f"the baseline gives no measurement: {which}")
    if len({repr({**measured, "taken_at": ""}) for _, measured in found}) > 1:
        trials = ", ".join(record.trial for record, _ in found[:4])
        raise TaskInvalid(f"the baseline is not one measurement ({which}): name the agent or one of {trials}")
    record, measured = found[-1]
    facts = {"run": run.header.run_id, "trial": record.trial, "agent": record.agent.name}
    try:
        return Baseline(Measurement.from_json(measured), facts)
    except (ValueError, TypeError) as problem:
        raise TaskInvalid(f"the baseline's measurement cannot be read ({which}): {problem}") from None


def _chosen(record: TrialRecord, baseline: Mapping[str, Any]) -> bool:
    agent, trial = baseline.get("agent"), baseline.get("trial")
    return agent in (None, record.agent.name) and trial in (None, record.trial)


def _measurements(record: TrialRecord, check: str) -> Iterator[dict[str, Any]]:
    for outcome in record.verdict.outcomes if record.verdict else ():
        measured = outcome.details.get("measurement")
        if outcome.id == check and isinstance(measured, Mapping):
            yield dict(measured)
