"""PHPStan 1.10, 1.11+ and 2.x, JSON.

Options beside those of every tool: `level` (0 to 10 or max; 5, or what the configuration says). `config` is a
neon file given in the rubric or named in the work tree; without one an empty configuration is given, so that
none of the repository's is found. The tool runs in a folder without a vendor autoloader, with a result cache
of its own that is thrown away.
Inline ignores cannot be switched off in this tool: they are counted.

What counts: every entry of `files`, and each configured ignore that matched nothing (C-11). Any other general
error means the run is no result.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding
from orchestrator.analyzers.options import Options, Setting
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped, unparsable
from orchestrator.analyzers.tool import CONFIG_FOLDER, Tool, config_layer
from sandboxes.spec import Layer

_CONTEXT = re.compile(r" \(in context of [^()]*(?:\([^()]*\))?[^()]*\)\Z")
_UNMATCHED = re.compile(
    r"was not matched in reported errors|^Ignored error pattern\b.*\bis expected to occur", re.S
)
_PARSE = re.compile(r"\ASyntax error,")
_NUMBERS = re.compile(r"\d+")
_FRAME = "parameters:\n    tmpDir: /tmp/proctor-phpstan\n    reportUnmatchedIgnoredErrors: false\n"
_NAME = "proctor.neon"


class Phpstan(Tool):
    """The `phpstan` analyzer."""

    name = "phpstan"
    settings = {"level": Setting("", re.compile(r"\d{1,2}|max"), "a number from 0 to 10, or max")}
    config_name = "given.neon"
    config_names = (
        "phpstan.neon",
        "phpstan.neon.dist",
        "phpstan.dist.neon",
        "phpstan*.neon",
        "phpstan-baseline.*",
    )
    suppresses = "phpstan"

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        level = options.settings["level"] or ("" if options.config else "5")
        return (
            *("phpstan", "analyse", "--no-progress", "--no-ansi", "--error-format=json", "--memory-limit=1G"),
            *("-c", posixpath.join(CONFIG_FOLDER, _NAME), *((f"--level={level}",) if level else ())),
            *options.paths(workdir),
        )

    def _layers(self, options: Options, workdir: str) -> tuple[Layer, ...]:
        included = {self.config_name: options.config} if options.inline else {}
        return (config_layer({_NAME: self._frame(options, workdir), **included}),)

    def _frame(self, options: Options, workdir: str) -> str:
        """Our own configuration; the given one, if any, is drawn in and overruled."""
        if not options.config:
            return _FRAME
        return f"includes:\n    - {self.config_place(options, workdir)}\n{_FRAME}"

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON report."""
    document = loads("phpstan", raw)
    totals, findings, general = shaped("phpstan", lambda: _contents(document, raw))
    unmatched = [text for text in general if _UNMATCHED.search(text)]
    partial = {"file_errors": len(findings), "general_errors": len(general)}
    if len(unmatched) < len(general):
        worst = next(text for text in general if text not in unmatched)
        raise AnalyzerError(f"phpstan did not finish: {worst.strip()[:300]}", **partial)
    if "Result is incomplete" in raw.stderr:
        raise AnalyzerError("phpstan says its result is incomplete because of severe errors", **partial)
    if totals != {"errors": len(general), "file_errors": len(findings)}:
        raise AnalyzerError(
            f"the phpstan report contradicts itself: totals {totals}, listed {partial}", **partial
        )
    whole = (*findings, *(Finding("ignore.unmatched", "", 0, text, key=text) for text in unmatched))
    agree("phpstan", raw, {1} if whole else {0}, f"{len(whole)} findings")
    return Report(whole)


def _contents(document: Any, raw: Raw) -> tuple[dict[str, int], list[Finding], list[str]]:
    totals = {name: int(document["totals"][name]) for name in ("errors", "file_errors")}
    files: Mapping[str, Any] = document["files"] or {}
    findings = [f for path, entry in files.items() for f in _findings(path, entry, raw)]
    general = document["errors"]
    if not isinstance(general, list) or not all(isinstance(text, str) for text in general):
        raise TypeError("errors is no list of texts")
    return totals, findings, general


def _findings(path: str, entry: Mapping[str, Any], raw: Raw) -> Iterable[Finding]:
    where = relative(_CONTEXT.sub("", path), raw)
    if int(entry["errors"]) != len(entry["messages"]):
        raise ValueError(f"{path}: {entry['errors']} errors, {len(entry['messages'])} messages")
    for message in entry["messages"]:
        text, rule = str(message["message"]), str(message.get("identifier") or "")
        if rule == "phpstan.parse" or (not rule and _PARSE.match(text)):
            raise unparsable("phpstan", where, text)
        yield Finding(rule or "phpstan", where, int(message["line"] or 0), text, key=_NUMBERS.sub("#", text))
