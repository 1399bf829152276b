"""Trends: how tasks, rubrics, checks and analysers' rules moved over runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.record import OutcomeRecord
from orchestrator.history.index import Index, RunFilter
from orchestrator.history.trends import Point, Series, trend
from tests.unit.history.conftest import MakeRun, delta_outcome


def fields(status: str, after: int) -> Any:
    checked = OutcomeRecord(id="tests", kind="command", status=status, score=1.0, passed=True, reason="")  # type: ignore[arg-type]
    return lambda task, repeat: {"outcomes": (checked, delta_outcome("phpcs", 1.0, Rule=[10, after]))}


@pytest.fixture
def index(tmp_path: Path, make_run: MakeRun) -> Index:
    make_run("1", {"a": "pp", "b": "fe"}, fields=fields("passed", 6))
    make_run("2", {"a": "pf"}, fields=fields("failed", 8), header={"started": "2026-01-02T00:00:00+00:00"})
    return Index.current(tmp_path / "runs", {})


@pytest.mark.parametrize(
    ("by", "found"),
    [
        ("agent", [("", (Point(2 / 3, 3), Point(0.5, 2)))]),
        ("task", [("a", (Point(1, 2), Point(0.5, 2))), ("b", (Point(0, 1), None))]),
        ("rubric", [("rubric/r@1.0", (Point(2 / 3, 3), Point(0.5, 2)))]),
        ("check", [("r: tests", (Point(1, 3), Point(0, 2))), ("r: score_delta", (Point(1, 3), Point(1, 2)))]),
        ("rule", [("phpcs: Rule", (Point(4, 3), Point(2, 2)))]),
    ],
)
def test_each_run_has_its_place_in_every_series(index: Index, by: Any, found: Any) -> None:
    with index:
        told = trend(index, RunFilter(), by)

    assert [run.run_id for run in told.runs] == ["id-1", "id-2"]
    assert [(s.name, s.points) for s in told.series] == found


def test_a_series_knows_how_far_it_moved() -> None:
    assert Series("a", "t", (None, Point(1.0, 2), None, Point(0.25, 2))).change == -0.75
    assert Series("a", "t", (None, Point(1.0, 2))).change == 0
    assert Series("a", "t", ()).change == 0


def test_only_the_newest_runs_are_looked_at(index: Index) -> None:
    with index:
        assert [run.run_id for run in trend(index, RunFilter(), "agent", limit=1).runs] == ["id-2"]
