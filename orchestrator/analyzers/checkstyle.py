"""Checkstyle XML, which many tools write: read with a parser that follows no entity and opens no file."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.reports import Raw, Report, ended, relative, shaped

_SEVERITIES = {"error": "error", "warning": "warning", "info": "info"}


def read(raw: Raw, tool: str = "checkstyle") -> Report:
    """A whole report. `ignore` entries are none. A report that names no file says nothing about what was
    checked (`files` is None); most tools leave clean files out."""
    if not raw.data.strip():
        raise AnalyzerError(f"{tool} wrote no report{ended(raw)}")
    reading = _Reading(raw, tool)
    _parse(raw.data, tool, reading)
    if not reading.root:
        raise AnalyzerError(f"the {tool} report is no checkstyle document")
    return Report(tuple(reading.findings))


class _Reading:
    def __init__(self, raw: Raw, tool: str) -> None:
        self.raw, self.tool = raw, tool
        self.root = False
        self.path: str | None = None
        self.findings: list[Finding] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self.root:
            self.root = name == "checkstyle"
        elif name == "file":
            self.path = shaped(self.tool, lambda: relative(attributes["name"], self.raw))
        elif name == "error" and attributes.get("severity") != "ignore":
            self.findings.append(shaped(self.tool, lambda: self._finding(attributes)))
        elif name == "exception":
            raise AnalyzerError(f"{self.tool} crashed on {self.path}")

    def _finding(self, attributes: dict[str, str]) -> Finding:
        if self.path is None:
            raise ValueError("an error outside of any file")
        severity = _SEVERITIES[attributes.get("severity", "error")]
        rule = attributes.get("source") or self.tool
        key = "" if attributes.get("source") else attributes["message"]
        line = int(attributes.get("line") or 0)
        return Finding(rule, self.path, line, attributes["message"], severity, key=key)


def _parse(data: bytes, tool: str, reading: _Reading) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler = reading.start
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        raise AnalyzerError(f"the {tool} report is not whole XML: {problem}") from None
    except ValueError as problem:  # an encoding nobody knows
        raise AnalyzerError(f"the {tool} report cannot be read: {problem}") from None


def _refuse(*_: Any) -> None:
    raise AnalyzerError("the report declares a document type or entities, which no analyzer needs")
