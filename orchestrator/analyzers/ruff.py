"""Ruff, JSON. Options beside those of every tool: `select` (rules; E,F,W,B).

Neither the repository's configuration nor `# noqa` is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool

_UNREAD = (None, "invalid-syntax", "E902", "E999")


class Ruff(Tool):
    """The `ruff` analyzer."""

    name = "ruff"
    extensions = ("py", "pyi")
    settings = {"select": Setting("E,F,W,B", re.compile(r"[A-Z]+\d*(,[A-Z]+\d*)*"), "rules as E,F,W")}
    config_name = "ruff.toml"
    config_names = ("ruff.toml", ".ruff.toml", "pyproject.toml")
    suppresses = "python"
    unseeing = ("--ignore-noqa",)

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        config = self.config_place(options, workdir)
        given = ("--config", config) if config else ("--isolated", "--select", options.settings["select"])
        return (
            *("ruff", "check", *given, *self.unseen(options), "--no-cache", "--no-fix"),
            *("--no-respect-gitignore", "--output-format", "json", *options.paths(workdir)),
        )

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report."""
    document = loads("ruff", raw)
    if "No Python files found" in raw.stderr:
        raise AnalyzerError("ruff found no Python file")
    findings = tuple(shaped("ruff", lambda: list(_findings(document, raw))))
    agree("ruff", raw, {1} if findings else {0}, f"{len(findings)} findings")
    return Report(findings)


def _findings(document: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    if not isinstance(document, list):
        raise TypeError("no list")
    for entry in document:
        where, text = relative(str(entry["filename"]), raw), str(entry["message"])
        if entry["code"] in _UNREAD:
            raise unparsable("ruff", where, text)
        yield Finding(str(entry["code"]), where, int(entry["location"]["row"]), text)
