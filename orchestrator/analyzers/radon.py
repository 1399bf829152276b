"""Radon's cyclomatic complexity, JSON. Options beside those of every tool: `threshold` (10).

A finding is a function, method or class more complex than the threshold. Radon always ends with exit code 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool

THRESHOLD = 10


class Radon(Tool):
    """The `radon` analyzer."""

    name = "radon"
    extensions = ("py",)
    settings = {"threshold": Setting(str(THRESHOLD), re.compile(r"\d{1,4}"), "a whole number")}
    config_names = ("radon.cfg", "setup.cfg", "pyproject.toml")

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        return ("radon", "cc", "-j", *options.paths(workdir))

    def _measured(self, options: Options, *rest: Any) -> Any:
        workdir, raw, report, files = rest
        return super()._measured(
            options, workdir, raw, over(report, int(options.settings["threshold"])), files
        )

    def report(self, raw: Raw) -> Report:
        return blocks(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report, with the usual threshold."""
    return over(blocks(raw), THRESHOLD)


def over(report: Report, threshold: int) -> Report:
    """Only what is more complex than `threshold`."""
    kept = tuple(f for f in report.findings if int(f.severity) > threshold)
    found = tuple(Finding(f.rule, f.path, f.line, f.message, "error", key=f.key) for f in kept)
    return Report(found, counts=report.counts)


def blocks(raw: Raw) -> Report:
    """Every block as a finding whose severity is its complexity."""
    document = loads("radon", raw)
    found = tuple(shaped("radon", lambda: list(_blocks(document, raw))))
    agree("radon", raw, {0}, "a finished run")
    return Report(found, counts={"blocks": len(found), "complexity": sum(int(f.severity) for f in found)})


def _blocks(document: Any, raw: Raw) -> Iterable[Finding]:
    for path, entries in document.items():
        where = relative(path, raw)
        if isinstance(entries, dict):
            if "error" not in entries:
                raise AnalyzerError(f"the radon report has an entry of no known shape for {where}")
            raise unparsable("radon", where, str(entries["error"]))
        for block in entries:
            name = ".".join(filter(None, (block.get("classname"), str(block["name"]))))
            complexity = int(block["complexity"])
            text = f"{block['type']} {name} has a complexity of {complexity}"
            yield Finding("complexity", where, int(block["lineno"]), text, str(complexity), key=name)
