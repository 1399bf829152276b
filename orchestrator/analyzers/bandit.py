"""Bandit, JSON. Options: those of every tool. `# nosec` is not obeyed, nor a `.bandit` file of the repository
(bandit takes one up by itself, and its `skips` would silence any rule)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool


class Bandit(Tool):
    """The `bandit` analyzer."""

    name = "bandit"
    extensions = ("py",)
    config_name = "bandit.yaml"
    config_names = (".bandit", "bandit.yaml", "pyproject.toml")
    suppresses = "python"
    unseeing = ("--ignore-nosec",)
    lists_files = True

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        config = self.config_place(options, workdir)
        return (
            *("bandit", "-q", "--ini", "/dev/null", *(("-c", config) if config else ())),
            *self.unseen(options),
            *("-f", "json", "-r", *options.paths(workdir)),
        )

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report."""
    document = loads("bandit", raw)
    for error in shaped("bandit", lambda: list(document["errors"])):
        raise unparsable("bandit", relative(str(error.get("filename")), raw), str(error.get("reason")))
    findings = tuple(shaped("bandit", lambda: list(_findings(document["results"], raw))))
    files, totals = shaped("bandit", lambda: _metrics(document["metrics"], raw))
    if sum(totals.values()) != len(findings):
        raise AnalyzerError(f"the bandit report contradicts itself: {totals} said, {len(findings)} listed")
    if not files:
        raise AnalyzerError("bandit checked no file")
    agree("bandit", raw, {1} if findings else {0}, f"{len(findings)} results")
    return Report(findings, files)


def _metrics(metrics: Mapping[str, Any], raw: Raw) -> tuple[frozenset[str], dict[str, int]]:
    totals = {k: int(n) for k, n in metrics["_totals"].items() if k.startswith("SEVERITY.")}
    return frozenset(relative(path, raw) for path in metrics if path != "_totals"), totals


def _findings(results: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    for entry in results:
        severity = str(entry["issue_severity"]).lower()
        where = relative(str(entry["filename"]), raw)
        yield Finding(
            str(entry["test_id"]), where, int(entry["line_number"]), str(entry["issue_text"]), severity
        )
