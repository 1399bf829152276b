"""PHP_CodeSniffer 3.x and 4.x: findings, or an error that says why the run is no measurement.

Options in the check's `metadata`, beside those of every tool: `standard` (a name, a ruleset's path in the
work tree, or, with line breaks, the ruleset itself; PSR12), `ignore` (patterns of paths left out, as phpcs
takes them). The standard is always given, so no ruleset of the repository is read unless the task names it;
one process, no cache.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from orchestrator.analyzers import checkstyle
from orchestrator.analyzers.measurement import AnalyzerError, Finding, OptionError, option
from orchestrator.analyzers.options import SHARED, Options, Setting, no_slips, texts, within
from orchestrator.analyzers.reports import Raw, Report, agree, loads, relative, shaped
from orchestrator.analyzers.tool import Tool
from orchestrator.contract import Check

REPORT = "/tmp/proctor-phpcs.json"
"""Where phpcs writes in its fresh room. No code of the candidate runs there."""

_VERSION = re.compile(r"PHP_CodeSniffer version (\d+\.\d+\.\d+\S*)")
_TRAILER = re.compile(r"\s*(?:Time: [^\n]*)?\s*")
_WORD = re.compile(r"[\w.,/@+-]+")
_OWN = ("standard", "ignore")
_BROKEN_RULES = ("Internal.Exception", "Internal.Tokenizer.Exception")


class Phpcs(Tool):
    """The `phpcs` analyzer."""

    name = "phpcs"
    settings = {"ignore": Setting("", re.compile(r"[^\0\r\n]+"), "patterns of paths")}
    config_name = "ruleset.xml"
    config_names = ("phpcs.xml", "phpcs.xml.dist", ".phpcs.xml", ".phpcs.xml.dist")
    lists_files = True
    writes_file = True
    report_file = REPORT
    suppresses = "phpcs"
    unseeing = ("--ignore-annotations",)

    def options(self, check: Check) -> Options:
        no_slips(check, {*SHARED, *self.settings, *_OWN, "annotations"})
        standard = option(check, "standard", "PSR12")
        metadata = dict(check.get("metadata") or {})
        for name in _OWN:
            metadata.pop(name, None)
        if isinstance(standard, str) and "\n" in standard:
            metadata["config"], standard = standard, "given"
        elif not isinstance(standard, str) or not _WORD.fullmatch(standard) or standard.startswith("-"):
            raise OptionError(f"metadata.standard is {standard!r}; it must be a standard's name or a path")
        elif "/" in standard or standard.endswith(".xml"):
            within(standard)
            metadata["config"], standard = standard, "given"
        ignored = texts(option(check, "ignore", []), "ignore")
        made = super().options({**check, "metadata": metadata})
        settings = {**made.settings, "standard": standard, "ignore": ",".join(ignored)}
        return Options(made.targets, made.extensions, made.count, made.config, made.config_files, settings)

    def argv(self, options: Options, workdir: str) -> tuple[str, ...]:
        standard = self.config_place(options, workdir) or options.settings["standard"]
        ignore = options.settings["ignore"]
        return (
            *("phpcs", "-d", "memory_limit=1G", "-q", "--no-colors", "--no-cache"),
            *self.unseen(options),
            *("--report=json", f"--report-file={REPORT}", f"--basepath={workdir}", "--runtime-set"),
            *("ignore_errors_on_exit", "0", "--runtime-set", "ignore_warnings_on_exit", "0"),
            *(f"--standard={standard}", f"--extensions={','.join(options.extensions)}"),
            *((f"--ignore={ignore}",) if ignore else ()),
            *options.paths(workdir),
        )

    def version_of(self, words: str) -> str:
        found = _VERSION.search(words)
        if found is None:
            raise AnalyzerError(f"phpcs does not say its version: {words[:200]!r}")
        return found[1]

    def report(self, raw: Raw) -> Report:
        return read(raw)


def read(raw: Raw) -> Report:
    """A whole JSON or checkstyle report. Raises AnalyzerError when it is cut or polluted, contradicts itself
    or the exit code, or when nothing was checked."""
    if raw.data.lstrip()[:1] == b"<":
        report = checkstyle.read(raw, "phpcs")
        return _sound(report, raw, None)
    return _checked(loads("phpcs", raw), raw)


def report_in_output(stdout: str, exit_code: int, version: str, root: str = "") -> Report:
    """The report out of recorded output with notices around it: the object with `totals` and `files`."""
    decoder = json.JSONDecoder()
    for start in (found.start() for found in re.finditer(r"\{", stdout)):
        try:
            document, end = decoder.raw_decode(stdout, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and {"totals", "files"} <= document.keys():
            if not _TRAILER.fullmatch(stdout, end):
                raise AnalyzerError(f"text follows the phpcs report: {stdout[end:].strip()[:120]!r}")
            return _checked(document, Raw(b"", exit_code, version, root=root))
    raise AnalyzerError(f"no phpcs report in the output (exit code {exit_code}): {stdout.strip()[:300]}")


def _checked(document: Any, raw: Raw) -> Report:
    totals, files, findings = shaped("phpcs", lambda: _contents(document, raw))
    said = {name: totals[name] for name in ("errors", "warnings")}
    summed = {name: sum(int(entry[name]) for entry in files.values()) for name in said}
    listed = {
        "errors": sum(f.severity == "error" for f in findings),
        "warnings": sum(f.severity == "warning" for f in findings),
    }
    analysed = frozenset(relative(path, raw) for path in files)
    report = Report(findings, analysed, counts={"fixable": totals["fixable"]})
    _no_broken_rule(report, totals)
    if not said == summed == listed:
        raise AnalyzerError(
            f"the phpcs report contradicts itself: totals {said}, files {summed}, messages {listed}", **totals
        )
    if not files:
        raise AnalyzerError("phpcs checked no file", **totals)
    return _sound(report, raw, totals["fixable"])


def _contents(document: Any, raw: Raw) -> tuple[dict[str, int], Mapping[str, Any], tuple[Finding, ...]]:
    totals = {name: int(document["totals"][name]) for name in ("errors", "warnings", "fixable")}
    files: Mapping[str, Any] = document["files"] or {}
    for entry in files.values():
        int(entry["errors"]), int(entry["warnings"])
    return totals, files, tuple(f for path, entry in files.items() for f in _findings(path, entry, raw))


def _findings(path: str, entry: Mapping[str, Any], raw: Raw) -> Iterable[Finding]:
    where = relative(path, raw)
    for message in entry["messages"]:
        severity = {"ERROR": "error", "WARNING": "warning"}[message["type"]]
        yield Finding(str(message["source"]), where, int(message["line"]), str(message["message"]), severity)


def _no_broken_rule(report: Report, totals: Mapping[str, int]) -> None:
    broken = [f for f in report.findings if f.rule in _BROKEN_RULES]
    if broken:
        raise AnalyzerError(f"a sniff crashed on {broken[0].path}: {broken[0].message[:200]}", **totals)


def _sound(report: Report, raw: Raw, fixable: int | None) -> Report:
    """With an exit code that goes with it: 3.x counts 0, 1, 2; 4.x is a bit mask (1 fixable, 2 not). A format
    that does not say what is fixable leaves both open."""
    _no_broken_rule(report, {})
    if raw.exit_code is None:
        return report
    total = len(report.findings)
    ways = {0, min(1, total), total} if fixable is None else {fixable}
    major = raw.version.partition(".")[0]
    fitting = {_exit_code(major, total, n) for n in ways}
    known = "" if fixable is None else f", {fixable} fixable"
    agree("phpcs", raw, fitting, f"{total} findings{known}")
    return report


def _exit_code(major: str, total: int, fixable: int) -> int:
    if major.isdigit() and int(major) >= 4:
        return (1 if fixable else 0) | (2 if total > fixable else 0)
    return 0 if not total else 2 if fixable else 1
