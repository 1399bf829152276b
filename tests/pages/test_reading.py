"""Finding a trial among many, and watching a run while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.store import RunFolder, Store
from tests.pages.conftest import OpenPage
from tests.pages.made import make_run


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "big", 150, ["gold", "command:./solve.sh"], seed=7)
    return root


def test_a_reports_list_is_searched_and_its_address_keeps_the_search(
    root: Path, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(as_report(root / "big"))
    page.wait_for_selector("html[data-ready]")

    page.fill("input[name=q]", "parser_quotes")
    expect(page.locator("[data-rows] tr")).to_have_count(4)
    address = page.url
    again = open_page(address)
    again.wait_for_selector("html[data-ready]")

    assert "q=parser_quotes" in address
    assert again.input_value("input[name=q]") == "parser_quotes"
    assert again.locator("[data-rows] tr").count() == 4
    assert again.inner_text("[data-count]") == "4 of 300 trials"


def test_a_reports_chips_narrow_the_list_to_one_state(
    root: Path, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(as_report(root / "big"))
    page.wait_for_selector("html[data-ready]")

    page.click(".chips [data-status=failed]")
    page.wait_for_selector(".chips [data-status=failed][aria-current]")
    states = set(page.locator("[data-rows] .badge").all_inner_texts())

    assert states == {"✘ failed"}


def test_a_reports_list_has_pages(root: Path, open_page: OpenPage, as_report: Callable[[Path], str]) -> None:
    page = open_page(as_report(root / "big"))
    page.wait_for_selector("[data-pager] a")

    page.click("[data-pager] a[rel=next]")
    expect(page.locator("[data-pager]")).to_contain_text("page 2 of 3")

    assert page.locator("[data-rows] tr").count() == 100


def test_a_report_shows_its_trials_without_a_script_too(
    root: Path, browser: Browser, as_report: Callable[[Path], str]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()

    page.goto(as_report(root / "big"))
    rows, told = page.locator("[data-rows] tr").count(), page.inner_text("#run")
    context.close()

    assert rows == 100
    assert "Trials by state" in told


def test_the_viewers_filters_stand_in_the_address(
    root: Path, open_page: OpenPage, serve: Callable[[Path], str]
) -> None:
    run = RunFolder(root / "big").header.run_id
    page = open_page(f"{serve(root)}/runs/{run}")

    page.fill("input[name=q]", "cache_")
    page.select_option("select[name=agent]", "gold")
    page.click("form.filter button")
    page.wait_for_url("**q=cache_*")

    assert "agent=gold" in page.url
    assert set(page.locator("[data-rows] .who").all_inner_texts()) == {"gold"}
    assert all("cache_" in name for name in page.locator("[data-rows] a").all_inner_texts())


def test_a_page_follows_a_run_that_goes_on(
    tmp_path: Path, open_page: OpenPage, serve: Callable[[Path], str]
) -> None:
    folder = make_run(tmp_path / "runs" / "live", 4, ["gold"], begun=0.5)
    header = RunFolder(folder).header
    job = header.plan["trials"][3]
    with Store.resume(header, folder) as store:
        page = open_page(f"{serve(tmp_path / 'runs')}/runs/{header.run_id}")
        before = page.inner_text("[data-live=answer]")

        store.append(ended(job))
        expect(page.locator("[data-live=answer]")).to_contain_text("3 of 4", timeout=20_000)

    assert "Running: 2 of 4 trials have ended" in before
    assert page.complaints == []  # type: ignore[attr-defined]


def ended(job: dict[str, object]) -> TrialRecord:
    return TrialRecord(
        trial=str(job["trial"]),
        attempt=1,
        final=True,
        benchmark="real_fixes",
        benchmark_version="1.2",
        task=str(job["task"]),
        agent=AgentRecord(name="gold"),
        repeat=1,
        status="passed",
        end="graded",
        score=1.0,
        reason="all tests pass",
        rubric_ref=None,
        started_at="2026-11-03T02:00:00+00:00",
        seconds=1.0,
    )
