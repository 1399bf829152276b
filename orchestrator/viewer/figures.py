"""The figures of a run's first screen, read from its folder: slow for a big run, so done once and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator import words
from orchestrator.documents.record import TrialRecord
from orchestrator.history.facts import RunFacts, read_run
from orchestrator.pages import charts, overview
from orchestrator.pages.charts import Drawn
from orchestrator.pages.overview import Overview
from orchestrator.report import Report, summarise
from orchestrator.store import RunFolder
from orchestrator.viewer.work import going_on


@dataclass(frozen=True)
class Figures:
    """One run as it stood when it was read."""

    seen: Overview
    names: Mapping[str, str]
    """Agent -> what tables call it."""
    charts: Drawn
    live: bool
    ended: frozenset[str]
    """Trials with a final record."""


def read(folder: Path) -> Figures:
    """Raises AuthoringError when there is no readable run in `folder`."""
    live = going_on(folder)
    facts = read_run(folder)
    report = _report(folder, facts)
    seen = overview.of(facts, report.gates, report.warnings, report.exit_code, live=live)
    names = words.short_names(facts.agents)
    ended = frozenset(t.trial for t in facts.trials if t.status != "not_run")
    return Figures(seen, names, charts.drawn(seen, names), live, ended)


def _report(folder: Path, facts: RunFacts) -> Report:
    """Gates, warnings and the exit code need whole records; what is kept of each is small."""
    return summarise(map(_slim, _records(folder)), facts.plan)


def _records(folder: Path) -> Iterator[TrialRecord]:
    return RunFolder(folder).records()


def _slim(record: TrialRecord) -> TrialRecord:
    verdict = record.verdict
    return record.model_copy(
        update={
            "verdict": None
            if verdict is None
            else verdict.model_copy(update={"outcomes": (), "skipped": ()}),
            "grades": (),
            "phases": (),
            "artifacts": {},
            "error": None,
        }
    )
