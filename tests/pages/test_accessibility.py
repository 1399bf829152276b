"""Every page passes axe in light and dark, and can be used without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.documents.scoring import Gate
from orchestrator.store import RunFolder
from tests.pages.conftest import OpenPage
from tests.pages.made import make_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = (Path(__file__).parents[1] / "data" / "axe" / "axe.min.js").read_text(encoding="utf-8")
GATES = (Gate(metric="pass_rate", at_least=0.9), Gate(metric="mean_score", at_least=0.9, kind="soft"))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "none", 0, seed=1)
    make_run(root / "one", 1, ["gold"], seed=2)
    make_run(root / "many", 8, seed=3, gates=GATES)
    make_run(root / "half", 12, repeats=2, seed=4, begun=0.5, started="2026-11-04T02:00:00+00:00")
    return root


@pytest.fixture(scope="module")
def viewer(root: Path, serve: Callable[[Path], str]) -> str:
    return serve(root)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("run", ["none", "one", "many", "half"])
def test_a_report_has_no_barrier(
    root: Path, run: str, dark: bool, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(as_report(root / run), dark=dark)
    page.wait_for_selector("html[data-ready]")

    assert barriers(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_trial_in_a_report_has_no_barrier(
    root: Path, dark: bool, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(f"{as_report(root / 'many')}#trial/parser_quotes.noop.1", dark=dark)
    page.wait_for_selector("#trial h1")

    assert barriers(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    "place",
    [
        "/",
        "/?benchmark=nothing-like-it",
        "/runs/{none}",
        "/runs/{many}",
        "/runs/{half}?status=failed&q=quotes",
        "/runs/{many}/trials/parser_quotes.noop.1",
        "/compare",
        "/compare?base={many}&new={half}",
        "/trends",
        "/trends?by=task",
        "/trends?by=rule",
        "/no/such/page",
    ],
)
def test_a_page_of_the_viewer_has_no_barrier(
    root: Path, place: str, dark: bool, open_page: OpenPage, viewer: str
) -> None:
    ids = {name: RunFolder(root / name).header.run_id for name in ("none", "many", "half")}

    page = open_page(viewer + place.format(**ids), dark=dark, width=390 if dark else 1280)

    assert barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_report_is_read_with_the_keyboard_alone(
    root: Path, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(as_report(root / "many"))
    page.wait_for_selector("html[data-ready]")

    page.keyboard.press("Tab")
    skip = page.evaluate("document.activeElement.textContent")
    page.focus("[data-rows] a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial h1")
    there = page.evaluate("document.activeElement.id")
    page.go_back()
    page.wait_for_selector("#run:not([hidden])")

    assert skip == "Skip to the content"
    assert there == "trial-title"


def test_an_outcome_opens_and_closes_with_the_keyboard(root: Path, open_page: OpenPage, viewer: str) -> None:
    run = RunFolder(root / "many").header.run_id
    page = open_page(f"{viewer}/runs/{run}/trials/parser_quotes.gold.1")
    summary = page.locator("details.outcome > summary").first

    before = page.locator("details.outcome").first.get_attribute("open")
    summary.focus()
    page.keyboard.press("Enter")
    after = page.locator("details.outcome").first.get_attribute("open")

    assert (before, after) == (None, "")


def barriers(page: Page) -> list[str]:
    """What axe calls a violation, a line each."""
    page.evaluate(AXE)
    found = page.evaluate("async () => (await axe.run(document, {resultTypes: ['violations']})).violations")
    return [
        f"{v['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for v in found
        for node in v["nodes"]
    ]
