"""Names, logs, patches and findings of agents' making: no script of theirs runs, no layout breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from orchestrator.documents.record import OutcomeRecord, TrialRecord
from orchestrator.store import RunFolder
from tests.pages.conftest import OpenPage
from tests.pages.hostile import HOSTILE
from tests.pages.made import make_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

ELEMENTS = "main script, main iframe, main img, main style, main object, main base, main meta, main link"
BROKEN = """() => ({
  wide: document.documentElement.scrollWidth > innerWidth,
  lost: [...document.querySelectorAll("main, footer")].filter((e) => !e.checkVisibility()).length,
  strange: document.querySelectorAll("ELEMENTS").length,
  taken: window.taken ?? null,
})""".replace("ELEMENTS", ELEMENTS)
WIDTHS = (1280, 390)
CALM = [{"wide": False, "lost": 0, "strange": 0, "taken": None}] * len(WIDTHS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run: a task for each hostile text, and the text in every field that takes one."""
    root = tmp_path_factory.mktemp("hostile")
    made = make_run(root / "run", HOSTILE, [f"command:{HOSTILE[0]}{HOSTILE[18]}"], twist=filled)
    (made / "tags").write_text(f"{HOSTILE[8].replace(' ', '')}\n", encoding="utf-8")
    return root


def filled(record: TrialRecord, kept: dict[str, bytes]) -> TrialRecord:
    text = record.task
    raw = text.encode("utf-8", "surrogatepass")
    kept.clear()
    kept["change.patch"] = b"diff --git a/%s b/%s\n--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n-%s\n+%s\n" % (
        (raw[:500],) * 6
    )
    kept["agent.log"] = raw
    kept["response.txt"] = raw
    details: dict[str, Any] = {
        "tests": {text: [text, text]},
        "new": [[text, 1, text, text, text]],
        "by_rule": {text: [1, 0]},
        "stdout": text,
        "stderr": text,
        "tool": text,
        text: text,
    }
    outcome = OutcomeRecord(
        id=text, kind=text, status="failed", score=0.0, passed=False, reason=text, details=details
    )
    verdict = record.verdict
    return record.model_copy(
        update={
            "status": "failed",
            "score": 0.0,
            "end": "graded",
            "reason": text,
            "rubric_ref": text,
            "error": text,
            "agent": record.agent.model_copy(update={"model": text, "note": text, "usage": {text: text}}),
            "verdict": verdict
            and verdict.model_copy(update={"reason": text, "outcomes": (outcome,), "warnings": (text,)}),
        }
    )


def test_a_report_shows_hostile_texts_and_obeys_none(
    root: Path, open_page: OpenPage, as_report: Callable[[Path], str]
) -> None:
    page = open_page(as_report(root / "run"))
    page.wait_for_selector("html[data-ready]")
    first = states(page)

    found = {trial: at_hash(page, f"#trial/{quote(trial, safe='')}") for trial in trials(root)}

    assert first == CALM
    assert {trial: seen for trial, seen in found.items() if seen != CALM} == {}
    assert len(found) == 40
    assert page.complaints == []  # type: ignore[attr-defined]


def test_the_viewer_shows_hostile_texts_and_obeys_none(root: Path, open_page: OpenPage, viewer: str) -> None:
    run = RunFolder(root / "run").header.run_id
    page = open_page(viewer)
    places = ["/", f"/runs/{run}", "/compare", "/trends", f"/compare?base={run}&new={run}", "/trends?by=task"]
    places += [f"/?tag={quote(HOSTILE[0])}", f"/runs/{run}?q={quote(HOSTILE[20])}"]
    places += [f"/runs/{run}/trials/{quote(trial, safe='')}" for trial in trials(root)]

    found = {}
    for place in places:
        answer = page.goto(viewer + place)
        assert answer is not None and answer.status == 200, place
        found[place] = states(page)

    assert {place: seen for place, seen in found.items() if seen != CALM} == {}
    assert page.complaints == []  # type: ignore[attr-defined]


def test_a_hostile_text_is_there_to_be_read(root: Path, open_page: OpenPage, viewer: str) -> None:
    run = RunFolder(root / "run").header
    trial = run.plan["trials"][0]["trial"]

    page = open_page(f"{viewer}/runs/{run.run_id}/trials/{quote(trial, safe='')}")

    assert page.inner_text("h1") == HOSTILE[0]
    assert HOSTILE[0] in page.inner_text("pre.diff")


@pytest.fixture(scope="module")
def viewer(root: Path, serve: Callable[[Path], str]) -> Iterator[str]:
    yield serve(root)


def trials(root: Path) -> list[str]:
    return [job["trial"] for job in RunFolder(root / "run").header.plan["trials"]]


def at_hash(page: Page, place: str) -> list[dict[str, Any]]:
    page.evaluate("place => { location.hash = place }", place)
    page.wait_for_selector(f'html[data-ready="{place}"]')
    return states(page)


def states(page: Page) -> list[dict[str, Any]]:
    """What the page is like on a desk and on a phone."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found.append(page.evaluate(BROKEN))
    return found
