"""A run in the Every Eval Ever format, version 0.2.2: one document per agent."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from statistics import fmean, stdev
from typing import Any

from orchestrator import words
from orchestrator.confidence import LEVEL
from orchestrator.documents.record import TrialRecord
from orchestrator.dossier import Dossier
from orchestrator.report import AgentSummary

SCHEMA_VERSION = "0.2.2"


def documents(dossier: Dossier) -> dict[str, dict[str, Any]]:
    """A document for each agent that has a graded trial, by agent.

    Every value in a details object is text, as the format wants it. Trials that were not graded are counted
    there, never scored.
    """
    return {
        agent.agent: _document(dossier, agent)
        for agent in dossier.report.agents
        if agent.interval is not None
    }


def _document(dossier: Dossier, agent: AgentSummary) -> dict[str, Any]:
    header, report = dossier.header, dossier.report
    records = [r for r in dossier.latest.values() if r.agent.name == agent.agent]
    model = next((r.agent.model for r in records if r.agent.model), None)
    stamp = f"{_epoch(header.started):.0f}"
    name = words.safe(model or words.agent_name(agent.agent))
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": words.safe(f"{report.benchmark}/{name}/{stamp}"),
        "evaluation_timestamp": header.started,
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": words.safe(f"{report.benchmark} {report.benchmark_version}"),
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {"run_id": header.run_id, "exit_code": str(report.exit_code)},
        },
        "eval_library": {
            "name": "proctor",
            "version": header.versions.get("proctor") or version("proctor"),
            "additional_details": {key: words.safe(str(value)) for key, value in header.versions.items()},
        },
        "model_info": {
            "name": name,
            "id": name if model and "/" in model else f"unknown/{name}",
            "additional_details": {"agent": words.safe(agent.agent)},
        },
        "evaluation_results": list(_results(dossier, agent, records)),
    }


def _results(dossier: Dossier, agent: AgentSummary, records: list[TrialRecord]) -> Iterator[dict[str, Any]]:
    found = agent.interval
    assert found is not None and agent.pass_rate is not None
    interval = {
        "lower": found.low,
        "upper": found.high,
        "confidence_level": LEVEL,
        "method": "wilson, tasks as clusters" if found.tasks < found.trials else "wilson",
    }
    counts = {status: str(count) for status, count in agent.counts.items()}
    yield _result(
        dossier,
        "pass_rate",
        agent.pass_rate,
        {"num_samples": found.trials, "confidence_interval": interval},
        {"planned": str(agent.planned), "tasks": str(found.tasks), **counts},
    )
    scores = [row.score for row in dossier.report.rows if row.agent == agent.agent and row.score is not None]
    if scores:
        yield _result(dossier, "mean_score", fmean(scores), _spread(scores), {})
    by_check: dict[str, list[float]] = defaultdict(list)
    for record in records:
        for outcome in record.verdict.outcomes if record.verdict and record.score is not None else ():
            if outcome.score is not None:
                by_check[outcome.id or outcome.kind].append(outcome.score)
    for check, values in sorted(by_check.items()):
        yield _result(dossier, f"check:{check}", fmean(values), _spread(values), {})


def _result(
    dossier: Dossier, metric: str, score: float, uncertainty: dict[str, Any], details: dict[str, str]
) -> dict[str, Any]:
    report = dossier.report
    kind, _, check = metric.partition(":")
    return {
        "evaluation_result_id": hashlib.sha256(
            repr([dossier.header.run_id, metric, score]).encode("utf-8", "surrogatepass")
        ).hexdigest()[:24],
        "evaluation_name": words.safe(report.benchmark + (f" / {check}" if check else "")),
        "source_data": {
            "dataset_name": words.safe(report.benchmark),
            "source_type": "other",
            "source_version": words.safe(report.benchmark_version),
        },
        "evaluation_timestamp": dossier.header.started,
        "metric_config": {
            "metric_id": words.safe(f"{report.benchmark}.{metric}"),
            "metric_name": words.safe(check or kind.replace("_", " ")),
            "metric_kind": "pass_rate" if kind == "pass_rate" else "score",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {"score": score, "uncertainty": uncertainty, "details": details},
    }


def _spread(values: list[float]) -> dict[str, Any]:
    if len(values) < 2:
        return {"num_samples": len(values)}
    deviation = stdev(values)
    error = {"value": deviation / len(values) ** 0.5, "method": "analytic"}
    return {"num_samples": len(values), "standard_deviation": deviation, "standard_error": error}


def _epoch(started: str) -> float:
    try:
        return datetime.fromisoformat(started).timestamp()
    except ValueError:
        return datetime.now(UTC).timestamp()
