"""PHPMD 2.x, JSON. Options beside those of every tool: `rulesets` (a list by name; all but controversial).

A severity is the rule's priority, "priority 1" (worst) to "priority 5". --strict is given, but in 2.13 some
rules (UnusedPrivateMethod) obey `@SuppressWarnings` all the same, so new ones are counted back as well; so is
what vanishes behind `@inheritdoc`, which silences UnusedFormalParameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import Tool
from orchestrator.contract import Check

_RULESETS = "cleancode,codesize,design,naming,unusedcode"
_VARYING = re.compile(r"\d+")


class Phpmd(Tool):
    """The `phpmd` analyzer."""

    name = "phpmd"
    settings = {
        "rulesets": Setting(_RULESETS, re.compile(r"[a-z]+(,[a-z]+)*"), "a list of PHPMD's rule sets")
    }
    config_name = "ruleset.xml"
    config_names = ("phpmd.xml", "phpmd.xml.dist", ".phpmd.xml", "phpmd.baseline.xml")
    suppresses = "phpmd"
    unseeing = ("--strict",)

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        rules = self.config_place(options, workdir) or options.settings["rulesets"]
        suffixes = ",".join(options.extensions)
        return (
            "phpmd",
            ",".join(options.paths(workdir)),
            "json",
            rules,
            *self.unseen(options),
            "--suffixes",
            suffixes,
        )

    def obeys_suppressions(self, check: Check) -> bool:
        return True

    def version_of(self, words: str) -> str:
        # Debian's build prints the placeholder of its build script.
        return words.splitlines()[0].removeprefix("PHPMD ").strip()

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report."""
    document = loads("phpmd", raw)
    shaped("phpmd", lambda: document["files"])
    for error in shaped("phpmd", lambda: list(document.get("errors") or ())):
        raise unparsable("phpmd", str(error.get("fileName") or "a file"), str(error.get("message")))
    findings = tuple(shaped("phpmd", lambda: list(_findings(document["files"], raw))))
    agree("phpmd", raw, {2} if findings else {0}, f"{len(findings)} violations")
    return Report(findings)


def _findings(files: Iterable[Mapping[str, Any]], raw: Raw) -> Iterable[Finding]:
    for entry in files:
        where = relative(str(entry["file"]), raw)
        for found in entry["violations"]:
            text = str(found["description"])
            severity = f"priority {int(found['priority'])}"
            key = _VARYING.sub("#", text)
            yield Finding(str(found["rule"]), where, int(found["beginLine"]), text, severity, key=key)
