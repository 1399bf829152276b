"""The figures of a run's first screen, read from its folder: slow for a big run, so done once and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator import words
from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.history.facts import RunFacts, TrialFacts, read_run
from orchestrator.pages import charts, overview
from orchestrator.pages.charts import Drawn
from orchestrator.pages.overview import Overview
from orchestrator.report import Report, summarise
from orchestrator.store import RunFolder
from orchestrator.viewer.work import going_on

_SHARED = ("trial", "status", "end", "score", "question_score", "reason", "seconds")


@dataclass(frozen=True)
class Figures:
    """One run as it stood when it was read."""

    seen: Overview
    names: Mapping[str, str]
    """Agent -> what tables call it."""
    charts: Drawn
    live: bool


def read(folder: Path) -> Figures:
    """Raises AuthoringError when there is no readable run in `folder`."""
    live = going_on(folder)
    facts = read_run(folder)
    report = _report(folder, facts)
    seen = overview.of(facts, report.gates, report.warnings, report.exit_code, live=live)
    names = words.short_names(facts.agents)
    return Figures(seen, names, charts.drawn(seen, names), live)


def _report(folder: Path, facts: RunFacts) -> Report:
    """Its gates, warnings and exit code. Only a rubric's gate needs more of the records than `facts` has."""
    if any(gate.metric.startswith("rubric:") for gate in facts.plan.gates):
        return summarise(map(_slim, RunFolder(folder).records()), facts.plan)
    return summarise((_record(trial) for trial in facts.trials if trial.attempts), facts.plan)


def _slim(record: TrialRecord) -> TrialRecord:
    """What a report needs of it: all of them are in memory for a moment."""
    verdict = record.verdict
    less = None if verdict is None else verdict.model_copy(update={"outcomes": (), "skipped": ()})
    return record.model_copy(update={"verdict": less, "grades": (), "phases": (), "artifacts": {}})


def _record(trial: TrialFacts) -> TrialRecord:
    """As much of a record as a report looks at. Not examined again: its facts were read from a record."""
    known: dict[str, Any] = {name: getattr(trial, name) for name in _SHARED}
    return TrialRecord.model_construct(
        **known,
        attempt=trial.attempts,
        final=trial.status != "not_run",
        agent=AgentRecord.model_construct(name=trial.agent),
        verdict=None,
        unenforced=(),
        digests={},
    )
