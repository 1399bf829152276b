"""The whole command line over rooms in memory: documents in, exit code and records out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.plugins import Group, Plugin, Registry
from orchestrator.store import Store
from sandboxes.errors import ProvisionFailed
from sandboxes.fake import FakeProvider

BENCHMARK = """id: small
version: "1.0"
tasks:
  - id: word
    rubric_ref: rubric/right@1.0
    environment: {host: true}
    source: {kind: path, path: repo}
    fix_patch: fix.patch
  - id: other
    rubric_ref: rubric/right@1.0
    environment: {host: true}
    source: {kind: path, path: repo}
    fix_patch: fix.patch
"""
RUBRIC = """id: right
version: "1.0"
checks:
  - {kind: command, id: says_right, command: grep right answer.txt, expect: test_transitions}
scoring: {combine: all_pass}
"""
FIX = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+right
"""

Proctor = Callable[..., int]


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    (folder / "repo").mkdir(parents=True)
    (folder / "rubrics").mkdir()
    (folder / "benchmark.yaml").write_text(BENCHMARK)
    (folder / "rubrics" / "right.yaml").write_text(RUBRIC)
    (folder / "repo" / "answer.txt").write_text("wrong\n")
    (folder / "fix.patch").write_text(FIX)
    return folder


@pytest.fixture
def faults() -> dict[str, BaseException]:
    """Filled by a test before it calls the command; see FakeProvider."""
    return {}


@pytest.fixture
def lacking() -> list[str]:
    """Limits that the machine is to be unable to enforce; filled like `faults`."""
    return []


@pytest.fixture
def proctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: dict[str, BaseException], lacking: list[str]
) -> Iterator[Proctor]:
    """The command, with the fake as its only sandbox and a home of its own."""
    installed = Registry.load()

    def fake(owner: Any, *, allow_unlimited: bool = False) -> FakeProvider:
        return FakeProvider(owner, allow_unlimited=allow_unlimited, faults=faults, unenforced=tuple(lacking))

    only_fake = Group([Plugin("sandboxes", "fake", "(test)", lambda: fake)])
    monkeypatch.setattr(Registry, "load", classmethod(lambda cls: replace(installed, sandboxes=only_fake)))
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> int:
        return finish(build(), [str(argument) for argument in arguments])

    yield call


def result(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_gold_passes_and_doing_nothing_fails(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = ("--agent", "gold", "--agent", "noop")

    code = proctor("run", benchmark, *agents, "--sandbox", "fake", "--json", "--out", "out")

    found = result(capsys)
    assert code == found["exit_code"] == 1
    assert found["run"] == "out"
    assert (found["counts"]["planned"], found["counts"]["passed"], found["counts"]["failed"]) == (4, 2, 2)
    assert {(t["agent"], t["passed"]) for t in found["trials"]} == {("gold", True), ("noop", False)}
    assert all(t["reason"] for t in found["trials"])


def test_the_same_report_is_rebuilt_from_records_alone(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proctor("run", benchmark, "--agent", "gold", "--sandbox", "fake", "--json", "--out", "out")
    live = result(capsys)

    assert proctor("report", "out", "--json") == 0

    rebuilt = result(capsys)
    assert {key: live[key] for key in rebuilt} == rebuilt


def test_a_dry_run_shows_the_plan_and_starts_nothing(
    proctor: Proctor, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = proctor("run", benchmark, "--agent", "gold", "--repeats", 2, "--tasks", "w*", "--dry-run")

    said = capsys.readouterr().out
    assert code == 0
    assert said.splitlines()[:2] == ["word  gold  1", "word  gold  2"]
    assert not (tmp_path / "runs").exists()


def test_trouble_of_the_machine_is_no_score_and_exits_3(
    proctor: Proctor,
    benchmark: Path,
    faults: dict[str, BaseException],
    capsys: pytest.CaptureFixture[str],
) -> None:
    faults["provision"] = ProvisionFailed("no room today")

    code = proctor(
        "run", benchmark, "--agent", "gold", "--sandbox", "fake", "--retries", 0, "--tasks", "word", "--json"
    )

    (trial,) = result(capsys)["trials"]
    assert code == 3
    assert (trial["status"], trial["score"], trial["passed"]) == ("errored", None, None)
    assert "no room today" in trial["reason"]


def test_a_resumed_run_keeps_what_it_has(
    proctor: Proctor, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("run", benchmark, "--agent", "gold", "--sandbox", "fake", "--json", "--out", "out")
    proctor(*asked)
    first = (tmp_path / "out" / "records.jsonl").read_bytes()
    capsys.readouterr()

    code = proctor(*asked, "--resume")

    assert code == 0
    assert result(capsys)["counts"]["passed"] == 2
    assert (tmp_path / "out" / "records.jsonl").read_bytes() == first


def test_a_resumed_run_tells_which_trials_it_no_longer_counts(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("run", benchmark, "--sandbox", "fake", "--json", "--out", "out", "--agent", "gold")
    proctor(*asked, "--agent", "noop")
    capsys.readouterr()

    code = proctor(*asked, "--tasks", "word", "--resume")

    told = capsys.readouterr().err
    assert code == 0
    assert "3 of the trials that out was begun with are not in this plan and count no longer: " in told
    assert "other.gold.1" in told


def test_the_table_names_task_agent_status_reason_and_what_to_type_next(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proctor("run", benchmark, "--agent", "gold", "--agent", "noop", "--sandbox", "fake", "--out", "out")

    told = capsys.readouterr()
    assert "4 trials: 2 passed, 2 failed" in told.out
    assert "proctor show out word.noop.1" in told.out
    assert "\x1b" not in told.out
    assert len([line for line in told.err.splitlines() if line.startswith("[")]) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--agent", "golf"), 'unknown agent "golf"'),
        (("--agent", "gold", "--tasks", "zzz"), "no task of small matches zzz"),
        (("--agent", "gold", "--sandbox", "podman"), 'no sandbox "podman"'),
        (("--agent", "gold", "--resume"), "--resume needs"),
        (("--agent", "gold", "--out", "small", "--sandbox", "fake"), "small is not empty"),
        (("--agent", "gold", "--config", "none.yaml"), "none.yaml"),
    ],
)
def test_a_wish_that_cannot_be_met_is_one_sentence_and_exit_2(
    proctor: Proctor,
    benchmark: Path,
    arguments: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = proctor("run", benchmark, *arguments)

    error = capsys.readouterr().err
    assert code == 2
    assert said in error
    assert "Traceback" not in error


def test_every_problem_of_benchmark_and_rubrics_is_told_at_once(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (benchmark / "benchmark.yaml").write_text(BENCHMARK.replace("source:", "sorce:", 1))
    (benchmark / "rubrics" / "right.yaml").write_text(RUBRIC.replace('"1.0"', "1.0"))

    code = proctor("run", benchmark, "--agent", "gold", "--sandbox", "fake")

    error = capsys.readouterr().err
    assert code == 2
    assert "sorce" in error
    assert "quoted" in error


def test_a_run_of_questions_opens_no_engine(
    proctor: Proctor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "benchmark.yaml").write_text(
        'id: talk\nversion: "1.0"\nquestions:\n  - {id: hello, input: Say hello.}\n'
    )

    code = proctor("run", tmp_path, "--agent", "noop", "--json", "--out", "out")

    found = result(capsys)
    assert code == 0
    assert (found["provider"], found["trials"][0]["status"]) == ("none", "unscored")


def test_a_shell_line_runs_in_the_room_and_keeps_its_folder(
    proctor: Proctor, benchmark: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["cat answer.txt", "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines))

    code = proctor("shell", "word", "--benchmark", benchmark, "--sandbox", "fake")

    assert code == 0


def test_a_limit_that_cannot_be_kept_stops_the_start_before_anything_is_recorded(
    proctor: Proctor, benchmark: Path, lacking: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = BENCHMARK.replace("id: other\n", "id: other\n    limits: {memory: 64M}\n")
    (benchmark / "benchmark.yaml").write_text(text)
    lacking.append("memory")
    asked = ("run", benchmark, "--agent", "gold", "--sandbox", "fake", "--out", "out")

    refused = proctor(*asked)

    assert refused == 3
    assert "memory (other)" in capsys.readouterr().err
    assert not Path("out").exists()
    assert proctor(*asked, "--tasks", "word") == 0


def test_the_demo_goes_on_where_limits_cannot_be_enforced(
    proctor: Proctor, lacking: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lacking += ["cpus", "memory", "pids", "disk"]

    proctor("demo", "--sandbox", "fake", "--quiet")

    shown = capsys.readouterr().out
    assert "errored" not in shown.partition("\n")[0]
    assert "Not enforced on this machine: cpus, disk, memory, pids" in shown


def test_records_that_vanish_from_the_file_before_the_end_are_no_run_of_exit_1(
    proctor: Proctor,
    benchmark: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    closed = Store.close

    def emptied(self: Store) -> None:
        closed(self)
        (self.path / "records.jsonl").write_bytes(b"")

    monkeypatch.setattr(Store, "close", emptied)

    code = proctor("run", benchmark, "--agent", "gold", "--sandbox", "fake", "--out", "out", "--quiet")

    told = capsys.readouterr()
    assert code == 3 and not told.out
    assert "out/records.jsonl does not hold all that was recorded there" in told.err


def test_an_odd_path_does_not_steer_the_terminal_and_can_be_typed_again(
    proctor: Proctor, benchmark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = "o o\x1b[31m'X\n\u00e9\x9b"

    proctor("run", benchmark, "--agent", "noop", "--tasks", "word", "--sandbox", "fake", "-q", "--out", out)

    said = capsys.readouterr().out
    assert "\x1b" not in said and "\x9b" not in said
    assert "Records: o o\\x1b[31m'X\\n\u00e9\\x9b\n" in said
    typed = said.partition("Look closer: proctor ")[2].strip()
    told = subprocess.run(["bash", "-c", f"printf '%s|' {typed}"], capture_output=True, check=True)
    assert told.stdout.decode().split("|")[:3] == ["show", out, "word.noop.1"]


def test_what_is_left_out_of_an_odd_folder_is_one_line(
    proctor: Proctor, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs" / "o\x1b[31m\nX"
    proctor("run", benchmark, "--agent", "noop", "--tasks", "word", "--sandbox", "fake", "-q", "--out", out)
    with (out / "records.jsonl").open("ab") as records:
        records.write(b"{}\n")
    capsys.readouterr()

    for command in (("runs", "list"), ("report", out), ("compare", out, out)):
        proctor(*command)

        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "\x1b" not in said
        assert "o\\x1b[31m\\nX/records.jsonl:2: " in said


def test_an_error_about_an_odd_path_does_not_steer_the_terminal(
    proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proctor("report", "no\x1b[31mwhere") == 2
    assert "\x1b" not in capsys.readouterr().err
