"""proctor runs: what people type and see."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.cli.runs import COMMANDS
from orchestrator.history.index import Index
from orchestrator.history.pruning import Retention, spare
from orchestrator.store import RunFolder, Store
from tests.unit.history.conftest import MakeRun

REPOSITORY = Path(__file__).parents[3]
Told = Callable[[], str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROCTOR_STORE", raising=False)
    return tmp_path


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Told:
    return lambda: capsys.readouterr().out


def proctor(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", [name.rstrip("_") for name in COMMANDS])
def test_every_command_explains_itself_and_is_documented(name: str, told: Told) -> None:
    code = proctor("runs", name, "--help")

    shown = told()
    pages = "".join(page.read_text(encoding="utf-8") for page in (REPOSITORY / "docs").glob("*.md"))
    assert code == 0
    assert f"proctor runs {name}" in shown.partition("Examples")[2]
    assert f"proctor runs {name}" in pages


def test_runs_are_listed_with_what_they_found(make_run: MakeRun, told: Told) -> None:
    make_run("a", {"t1": "p", "t2": "f"}, header={"tags": ("good",), "git": {"revision": "abcdef012345"}})

    assert proctor("runs", "list") == 0
    assert told().splitlines() == [
        "run   started           benchmark  agents     passed  of  score  revision    tags",
        "id-a  2026-01-01 00:00  demo 1.0   command:a       1   2    0.5  abcdef0123  good",
        "1 run",
    ]

    assert proctor("runs", "list", "--json", "--tag", "good") == 0
    (row,) = json.loads(told())["runs"]
    assert (row["run_id"], row["counts"]["failed"], row["pass_rate"]) == ("id-a", 1, 0.5)


def test_a_run_is_shown_with_where_it_took_place(make_run: MakeRun, told: Told) -> None:
    header = {"machine": {"name": "m1", "cores": "2"}, "versions": {"proctor": "1.2"}, "provider": "oci"}
    make_run("a", {"t1": "p", "t2": "f"}, header=header)

    assert proctor("runs", "show", "LATEST", "--status", "failed") == 0

    shown = told()
    assert "2 planned: 1 passed, 1 failed" in shown
    assert "m1, 2 cores" in shown
    assert "proctor 1.2" in shown
    assert "because it failed" in shown
    assert "because it passed" not in shown


def test_a_run_outside_is_shown_and_tagged_by_its_folder(make_run: MakeRun, told: Told, here: Path) -> None:
    outside = make_run("a", {"t1": "p"}, under=here / "elsewhere")

    assert proctor("runs", "tag", outside, "kept") == 0
    assert proctor("runs", "show", outside, "--json") == 0

    shown = told().partition("\n")[2]
    assert json.loads(shown)["tags"] == ["kept"]


def test_runs_that_lie_elsewhere_are_imported_and_the_index_rebuilt(
    make_run: MakeRun, told: Told, here: Path
) -> None:
    for name in ("a", "b"):
        make_run(name, {"t1": "p"}, under=here / "archive")

    assert proctor("runs", "import", "archive") == 0
    assert told() == "2 of 2 runs taken in; 2 are known now\n"
    assert proctor("runs", "rebuild") == 0
    assert told() == "2 runs read\n"
    assert proctor("runs", "import", "runs") == 2


def test_nothing_is_pruned_until_it_is_said_twice(make_run: MakeRun, told: Told, here: Path) -> None:
    for day in range(1, 6):
        make_run(str(day), {"t": "p"}, header={"started": f"2026-01-0{day}T00:00:00+00:00"})
    proctor("runs", "tag", "id-1", "release")
    (here / "runs" / "LATEST").symlink_to("2")
    told()

    assert proctor("runs", "prune", "--keep", "2") == 0
    assert told().splitlines()[-1] == "2 runs would be deleted; add --yes to do it"
    assert len(list((here / "runs").glob("*/run.json"))) == 6  # five, and one of them by LATEST

    assert proctor("runs", "prune", "--keep", "2", "--yes") == 0
    assert told() == "2 runs deleted\n"
    assert sorted(p.name for p in (here / "runs").iterdir() if p.name[0] != ".") == ["1", "4", "5", "LATEST"]
    assert (here / "runs" / "LATEST").resolve().name == "5"


def test_a_run_that_is_being_written_is_not_pruned(make_run: MakeRun, told: Told, here: Path) -> None:
    folder = make_run("a", {"t": "p"})
    header = RunFolder(folder).header

    with Store.resume(header, folder):
        assert proctor("runs", "prune", "--keep", "0", "--yes") == 0

    assert told() == "0 runs deleted\n"
    assert folder.exists()


def test_runs_outside_the_folder_are_never_pruned(make_run: MakeRun, told: Told, here: Path) -> None:
    outside = make_run("a", {"t": "p"}, under=here / "elsewhere")
    proctor("runs", "import", "elsewhere")

    proctor("runs", "prune", "--keep", "0", "--yes")

    assert outside.exists()


def test_what_an_interrupted_pruning_left_is_swept_and_is_no_run(make_run: MakeRun, here: Path) -> None:
    make_run("a", {"t": "p"})
    shutil.copytree(here / "runs" / "a", here / "runs" / ".pruned-b")

    proctor("runs", "prune", "--yes")

    assert not (here / "runs" / ".pruned-b").exists()
    assert (here / "runs" / "a").exists()


@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        (Retention(newest=1), ["id-1", "id-2"]),
        (Retention(newest=3), ["id-1"]),
        (Retention(newest=1, days=8), ["id-1"]),
        (Retention(newest=0, tagged=False), ["id-1", "id-2", "id-3", "id-4"]),
        (Retention(newest=0, ignored={"night"}), ["id-1", "id-2", "id-3", "id-4"]),
    ],
)
def test_what_may_go_is_what_nothing_keeps(
    make_run: MakeRun, here: Path, kept: Retention, gone: list[str]
) -> None:
    for day in (1, 2, 3, 4):
        tags = ("night",) if day == 3 else ()
        make_run(str(day), {"t": "p"}, header={"started": f"2026-01-0{day}T00:00:00+00:00", "tags": tags})

    with Index.current(here / "runs", {}) as index:
        found = spare(index.runs().rows, kept, datetime(2026, 1, 9, 12, tzinfo=UTC))

    assert [row.run_id for row in found] == gone


@pytest.mark.parametrize("far", [10**20, 2**63])
def test_pages_as_long_and_as_far_as_anybody_likes(make_run: MakeRun, told: Told, far: int) -> None:
    make_run("a", {"t": "p"})

    assert proctor("runs", "list", "--limit", far) == 0
    assert "1 run" in told()
    assert proctor("runs", "list", "--limit", far, "--offset", far) == 0
    assert proctor("runs", "show", "id-a", "--limit", far, "--offset", far) == 0


@pytest.mark.parametrize("option", ["--since", "--until"])
@pytest.mark.parametrize("day", ["zzz", "0000-00-00", "2026-13-01", "", "2026-01-01T25:00"])
def test_a_day_that_is_none_is_told_with_the_form(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], option: str, day: str
) -> None:
    make_run("a", {"t": "p"})

    assert proctor("runs", "list", option, day) == 2
    assert "write it as 2026-01-31 or 2026-01-31T18:00" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("prune", "--older-than", "nan"), ("prune", "--older-than", "inf")])
def test_an_age_that_is_no_number_deletes_nothing(
    make_run: MakeRun, here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    for name in ("a", "b"):
        make_run(name, {"t": "p"})

    assert proctor("runs", *arguments, "--keep", 0, "--yes") == 2
    assert "--older-than" in capsys.readouterr().err
    assert proctor("runs", "prune", "--older-than", "1e300", "--keep", 0, "--yes") == 0
    assert (here / "runs" / "a").is_dir()


def test_a_folder_of_runs_that_is_not_there_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    assert proctor("runs", "list", "--runs", "nowhere") == 2
    assert capsys.readouterr().err == (
        "proctor: nowhere: there is no such folder of runs; name one with --runs\n"
    )


def test_a_database_that_does_not_answer_is_the_machines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PROCTOR_STORE", "postgresql://me@127.0.0.1:1/x")

    assert proctor("runs", "list") == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
