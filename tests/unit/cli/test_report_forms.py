"""proctor report: several forms at once, each whole or not at all."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.store import RECORDS
from tests.pages.made import make_run

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run", 4, ["gold", "noop"])


def proctor(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


def test_every_form_is_written_at_once(run: Path, tmp_path: Path, capsys: Capsys) -> None:
    files = {form: tmp_path / f"out.{form}" for form in ("html", "junit", "sarif", "markdown", "csv", "eee")}

    code = proctor("report", run, *(part for form, file in files.items() for part in (f"--{form}", file)))

    told = capsys.readouterr()
    assert code == 0
    assert told.out == ""
    assert files["html"].read_text(encoding="utf-8").startswith("<!doctype html>")
    assert ElementTree.parse(files["junit"]).getroot().tag == "testsuites"
    assert json.loads(files["sarif"].read_bytes())["version"] == "2.1.0"
    assert files["markdown"].read_text(encoding="utf-8").startswith("## ")
    assert files["csv"].read_text(encoding="utf-8").startswith("run,benchmark,")
    assert json.loads((tmp_path / "out.1-gold.eee").read_bytes())["eval_library"]["name"] == "proctor"
    assert (tmp_path / "out.2-noop.eee").is_file()
    assert "wrote" in told.err


def test_one_agent_has_one_every_eval_ever_file_of_the_name_that_was_given(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, ["gold"])

    proctor("report", run, "--eee", tmp_path / "eval.json")

    assert (tmp_path / "eval.json").is_file()


def test_a_place_that_cannot_be_written_is_one_sentence(run: Path, tmp_path: Path, capsys: Capsys) -> None:
    code = proctor("report", run, "--csv", tmp_path / "no" / "such" / "folder.csv")

    assert code == 2
    assert "folder.csv cannot be written: No such file or directory" in capsys.readouterr().err


def test_what_was_there_before_stays_when_writing_fails(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.csv"
    file.write_text("before")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    code = proctor("report", run, "--csv", file)

    assert code == 3
    assert file.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.csv", "run"]


def test_the_json_tells_how_sure_a_rate_is(run: Path, capsys: Capsys) -> None:
    proctor("report", run, "--json")

    agents = json.loads(capsys.readouterr().out)["agents"]
    for agent in agents:
        low, high = agent["pass_rate_interval"]
        assert 0 <= low <= agent["pass_rate"] <= high <= 1


def test_lines_that_are_no_records_are_named_and_the_rest_is_reported(
    run: Path, tmp_path: Path, capsys: Capsys
) -> None:
    with (run / RECORDS).open("ab") as records:
        records.write(b"not a record\n")

    code = proctor("report", run, "--html", tmp_path / "out.html")

    assert code == 0
    assert "left out" in capsys.readouterr().err


def test_garbage_is_collected_again_afterwards(run: Path, tmp_path: Path) -> None:
    proctor("report", run, "--csv", tmp_path / "out.csv")

    assert gc.isenabled()


@pytest.mark.parametrize("begun", [0.0, 0.5])
def test_a_run_that_still_goes_on_is_reported(begun: float, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 4, ["gold"], begun=begun)

    code = proctor("report", run, "--html", tmp_path / "out.html", "--junit", tmp_path / "out.xml")

    assert code == 0
    assert "not run" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_the_same_records_give_the_same_page(run: Path, tmp_path: Path) -> None:
    files = [tmp_path / "a.html", tmp_path / "b.html"]

    for file in files:
        proctor("report", run, "--html", file)

    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_page_holds_everything_it_shows(run: Path, tmp_path: Path) -> None:
    proctor("report", run, "--html", tmp_path / "out.html")

    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert not any(f"{mark}http" in text for mark in ('src="', 'href="', "url(", "@import "))
    assert "default-src 'none'" in text
    assert "unsafe-inline" not in text and " style=" not in text and " onclick=" not in text


def test_two_forms_of_one_name_are_refused(run: Path, tmp_path: Path, capsys: Capsys) -> None:
    code = proctor("report", run, "--csv", tmp_path / "out", "--html", tmp_path / "." / "out")

    assert code == 2
    assert "--html and --csv both name" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert proctor("report", run, "--csv", "/dev/null", "--html", "/dev/null") == 0


def test_a_dash_is_stdout(run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = proctor("report", run, "--csv", "-")

    assert code == 0
    assert capfd.readouterr().out.startswith("run,benchmark,")


def test_several_documents_do_not_go_beside_a_device(run: Path, capsys: Capsys) -> None:
    code = proctor("report", run, "--eee", "/dev/null")

    assert code == 2
    assert "2 documents, one for each agent" in capsys.readouterr().err
    assert not list(Path("/dev").glob("null.*"))
