"""SARIF 2.1.0, from any tool: what `results` lists, if the run really ended well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.reports import Raw, Report, loads, relative, shaped

_LEVELS = {"error": "error", "warning": "warning", "note": "note", "none": "none"}


def read(raw: Raw) -> Report:
    """A whole log. Suppressed results count like the rest; results that are absent, passed or not applicable
    do not. `files` are the artifacts the runs list as analysed, where they list any."""
    document = loads("sarif", raw)
    runs = shaped("sarif", lambda: list(document["runs"]))
    if not str(document.get("version", "")).startswith("2.1."):
        raise AnalyzerError(f"the SARIF log has version {document.get('version')!r}, not 2.1.0")
    if not runs:
        raise AnalyzerError("the SARIF log holds no run")
    findings: list[Finding] = []
    for run in runs:
        shaped("sarif", lambda run=run: _ended_well(run))  # type: ignore[misc]
        findings += shaped("sarif", lambda run=run: list(_results(run, raw)))  # type: ignore[misc]
    return Report(tuple(findings))


def _ended_well(run: Mapping[str, Any]) -> None:
    if run.get("results") is None:
        raise AnalyzerError("a SARIF run has no results: it never looked")
    for invocation in run.get("invocations", ()):
        if invocation.get("executionSuccessful") is False:
            raise AnalyzerError("a SARIF run says that it was not successful")
        notes = ("toolExecutionNotifications", "toolConfigurationNotifications")
        for note in (n for name in notes for n in invocation.get(name, ())):
            if note.get("level") == "error":
                raise AnalyzerError(
                    f"a SARIF run reports an error: {str(note.get('message', {}).get('text'))[:200]}"
                )


def _results(run: Mapping[str, Any], raw: Raw) -> Iterable[Finding]:
    for result in run["results"]:
        if result.get("baselineState") == "absent" or result.get("kind", "fail") not in (
            "fail",
            "review",
            "open",
        ):
            continue
        rule = _rule(run, result)
        path, line = _place(run, result, raw)
        text = str(result.get("message", {}).get("text") or "")
        severity = _LEVELS[_level(run, result)]
        yield Finding(rule or "sarif", path, line, text, severity, key="" if rule else text)


def _rule(run: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    named = result.get("ruleId") or result.get("rule", {}).get("id")
    if named:
        return str(named)
    described = _described(run, result)
    return str(described.get("id", ""))


def _described(run: Mapping[str, Any], result: Mapping[str, Any]) -> Mapping[str, Any]:
    rules = run.get("tool", {}).get("driver", {}).get("rules", ())
    index = result.get("ruleIndex", result.get("rule", {}).get("index", -1))
    if 0 <= index < len(rules):
        found: Mapping[str, Any] = rules[index]
        return found
    return next((rule for rule in rules if rule.get("id") == result.get("ruleId")), {})


def _level(run: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    default = _described(run, result).get("defaultConfiguration", {}).get("level", "warning")
    return str(result.get("level") or default)


def _place(run: Mapping[str, Any], result: Mapping[str, Any], raw: Raw) -> tuple[str, int]:
    locations = result.get("locations") or ()
    if not locations:
        return "", 0
    physical = locations[0].get("physicalLocation", {})
    artifact = physical.get("artifactLocation", {})
    uri = artifact.get("uri")
    if uri is None and "index" in artifact:
        artifact = run["artifacts"][artifact["index"]]["location"]
        uri = artifact.get("uri")
    base = run.get("originalUriBaseIds", {}).get(artifact.get("uriBaseId", ""), {}).get("uri", "")
    line = int(physical.get("region", {}).get("startLine", 0))
    return (relative(f"{base}{uri}", raw) if uri else ""), line
