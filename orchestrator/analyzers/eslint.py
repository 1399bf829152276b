"""ESLint 9 and later, JSON. Options beside those of every tool: `rules` (names as "no-undef,eqeqeq", each an
error), or `config`, a flat configuration given in the rubric or named in the work tree.

No configuration of the repository is looked for and no inline comment is obeyed.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import CONFIG_FOLDER, Tool, config_layer
from sandboxes.spec import Layer

_RULES = "eqeqeq,no-debugger,no-dupe-keys,no-redeclare,no-undef,no-unreachable,no-unused-vars"
_NAME = "eslint.config.mjs"


class Eslint(Tool):
    """The `eslint` analyzer."""

    name = "eslint"
    extensions = ("js", "mjs", "cjs")
    settings = {"rules": Setting(_RULES, re.compile(r"[\w@/-]+(,[\w@/-]+)*"), "rules as no-undef,eqeqeq")}
    config_name = _NAME
    config_names = ("eslint.config.*", ".eslintrc", ".eslintrc.*", ".eslintignore", "package.json")
    suppresses = "eslint"
    unseeing = ("--no-inline-config",)
    lists_files = True

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        config = self.config_place(options, workdir) or posixpath.join(CONFIG_FOLDER, _NAME)
        return (
            *("eslint", "--no-config-lookup", "-c", config, *self.unseen(options), "--no-color"),
            *("--no-ignore", "--no-warn-ignored", "--format", "json"),
            *options.paths(workdir),
        )

    def _layers(self, options: Options, workdir: str) -> tuple[Layer, ...]:
        if options.config:
            return super()._layers(options, workdir)
        rules = dict.fromkeys(options.settings["rules"].split(","), "error")
        files = [f"**/*.{extension}" for extension in options.extensions]
        return (config_layer({_NAME: f"export default [{json.dumps({'files': files, 'rules': rules})}];\n"}),)

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report. What comments suppress counts like the rest."""
    document = loads("eslint", raw)
    findings = tuple(shaped("eslint", lambda: list(_findings(document, raw))))
    files = frozenset(shaped("eslint", lambda: [relative(str(e["filePath"]), raw) for e in document]))
    if not files:
        raise AnalyzerError("eslint checked no file")
    errors = shaped("eslint", lambda: sum(int(entry["errorCount"]) for entry in document))
    agree("eslint", raw, {1} if errors else {0}, f"{errors} errors")
    return Report(findings, files)


def _findings(document: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    for entry in document:
        where, messages = relative(str(entry["filePath"]), raw), entry["messages"]
        if len(messages) != int(entry["errorCount"]) + int(entry["warningCount"]):
            raise ValueError(f"{where}: {len(messages)} messages, other counts")
        for message in (*messages, *entry.get("suppressedMessages", ())):
            text, rule = str(message["message"]), str(message["ruleId"] or "unused-directive")
            if message.get("fatal"):
                raise unparsable("eslint", where, text)
            if text.startswith("File ignored"):
                raise AnalyzerError(f"eslint left {where} out: {text[:200]}")
            severity = {1: "warning", 2: "error"}[message["severity"]]
            yield Finding(rule, where, int(message["line"]), text, severity)
