"""Recorded phpcs reports and everything that only looks like one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analyzers import AnalyzerError, OptionError
from orchestrator.analyzers.errand import VERSION
from orchestrator.analyzers.phpcs import REPORT, Phpcs, read, report_in_output
from orchestrator.analyzers.reports import Raw
from orchestrator.contract import StepResult
from sandboxes.fake import done, ended


def report(*messages: dict[str, Any], fixable: int = 0, **totals: int) -> bytes:
    errors = sum(m["type"] == "ERROR" for m in messages)
    counts = {"errors": errors, "warnings": len(messages) - errors}
    entry = {**counts, "messages": list(messages)}
    document = {"totals": {**counts, "fixable": fixable, **totals}, "files": {"a.php": entry}}
    return json.dumps(document).encode()


def message(rule: str = "A.B", kind: str = "ERROR", line: int = 1) -> dict[str, Any]:
    return {
        "message": "m",
        "source": rule,
        "severity": 5,
        "fixable": False,
        "type": kind,
        "line": line,
        "column": 1,
    }


@pytest.mark.parametrize(
    ("name", "version", "exit_code"), [("371", "3.7.1", 2), ("3.13.4", "3.13.4", 2), ("4.0.0", "4.0.0", 3)]
)
def test_recorded_reports_of_three_versions_are_read(
    data: Path, name: str, version: str, exit_code: int
) -> None:
    read_in = read(Raw((data / "analyzers" / "phpcs" / f"bad.{name}.json").read_bytes(), exit_code, version))

    assert len(read_in.findings) == 11
    assert sum(f.severity == "error" for f in read_in.findings) == 10
    assert read_in.files == {"a.php", "b.php"}


@pytest.mark.parametrize(
    ("version", "total", "fixable", "exit_code"),
    [
        ("3.7.1", 0, 0, 0),
        ("3.7.1", 2, 0, 1),
        ("3.7.1", 2, 2, 2),
        ("3.7.1", 2, 1, 2),
        ("4.0.0", 0, 0, 0),
        ("4.0.0", 2, 0, 2),
        ("4.0.0", 2, 2, 1),
        ("4.0.0", 2, 1, 3),
    ],
)
def test_exit_code_and_report_must_agree_by_version(
    version: str, total: int, fixable: int, exit_code: int
) -> None:
    data = report(*[message()] * total, fixable=fixable)

    assert len(read(Raw(data, exit_code, version)).findings) == total
    for other in {0, 1, 2, 3, 16, 137, 255} - {exit_code}:
        with pytest.raises(AnalyzerError, match="exit code"):
            read(Raw(data, other, version))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "wrote no report"),
        (b"[]", "known shape"),
        (b"{}", "known shape"),
        (report(message())[:-20], "not whole JSON"),
        (report(message()) + b"Unable to encode", "not whole JSON"),
        (b"Deprecated: x\n" + report(message()), "not whole JSON"),
        (report(message(), errors=60), "contradicts itself"),
        (b'{"totals":{"errors":0,"warnings":0,"fixable":0},"files":{}}', "checked no file"),
        (b'{"totals":{"errors":0,"warnings":0,"fixable":0},"files":[]}', "checked no file"),
        (report(message("Internal.Exception")), "a sniff crashed"),
        (b'{"totals":{"errors":1,"warnings":0,"fixable":0},"files":{"a":{"errors":1,"warnings":0,"messages":[]}}}',
         "contradicts itself"),
    ],
    ids=["empty", "list", "object", "cut", "tail", "head", "totals", "none", "none, list", "crash", "lost"],
)  # fmt: skip
def test_what_only_looks_like_a_report_is_an_error(data: bytes, says: str) -> None:
    with pytest.raises(AnalyzerError, match=says):
        read(Raw(data, 1, "3.7.1"))


def test_a_report_among_notices_is_found_in_recorded_output(data: Path) -> None:
    output = (data / "phpcs_noise" / "stdout-noisy.txt").read_text()

    read = report_in_output(output, 2, "3.7.1", "/srv/repo")

    assert [(f.path, f.severity) for f in read.findings] == [("src/A.php", "error"), ("src/A.php", "warning")]


@pytest.mark.parametrize(("name", "code"), [("stdout-truncated.txt", 2), ("stdout-bad-standard.txt", 3)])
def test_cut_output_and_a_missing_standard_are_errors(data: Path, name: str, code: int) -> None:
    with pytest.raises(AnalyzerError, match="no phpcs report"):
        report_in_output((data / "phpcs_noise" / name).read_text(), code, "3.7.1")


def results(data: bytes | None, exit_code: int, stdout: str = "") -> Sequence[StepResult]:
    version = b"PHP_CodeSniffer version 3.7.1 (stable) by Squiz\n"
    return [StepResult(done(exit_code, stdout), {VERSION: version, REPORT: data})]


def test_a_measurement_counts_errors_and_warnings() -> None:
    data = report(message(), message(kind="WARNING"))

    measured = Phpcs().read({}, "/w", results(data, 1))

    assert (measured.value, measured.unit, measured.higher_is_better) == (2.0, "findings", False)
    assert measured.counts == {"errors": 1, "warnings": 1, "fixable": 0, "files": 1}
    assert measured.tool_version == "3.7.1"


def test_warnings_can_be_left_out() -> None:
    check = {"metadata": {"count": "errors"}}

    assert Phpcs().read(check, "/w", results(report(message(), message(kind="WARNING")), 1)).value == 1.0


def test_no_report_keeps_what_phpcs_said() -> None:
    with pytest.raises(AnalyzerError, match="coding standard is not installed"):
        Phpcs().read({}, "/w", results(None, 3, 'ERROR: the "Nope" coding standard is not installed.'))


def test_a_phpcs_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AnalyzerError, match="does not say its version"):
        Phpcs().read({}, "/w", [StepResult(ended("missing_binary"))])


def test_the_command_is_ours_alone() -> None:
    (run,) = Phpcs().steps({"metadata": {"target": ["src", "lib"]}}, "/workspace")

    argv = run.command.argv
    assert run.command.cwd == "/"
    assert {"--ignore-annotations", "--standard=PSR12", "--no-cache", f"--report-file={REPORT}"} <= set(argv)
    assert not any(str(word).startswith("--parallel") for word in argv)
    assert argv[-2:] == ("/workspace/src", "/workspace/lib")


@pytest.mark.parametrize(
    "metadata",
    [
        {"standard": "--report=full"},
        {"standard": "PSR12;rm"},
        {"standard": "/etc/x.xml"},
        {"target": "../other"},
        {"target": 3},
        {"target": "-v"},
        {"extensions": "php --parallel=9"},
        {"count": "warnings"},
    ],
    ids=str,
)
def test_options_that_reach_beyond_their_use_are_refused(metadata: Any) -> None:
    with pytest.raises(OptionError):
        Phpcs().steps({"metadata": metadata}, "/workspace")


def test_a_ruleset_of_the_repository_is_only_read_when_the_task_names_it() -> None:
    assert Phpcs().config_paths({}) == ()
    assert Phpcs().config_paths({"metadata": {"standard": "./rules/own.xml"}}) == ("rules/own.xml",)
