"""What the pages say of rubrics is so."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import orchestrator.advice
import orchestrator.edits
import orchestrator.library
import orchestrator.loading.habits
import orchestrator.rules

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["python.md"])
def test_the_examples_of_a_page_run_as_written(page: str) -> None:
    results = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.ELLIPSIS)

    assert results.attempted > 10 and results.failed == 0


@pytest.mark.parametrize(
    "module",
    [
        orchestrator.advice,
        orchestrator.edits,
        orchestrator.library,
        orchestrator.loading.habits,
        orchestrator.rules,
    ],
    ids=lambda module: module.__name__,
)
def test_the_examples_of_a_module_run(module: object) -> None:
    results = doctest.testmod(module)  # type: ignore[arg-type]

    assert results.attempted and results.failed == 0
