"""The viewer without a browser: whom it answers, what it refuses, what it finds."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from orchestrator.documents.record import TrialRecord
from orchestrator.documents.scoring import Gate
from orchestrator.dossier import Dossier
from orchestrator.history.facts import read_run
from orchestrator.pages import overview
from orchestrator.records import to_line
from orchestrator.store import RECORDS, RunFolder, Store
from orchestrator.viewer import figures, guard, library
from orchestrator.viewer.app import build
from orchestrator.viewer.library import Library
from orchestrator.viewer.places import Places
from orchestrator.viewer.work import at_work, going_on
from tests.pages.made import make_run

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "runs"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    make_run(root / "a", 6, seed=1)
    make_run(root / "b", 6, seed=2, started="2026-11-04T02:00:00+00:00")
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[TestClient]:
    with Library(root) as shelf:
        shelf.start()
        yield TestClient(build(shelf), base_url="http://127.0.0.1:8470")


def run_id(root: Path, name: str = "a") -> str:
    return RunFolder(root / name).header.run_id


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "", "[::2]:80"])
def test_another_host_name_gets_nothing(host: str, client: TestClient) -> None:
    answer = client.get("/", headers={"host": host})

    assert answer.status_code == 421
    assert "real_fixes" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8470", "127.0.0.1:1", "[::1]:8470"])
def test_a_name_of_this_machine_is_answered(host: str, client: TestClient) -> None:
    assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(method: str, client: TestClient) -> None:
    assert client.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    "place", ["/", "/compare", "/trends", "/nothing", "/static/style.css", "/runs/nothing"]
)
def test_every_answer_carries_the_policy(place: str, client: TestClient) -> None:
    answer = client.get(place)

    assert answer.headers["content-security-policy"] == guard.POLICY
    assert "unsafe" not in guard.POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "place",
    [
        "/runs/..%2f..%2fetc",
        "/runs/nothing/events",
        "/runs/{run}/trials/nothing",
        "/runs/{run}/trials/parser_quotes.gold.1?attempt=7",
        "/runs/{run}/trials/parser_quotes.gold.1/files/..%2f..%2f..%2frun.json",
        "/runs/{run}/trials/parser_quotes.gold.1/files/nothing",
        "/static/..%2fpage.html.jinja",
        "/static/report.js",
    ],
)
def test_what_is_not_there_is_one_sentence(place: str, root: Path, client: TestClient) -> None:
    answer = client.get(place.format(run=run_id(root)))

    assert answer.status_code == 404
    assert "Traceback" not in answer.text


def test_what_a_comparison_could_have_seen_is_told_in_points(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "monday", tmp_path / "monday")
    shutil.copytree(EXAMPLES / "tuesday", tmp_path / "tuesday")
    with Library(tmp_path) as shelf:
        shelf.start()
        client = TestClient(build(shelf), base_url="http://127.0.0.1:8470")
        runs = {"base": run_id(tmp_path, "monday"), "new": run_id(tmp_path, "tuesday")}

        answer = client.get("/compare", params=runs)

    assert "A true change of the pass rate by about 26 points would mostly be seen" in answer.text


@pytest.mark.parametrize("place", ["//evil.example/", "//", "/%5Cevil.example/", "/nothing/"])
def test_no_address_leads_elsewhere(place: str, client: TestClient) -> None:
    answer = client.get(f"http://127.0.0.1:8470{place}", follow_redirects=False)

    assert answer.status_code == 404
    assert "location" not in answer.headers


def test_a_kept_file_is_a_download_that_no_browser_renders(root: Path, client: TestClient) -> None:
    answer = client.get(f"/runs/{run_id(root)}/trials/parser_quotes.gold.1/files/change.patch")

    assert answer.content.startswith(b"diff --git ")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"].startswith("sandbox")


@pytest.mark.parametrize("written", ["-1", "0", "x", "9" * 30, "\u0663", "1e3"])
def test_an_odd_page_number_is_the_nearest_page(written: str, root: Path, client: TestClient) -> None:
    assert client.get(f"/runs/{run_id(root)}", params={"page": written}).status_code == 200


def test_a_filter_that_fits_nothing_shows_nothing(root: Path, client: TestClient) -> None:
    answer = client.get(f"/runs/{run_id(root)}", params={"q": "no such task"})

    assert "0 of 18 trials" in answer.text


def test_two_runs_are_compared(root: Path, client: TestClient) -> None:
    answer = client.get("/compare", params={"base": run_id(root), "new": run_id(root, "b")})

    assert "pairs of trials over" in answer.text


def test_runs_that_cannot_be_compared_say_why(client: TestClient, root: Path) -> None:
    answer = client.get("/compare", params={"base": "nothing", "new": run_id(root)})

    assert answer.status_code == 200
    assert "nothing: no run folder, run or tag has that name" in answer.text


def test_a_run_that_comes_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "EVERY", 0.01)
    make_run(tmp_path / "a", 1, ["gold"])
    with Library(tmp_path) as shelf:
        shelf.start()
        page = TestClient(build(shelf), base_url="http://localhost")
        late = run_id(tmp_path.parent / make_run(tmp_path / "b", 1, ["gold"], seed=9).parent.name, "b")

        found = any(late in page.get("/").text for _ in range(500))

    assert found


def test_a_big_run_is_read_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may_read, begun = threading.Event(), threading.Event()
    read = figures.read
    times: list[Path] = []

    def slowly(folder: Path) -> figures.Figures:
        times.append(folder)
        begun.set()
        may_read.wait(60)
        return read(folder)

    monkeypatch.setattr(library, "EVERY", 0.01)
    monkeypatch.setattr(library, "QUICK", 2)
    monkeypatch.setattr(figures, "read", slowly)
    make_run(tmp_path / "a", 3, ["gold"])
    with Library(tmp_path) as shelf:
        shelf.start()
        page = TestClient(build(shelf), base_url="http://localhost")
        address = f"/runs/{run_id(tmp_path)}"

        first = page.get(address).text
        assert begun.wait(60)
        page.get(address)
        may_read.set()
        later = next(text for _ in range(5000) if "Trials by state" in (text := page.get(address).text))
        shelf._read_wanted()

    assert len(times) == 1, "asking while it was being read had it read again"
    assert "are being put together" in first
    assert "are being put together" not in later


# Places


def test_a_trial_is_found_without_reading_the_others(root: Path) -> None:
    records = {(r.trial, r.attempt): r for r in RunFolder(root / "a").records()}
    places = Places(root / "a")

    found = {(r.trial, r.attempt): r for trial, _ in records for r in places.attempts(trial)}

    assert found == records


def test_places_follow_a_file_that_grows_and_wait_for_whole_lines(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, ["gold"])
    lines = (run / RECORDS).read_bytes().splitlines(keepends=True)
    first, second = (r.trial for r in RunFolder(run).records())
    (run / RECORDS).write_bytes(lines[0] + lines[1][:50])
    places = Places(run)

    before = [len(places.attempts(trial)) for trial in (first, second)]
    (run / RECORDS).write_bytes(lines[0] + lines[1])
    after = [len(places.attempts(trial)) for trial in (first, second)]

    assert (before, after) == ([1, 0], [1, 1])


def test_lines_that_are_no_records_are_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1, ["gold"])
    (record,) = RunFolder(run).records()
    odd = [
        b"not json",
        b"[]",
        b'{"trial": 5}',
        b'{"schema_version": "1", "trial": "%s"}' % record.trial.encode(),
    ]
    again = to_line(record)
    (run / RECORDS).write_bytes(b"\n".join([*odd, again, again, b""]))

    assert Places(run).attempts(record.trial) == [record]


# Going on


def test_a_run_goes_on_while_its_store_is_open(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, ["gold"], begun=0.5)
    header = RunFolder(run).header

    with Store.resume(header, run):
        during = going_on(run)
    after = going_on(run)

    assert (during, after) == (True, False)


@pytest.mark.parametrize("written", ["", "x", "999999999", "1\n2"])
def test_a_lock_that_names_no_living_process_is_nobodys(written: str, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(written)

    assert going_on(tmp_path) is False


def test_what_has_begun_and_has_no_record_is_at_work(tmp_path: Path) -> None:
    for place in ("done.gold.1/1", "busy.gold.1/1", "busy.gold.1/2", "stray"):
        (tmp_path / "trials" / place).mkdir(parents=True)

    (found,) = at_work(tmp_path, {"done.gold.1"})

    assert (found.trial, found.attempt) == ("busy.gold.1", 2)


def test_every_attempt_has_its_page(tmp_path: Path) -> None:
    def lost(record: TrialRecord, kept: dict[str, bytes]) -> TrialRecord:
        return record.model_copy(update={"final": False, "status": "errored", "end": "sandbox_lost"})

    run = make_run(tmp_path / "run", 1, ["gold"], twist=lost)
    (first,) = RunFolder(run).records()
    facts: dict[str, Any] = {"attempt": 2, "final": True, "status": "passed", "end": "graded"}
    with Store.resume(RunFolder(run).header, run) as store:
        store.append(first.model_copy(update=facts))
    with Library(tmp_path) as shelf:
        shelf.start()
        page = TestClient(build(shelf), base_url="http://localhost")
        address = f"/runs/{run_id(tmp_path, 'run')}/trials/{first.trial}"

        counts, earlier = page.get(address).text, page.get(f"{address}?attempt=1").text

    assert ">Attempt 1</a>" in counts
    assert "(tried again)" in earlier and "(tried again)" not in counts


@pytest.mark.parametrize("metric", ["pass_rate", "mean_score", "question_score", "rubric:fix_and_keep"])
def test_the_first_screens_gates_and_exit_code_are_the_reports(metric: str, tmp_path: Path) -> None:
    gates = [Gate(metric=metric, at_least=0.9), Gate(metric=metric, at_least=0.1, kind="soft")]
    run = make_run(tmp_path / "run", 20, gates=gates, begun=0.9)
    report = Dossier.read(run).report

    seen = figures.read(run).seen

    expected = overview.of(read_run(run), report.gates, report.warnings, report.exit_code)
    assert seen == expected
    assert seen.gates == report.gates
