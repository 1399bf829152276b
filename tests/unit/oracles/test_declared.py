"""Analyzers that a benchmark defines in its proctor.yaml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analyzers import AnalyzerError
from orchestrator.analyzers.declared import Declared
from orchestrator.analyzers.errand import FILES, VERSION
from orchestrator.analyzers.tool import REPORT
from orchestrator.contract import StepResult
from orchestrator.documents.benchmark import AnalyzerTool
from orchestrator.errors import AuthoringError
from orchestrator.loading import load_config
from orchestrator.plugins import Registry
from sandboxes.fake import done

CHECKSTYLE = b"<checkstyle><file name='/w/a.php'><error line='1' message='m' source='R'/></file></checkstyle>"


def tool(**fields: Any) -> Declared:
    entry = {"command": "phan -o {report} {targets}", "format": "checkstyle", "extensions": ("php",)}
    return Declared("phan", AnalyzerTool(**{**entry, **fields}))


def results(data: bytes, code: int = 0, files: bytes = b"/w/a.php\0") -> list[StepResult]:
    return [StepResult(done(code), {FILES: files, VERSION: b"phan 5.4.1", REPORT: data})]


def test_a_tool_of_the_benchmarks_own_measures_like_any_other() -> None:
    measured = tool(version="phan --version").read({}, "/w", results(CHECKSTYLE, 1))

    assert (measured.value, measured.tool, measured.tool_version) == (1.0, "phan", "5.4.1")
    assert measured.files == {"a.php"}
    assert [(f.rule, f.path) for f in measured.findings or ()] == [("R", "a.php")]


def test_its_command_names_targets_and_report() -> None:
    (run,) = tool().steps({"metadata": {"target": ["src", "a b"]}}, "/w")

    assert run.command.argv[3:] == ("sh", "/bin/sh", "-c", f"phan -o {REPORT} /w/src '/w/a b'")
    assert run.command.cwd == "/"


@pytest.mark.parametrize(
    ("data", "code", "files"),
    [
        (b"", 0, b"/w/a.php\0"),
        (CHECKSTYLE, 2, b"/w/a.php\0"),
        (CHECKSTYLE, 0, b""),
        (b"<x/>", 0, b"/w/a.php\0"),
    ],
    ids=["nothing", "another exit code", "no files", "another document"],
)
def test_what_is_no_finished_run_is_no_measurement(data: bytes, code: int, files: bytes) -> None:
    with pytest.raises(AnalyzerError):
        tool().read({}, "/w", results(data, code, files))


def test_a_number_has_the_direction_it_was_given() -> None:
    lower = tool(format="number").read({}, "/w", results(b"7\n"))
    higher = tool(format="number", direction="higher_is_better").read({}, "/w", results(b"7\n"))

    assert (lower.value, lower.higher_is_better, higher.higher_is_better) == (7.0, False, True)


def test_another_command_is_another_configuration() -> None:
    one, other = (tool(command=c).read({}, "/w", results(CHECKSTYLE)) for c in ("a {report}", "b {report}"))

    assert "config_digest" in one.mismatch(other)


def config(folder: Path, **analyzers: Any) -> Path:
    (folder / "proctor.yaml").write_text(json.dumps({"analyzers": analyzers}))
    return folder


def test_it_is_found_by_the_name_it_has_in_proctor_yaml(tmp_path: Path) -> None:
    loaded = load_config(config(tmp_path, phan={"command": "phan", "format": "sarif", "exit_codes": [0, 3]}))

    registry = Registry.of().with_analyzers(loaded.analyzers)

    assert registry.analyzers["phan"].declaration.exit_codes == (0, 3)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x"},
        {"command": "x", "format": "xml"},
        {"command": "x", "format": "sarif", "mood": 1},
        "x",
    ],
    ids=str,
)
def test_a_wrong_entry_is_its_authors_mistake(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(AuthoringError):
        load_config(config(tmp_path, phan=entry))


def test_an_installed_tool_cannot_be_replaced() -> None:
    with pytest.raises(AuthoringError, match="phpcs"):
        Registry.load().with_analyzers({"phpcs": AnalyzerTool(command="true", format="number")})
