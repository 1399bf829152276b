"""Report and viewer at size: time, bytes, how soon a browser shows them. `python bench/pages.py [trials]`."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from starlette.testclient import TestClient

from orchestrator.store import RunFolder
from orchestrator.viewer.app import build
from orchestrator.viewer.library import Library
from tests.pages.made import make_run

AGENTS = ("gold", "command:./solve.sh --model small")
PROCTOR = Path(sys.executable).with_name("proctor")
CHROMIUM = "/usr/bin/chromium"
REPORTED = 5_000


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    warnings.filterwarnings("ignore")
    with tempfile.TemporaryDirectory(prefix="proctor-pages-") as place:
        report(Path(place))
        viewer(Path(place), trials)


def report(place: Path) -> None:
    run = make_run(place / "report", REPORTED // 10, AGENTS, 5)
    file = place / "report.html"
    began = time.perf_counter()
    subprocess.run([PROCTOR, "report", run, "--html", file], check=True, capture_output=True)
    took = time.perf_counter() - began
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = spent.ru_utime + spent.ru_stime
    size = file.stat().st_size / 1e6
    print(
        f"report of {REPORTED} trials: {took:.2f} s ({cpu:.2f} of the processor), {size:.1f} MB", flush=True
    )
    if Path(CHROMIUM).exists():
        print(f"  opens in Chromium in {opens(file):.2f} s (median of 5)")


def opens(file: Path) -> float:
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for _ in range(5):
            page = browser.new_page()
            began = time.perf_counter()
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            found.append(time.perf_counter() - began)
            page.close()
        browser.close()
    return statistics.median(found)


def viewer(place: Path, trials: int) -> None:
    runs = place / "runs"
    run = make_run(runs / "big", trials // 10, AGENTS, 5, artifacts=False)
    make_run(runs / "small", 12, AGENTS, 2, seed=2)
    header = RunFolder(run).header
    middle = header.plan["trials"][trials // 2]["trial"]
    with Library(runs) as library:
        began = time.perf_counter()
        library.start()
        while not library.ready:
            time.sleep(0.1)
        print(f"viewer of {trials} trials: indexed in {time.perf_counter() - began:.1f} s", flush=True)
        client = TestClient(build(library), base_url="http://127.0.0.1")
        address = f"/runs/{header.run_id}"
        began = time.perf_counter()
        while "Trials by state" not in client.get(address).text:
            time.sleep(0.2)
        print(f"  figures after {time.perf_counter() - began:.1f} s, in the background")
        for place_ in (
            *("/", address, f"{address}?status=failed&page=20", f"{address}?q=parser_quotes_7"),
            *(f"{address}?agent=gold&q=no+such", f"{address}/trials/{middle}", "/trends", "/trends?by=task"),
        ):
            client.get(place_)
            wall, cpu = median_of(client, place_)
            said = place_.replace(address, "/runs/RUN")
            print(f"  {wall * 1000:6.0f} ms ({cpu * 1000:4.0f} of the processor)  {said}", flush=True)


def median_of(client: TestClient, address: str) -> tuple[float, float]:
    """Seconds until the page is there, and of the processor."""
    walls, cpus = [], []
    for _ in range(7):
        began, spent = time.perf_counter(), time.process_time()
        answer = client.get(address)
        walls.append(time.perf_counter() - began)
        cpus.append(time.process_time() - spent)
        assert answer.status_code == 200, (address, answer.status_code)
    return statistics.median(walls), statistics.median(cpus)


if __name__ == "__main__":
    main()
