"""Pylint 3 and later, json2.

Options beside those of every tool: `disable` (messages), `value` ("findings", or "score" for pylint's own
mark of 0 to 10, higher is better).

No configuration of the repository is read. `# pylint: disable` cannot be switched off: new ones are counted,
and with them all that vanished with a `skip-file`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool

_BITS = {"fatal": 1, "error": 2, "warning": 4, "refactor": 8, "convention": 16, "info": 0}
_NUMBERS = re.compile(r"\d+")


class Pylint(Tool):
    """The `pylint` analyzer."""

    name = "pylint"
    extensions = ("py",)
    settings = {
        "disable": Setting("import-error", re.compile(r"[\w-]+(,[\w-]+)*"), "messages as import-error,R0801"),
        "value": Setting("findings", re.compile("findings|score"), "findings or score"),
    }
    config_name = "pylintrc"
    config_names = ("pylintrc", ".pylintrc", "pylintrc.toml", "pyproject.toml", "setup.cfg", "tox.ini")
    suppresses = "python"

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        return (
            *("pylint", f"--rcfile={self.config_place(options, workdir) or '/dev/null'}", "-j1"),
            *("--output-format=json2", f"--disable={options.settings['disable']}", "--persistent=n"),
            *("--recursive=y", *options.paths(workdir)),
        )

    def _measured(self, options: Options, *rest: Any) -> Any:
        workdir, raw, report, files = rest
        if options.settings["value"] == "findings":
            report = Report(report.findings, report.files, None, report.counts)
        return super()._measured(options, workdir, raw, report, files)

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole json2 report; `value` is pylint's own score."""
    document = loads("pylint", raw)
    findings, said, score = shaped("pylint", lambda: _contents(document, raw))
    listed = {kind: sum(f.severity == kind for f in findings) for kind in said}
    if said != listed:
        raise AnalyzerError(f"the pylint report contradicts itself: {said} said, {listed} listed")
    if said.get("fatal"):
        raise AnalyzerError(
            f"pylint could not go on: {next(f for f in findings if f.severity == 'fatal').message}"
        )
    bits = sum(_BITS[kind] for kind, number in said.items() if number)
    agree("pylint", raw, {bits}, f"{len(findings)} messages")
    return Report(findings, value=score)


def _contents(document: Any, raw: Raw) -> tuple[tuple[Finding, ...], dict[str, int], float]:
    statistics = document["statistics"]
    said = {kind: int(statistics["messageTypeCount"].get(kind, 0)) for kind in _BITS}
    return tuple(_findings(document["messages"], raw)), said, float(statistics["score"])


def _findings(messages: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    for message in messages:
        where, text, rule = (
            relative(str(message["path"]), raw),
            str(message["message"]),
            str(message["symbol"]),
        )
        if rule in ("syntax-error", "astroid-error", "parse-error"):
            raise unparsable("pylint", where, text)
        severity = str(message["type"])
        yield Finding(rule, where, int(message["line"]), text, severity, key=_NUMBERS.sub("#", text))
