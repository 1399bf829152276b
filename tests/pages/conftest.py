"""A real browser, runs to look at, and a viewer that serves them."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from orchestrator.dossier import Dossier
from orchestrator.pages import report
from orchestrator.viewer.app import build
from orchestrator.viewer.library import Library
from orchestrator.viewer.serve import _listen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"
KEEP = "PROCTOR_SCREENSHOTS"
OpenPage = Callable[..., "Page"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window. With CI set, its absence is a failure."""
    found = shutil.which("chromium") or CHROMIUM
    if not Path(found).exists():
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed; .ci/with-engines installs it")
        pytest.skip("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens an address and keeps what the browser complained of in `page.complaints`. What a page looked like
    in the end is kept in the folder that PROCTOR_SCREENSHOTS names."""
    contexts = []

    def opened(address: str, *, width: int = 1280, dark: bool = False) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.complaints = complaints  # type: ignore[attr-defined]
        page.goto(address)
        return page

    yield opened
    keep = os.environ.get(KEEP)
    for number, context in enumerate(contexts):
        for page in context.pages if keep else ():
            name = re.sub(r"[^\w.-]+", "-", request.node.name)[:120]
            page.screenshot(path=Path(keep or ".") / f"{name}.{number}.png", full_page=True)
        context.close()


@pytest.fixture(scope="session")
def as_report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """The address of a run's report, made once."""
    made: dict[Path, str] = {}

    def address(run: Path) -> str:
        if run not in made:
            file = tmp_path_factory.mktemp("report") / "report.html"
            file.write_bytes(report.document(Dossier.read(run)))
            made[run] = file.as_uri()
        return made[run]

    return address


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Path], str]]:
    """A viewer of a folder of runs, in this process; its address."""
    started: list[tuple[uvicorn.Server, threading.Thread, Library]] = []

    def address(root: Path) -> str:
        listening = _listen("127.0.0.1", 0)
        library = Library(root)
        library.start()
        config = uvicorn.Config(
            build(library), log_level="warning", lifespan="off", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        started.append((server, thread, library))
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield address
    for server, thread, library in started:
        server.should_exit = True
        thread.join(timeout=20)
        library.close()
