"""What the pages say of rubrics is so."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

MODULES = """
advice api calibrate combine convert criteria edits library outcomes rules loading.habits
checks.chrf checks.commonmark checks.paths checks.responses checks.subjects checks.target checks.tool_usage
graders.judge graders.panel
"""
DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["python.md"])
def test_the_examples_of_a_page_run_as_written(page: str) -> None:
    results = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)

    assert results.attempted > 10 and results.failed == 0


@pytest.mark.parametrize("module", MODULES.split())
def test_the_examples_of_a_module_run(module: str) -> None:
    results = doctest.testmod(import_module(f"orchestrator.{module}"))

    assert results.attempted and results.failed == 0
