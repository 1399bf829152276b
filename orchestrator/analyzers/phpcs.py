"""PHP_CodeSniffer 3.x and 4.x: findings, or an error that says why the run is no measurement.

Options in the check's `metadata`: `standard` (a name, or a ruleset's path in the work tree; PSR12),
`target` (a path or a list of paths in the work tree; all of it), `extensions` ("php"), `count` ("all", or
"errors" to leave warnings out), `ignore` (patterns of paths left out, as phpcs takes them).

The standard is always given, so no ruleset of the repository is read unless the task names it; inline
suppressions are ignored; the tool runs outside the work tree, in one process, and reports to a file.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Finding, Measurement, OptionError, option
from orchestrator.contract import Check, Step, StepResult
from sandboxes.spec import Command

REPORT = "/tmp/proctor-phpcs.json"
"""Where phpcs writes in its fresh room. No code of the candidate runs there."""

_VERSION = re.compile(r"PHP_CodeSniffer version (\d+)(\.\d+\.\d+\S*)")
_TRAILER = re.compile(r"\s*(?:Time: [^\n]*)?\s*")
_WORD = re.compile(r"[\w.,/@+-]+")
_BROKEN_RULES = ("Internal.Exception", "Internal.Tokenizer.Exception")


class Phpcs:
    """The `phpcs` analyzer."""

    name = "phpcs"
    suppresses = "phpcs"
    sees_suppressed = True

    def steps(self, check: Check, workdir: str) -> Sequence[Step]:
        version = Step(Command(("phpcs", "--version"), cwd="/"), stop_unless_ok=True)
        return version, Step(Command(_argv(_options(check), workdir), cwd="/"), reads=(REPORT,))

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        options = _options(check)
        version = _version(results[0])
        run = results[1]
        if run.done.end != "exited" or run.done.exit_code is None:
            raise AnalyzerError(f"phpcs did not come to its end: {run.done.end}")
        data = run.files.get(REPORT)
        if data is None:
            words = (run.done.stdout.text + run.done.stderr.text).strip()[-400:]
            raise AnalyzerError(
                f"phpcs wrote no report (exit code {run.done.exit_code}): {words or 'it said nothing'}"
            )
        report = read_report(data, run.done.exit_code, version)
        errors = sum(f.severity == "error" for f in report.findings)
        counted = errors if options.count == "errors" else len(report.findings)
        return Measurement(
            tool=self.name,
            value=float(counted),
            higher_is_better=False,
            unit="errors" if options.count == "errors" else "findings",
            tool_version=version,
            counts={
                "errors": errors,
                "warnings": len(report.findings) - errors,
                "files": len(report.files),
            },
            command=" ".join(_argv(options, workdir)),
            exit_code=run.done.exit_code,
            target=" ".join(options.targets),
            config_digest=options.digest(),
            findings=tuple(f for f in report.findings if options.count == "all" or f.severity == "error"),
            files=report.files,
        )

    def config_paths(self, check: Check) -> Sequence[str]:
        standard = _options(check).standard
        return (posixpath.normpath(standard),) if "/" in standard or standard.endswith(".xml") else ()


@dataclass(frozen=True)
class Report:
    """What one report file says; consistent in itself and with the exit code."""

    findings: tuple[Finding, ...]
    files: frozenset[str]


def read_report(data: bytes, exit_code: int, version: str, root: str = "") -> Report:
    """A whole JSON report. `root` is stripped from absolute paths. Raises AnalyzerError when it is cut or
    polluted, contradicts itself or the exit code, or when nothing was checked."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise AnalyzerError(f"the phpcs report is not whole JSON: {problem}") from None
    return _checked(document, exit_code, version, root)


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
            return _checked(document, exit_code, version, root)
    raise AnalyzerError(f"no phpcs report in the output (exit code {exit_code}): {stdout.strip()[:300]}")


@dataclass(frozen=True)
class _Options:
    standard: str
    targets: tuple[str, ...]
    extensions: str
    count: str
    ignore: tuple[str, ...]

    def digest(self) -> str:
        facts = [self.standard, self.targets, self.extensions, self.count, self.ignore]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _options(check: Check) -> _Options:
    standard = option(check, "standard", "PSR12")
    if not isinstance(standard, str) or not _WORD.fullmatch(standard) or standard.startswith("-"):
        raise OptionError(f"metadata.standard is {standard!r}; it must be a standard's name or a path")
    extensions = option(check, "extensions", "php")
    if not isinstance(extensions, str) or not _WORD.fullmatch(extensions):
        raise OptionError(f"metadata.extensions is {extensions!r}; write them as php,inc")
    count = option(check, "count", "all")
    if count not in ("all", "errors"):
        raise OptionError(f"metadata.count is {count!r}; it must be all or errors")
    targets = _texts(option(check, "target", "."), "target")
    for target in (*targets, standard):
        if target.startswith(("/", "-")) or ".." in target.split("/"):
            raise OptionError(f"{target!r} leaves the work tree; write a path relative to it")
    return _Options(standard, targets, extensions, count, _texts(option(check, "ignore", []), "ignore"))


def _texts(value: Any, name: str) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(t, str) and t for t in texts):
        raise OptionError(f"metadata.{name} is {value!r}; it must be a path or a list of paths")
    return tuple(texts)


def _argv(options: _Options, workdir: str) -> tuple[str, ...]:
    local = "/" in options.standard or options.standard.endswith(".xml")
    standard = posixpath.join(workdir, options.standard) if local else options.standard
    return (
        *("phpcs", "-d", "memory_limit=1G", "-q", "--no-colors", "--no-cache", "--ignore-annotations"),
        *("--report=json", f"--report-file={REPORT}", f"--basepath={workdir}", "--runtime-set"),
        *("ignore_errors_on_exit", "0", "--runtime-set", "ignore_warnings_on_exit", "0"),
        *(f"--standard={standard}", f"--extensions={options.extensions}"),
        *((f"--ignore={','.join(options.ignore)}",) if options.ignore else ()),
        *(posixpath.normpath(posixpath.join(workdir, target)) for target in options.targets),
    )


def _version(result: StepResult) -> str:
    found = _VERSION.search(result.done.stdout.text)
    if not result.done.ok or found is None:
        end = result.done.end if result.done.end != "exited" else f"exit code {result.done.exit_code}"
        raise AnalyzerError(f"phpcs does not say its version ({end}): is it installed in the image?")
    return found[1] + found[2]


def _checked(document: Any, exit_code: int, version: str, root: str) -> Report:
    try:
        totals = {name: int(document["totals"][name]) for name in ("errors", "warnings", "fixable")}
        files: Mapping[str, Any] = document["files"] or {}
        findings = [f for path, entry in files.items() for f in _findings(_relative(path, root), entry)]
        summed = {
            name: sum(int(entry[name]) for entry in files.values()) for name in ("errors", "warnings")
        }
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise AnalyzerError(f"the phpcs report has not the known shape: {problem!r}") from None
    broken = [f for f in findings if f.rule in _BROKEN_RULES]
    if broken:
        raise AnalyzerError(f"a sniff crashed on {broken[0].path}: {broken[0].message[:200]}", **totals)
    listed = {
        "errors": sum(f.severity == "error" for f in findings),
        "warnings": sum(f.severity == "warning" for f in findings),
    }
    said = {name: totals[name] for name in summed}
    if not said == summed == listed:
        raise AnalyzerError(
            f"the phpcs report contradicts itself: totals {said}, files {summed}, messages {listed}", **totals
        )
    if not files:
        raise AnalyzerError("phpcs checked no file", **totals)
    _check_exit(exit_code, version, sum(said.values()), totals["fixable"])
    return Report(tuple(findings), frozenset(_relative(path, root) for path in files))


def _findings(path: str, entry: Mapping[str, Any]) -> Iterable[Finding]:
    for message in entry["messages"]:
        severity = {"ERROR": "error", "WARNING": "warning"}[message["type"]]
        yield Finding(str(message["source"]), path, int(message["line"]), str(message["message"]), severity)


def _check_exit(exit_code: int, version: str, total: int, fixable: int) -> None:
    """The code that fits the report: 3.x counts 0, 1, 2; 4.x is a bit mask (1 fixable, 2 not)."""
    if int(version.partition(".")[0]) >= 4:
        fitting = (1 if fixable else 0) | (2 if total > fixable else 0)
    else:
        fitting = 0 if not total else 2 if fixable else 1
    if exit_code != fitting:
        raise AnalyzerError(
            f"phpcs {version} ended with exit code {exit_code}, but {total} findings, {fixable} fixable, "
            f"mean {fitting}"
        )


def _relative(path: str, root: str) -> str:
    path = path.replace("\\", "/")
    return path.removeprefix(root.rstrip("/") + "/") if root else path.removeprefix("./")
