"""proctor regrade over rooms in memory: kept work, graded by what the documents say now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.documents.record import TrialRecord
from orchestrator.plugins import Group, Plugin, Registry
from orchestrator.store import RunFolder
from sandboxes.errors import ProvisionFailed
from sandboxes.fake import FakeProvider

ANSWERS = [
    {"instance_id": "word", "model_name_or_path": "m", "model_patch": "", "response": "done"},
    {"id": "asked", "model_name_or_path": "m", "response": "it is right"},
]
Proctor = Callable[..., int]


@pytest.fixture
def faults() -> dict[str, BaseException]:
    """Filled by a test before it calls the command; see FakeProvider."""
    return {}


@pytest.fixture
def proctor(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: dict[str, BaseException],
    bench: Callable[..., Any],
) -> Iterator[Proctor]:
    """The command in a folder with the benchmark `small` and its answers, the fake as its only sandbox."""
    installed = Registry.load()
    fake = Plugin(
        "sandboxes", "fake", "(test)", lambda: lambda owner, **_: FakeProvider(owner, faults=faults)
    )
    monkeypatch.setattr(
        Registry, "load", classmethod(lambda cls: replace(installed, sandboxes=Group([fake])))
    )
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    ANSWERS[0]["model_patch"] = (bench("word", questions=("asked",)).folder / "fix.patch").read_text()
    Path("answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ANSWERS))

    def call(command: str, *arguments: object) -> int:
        where = ("--sandbox", "fake") if command == "run" else ()
        arguments = (command, *arguments, *where)
        return finish(build(), [str(argument) for argument in arguments])

    yield call


@pytest.fixture
def run(proctor: Proctor, capsys: pytest.CaptureFixture[str]) -> Path:
    """A run of the answers; what they were written in is gone afterwards."""
    proctor("run", "small", "--agent", "predictions:answers.jsonl", "--out", "first", "-q")
    capsys.readouterr()
    Path("answers.jsonl").unlink()
    return Path("first")


def latest(folder: str | Path) -> dict[str, TrialRecord]:
    """By task."""
    return {record.task: record for record in RunFolder(Path(folder)).latest().values()}


def edit(path: str | Path, old: str, new: str) -> None:
    text = Path(path).read_text()
    assert old in text
    Path(path).write_text(text.replace(old, new))


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_equal_documents_give_equal_verdicts_in_a_run_of_its_own(
    proctor: Proctor, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = proctor("regrade", run, "--out", "second", "-q", "--json")

    found, old, new = document(capsys), latest(run), latest("second")
    assert (code, [shift["moved"] for shift in found["shifts"]]) == (0, [False, False])
    assert {t: (r.status, r.trial, r.agent) for t, r in new.items()} == {
        t: (r.status, r.trial, r.agent) for t, r in old.items()
    }
    assert new["word"].change == old["word"].change
    assert RunFolder(Path("second")).header.regraded_from == RunFolder(run).header.run_id
    assert found["regraded_from"]["id"] == RunFolder(run).header.run_id


def test_a_regraded_run_can_be_compared_and_graded_again(proctor: Proctor, run: Path) -> None:
    proctor("regrade", run, "--out", "second", "-q")

    assert proctor("compare", run, "second") == 0
    assert proctor("regrade", "second", "--out", "third", "-q") == 0
    assert [r.status for r in latest("third").values()] == ["passed", "passed"]


def test_a_stricter_rubric_moves_trials_and_the_exit_code(
    proctor: Proctor, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("small/rubrics/said.yaml", "[right]", "[exactly]")

    code = proctor("regrade", run, "--out", "second", "-q")

    told = capsys.readouterr().out
    assert (code, latest("second")["asked"].status, latest("second")["word"].status) == (
        1,
        "failed",
        "passed",
    )
    assert "1 of 2 trials moved" in told
    assert "passed 1" in told and "failed 0" in told


def test_the_tasks_of_another_place_are_taken_when_they_are_named(
    proctor: Proctor, run: Path, tmp_path: Path
) -> None:
    Path("small").rename("moved")

    lost = proctor("regrade", run, "--out", "second", "-q")
    found = proctor("regrade", run, "--benchmark", "moved", "--out", "third", "-q")

    assert (lost, found) == (2, 0)


def test_a_kept_change_that_was_altered_is_not_graded(
    proctor: Proctor, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patch = run / latest(run)["word"].artifacts["change.patch"]
    edit(patch, "+right", "+forged")

    code = proctor("regrade", run, "--out", "second", "-q", "--json")

    word = latest("second")["word"]
    assert (code, word.status, word.end, word.score) == (3, "not_run", "not_kept", None)
    assert "its change.patch is not what was recorded" in word.reason
    assert latest("second")["asked"].status == "passed"


def test_an_artifact_that_leads_out_of_the_run_is_not_read(proctor: Proctor, run: Path) -> None:
    patch = run / latest(run)["word"].artifacts["change.patch"]
    Path("outside.patch").write_bytes(patch.read_bytes())
    patch.unlink()
    patch.symlink_to(Path("outside.patch").resolve())

    proctor("regrade", run, "--out", "second", "-q")

    assert latest("second")["word"].end == "not_kept"


def test_work_that_was_never_kept_says_so(
    proctor: Proctor, faults: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    faults["provision"] = ProvisionFailed("no room today")
    actor = "command:true"
    proctor("run", "small", "--tasks", "word", "--agent", actor, "--retries", "0", "--out", "first", "-q")
    faults.clear()

    code = proctor("regrade", "first", "--out", "second", "-q")

    word = latest("second")["word"]
    assert (code, word.end) == (3, "not_kept")
    assert "it ended errored (provision_failed) before the agent had answered" in word.reason


def test_work_whose_grading_broke_down_is_graded_without_its_agent(
    proctor: Proctor, faults: dict[str, BaseException]
) -> None:
    proctor("run", "small", "--tasks", "word", "--agent", "gold", "--out", "first", "-q")
    record = latest("first")["word"]
    broken = record.model_copy(
        update={"status": "errored", "end": "provision_failed", "score": None, "verdict": None}
    )
    Path("first/records.jsonl").write_text(broken.model_dump_json() + "\n")

    code = proctor("regrade", "first", "--out", "second", "-q")

    assert (code, latest("second")["word"].status) == (0, "passed")


def test_a_patch_that_could_not_be_read_is_tried_again_as_it_was_handed_in(proctor: Proctor) -> None:
    Path("bad").mkdir()
    Path("bad/word.patch").write_bytes(Path("small/fix.patch").read_bytes())
    edit("bad/word.patch", "@@ -1 +1 @@", "@@ -1,3 +1,3 @@")
    proctor("run", "small", "--tasks", "word", "--agent", "predictions:bad", "--out", "first", "-q")
    Path("bad/word.patch").unlink()

    code = proctor("regrade", "first", "--out", "second", "-q")

    assert (code, latest("first")["word"].end) == (1, "change_invalid")
    assert latest("second")["word"].end == "change_invalid"


def test_a_task_that_is_gone_is_named_and_the_others_are_graded(
    proctor: Proctor, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("small/benchmark.yaml", '"asked"', '"renamed"')

    code = proctor("regrade", run, "--out", "second", "-q", "--json")

    found = document(capsys)
    assert (code, list(latest("second"))) == (0, ["word"])
    assert [name.partition(".")[0] for name in found["regraded_from"]["gone"]] == ["asked"]


def test_the_tasks_of_another_benchmark_are_refused(
    proctor: Proctor, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("small/benchmark.yaml", '"small"', '"large"')

    code = proctor("regrade", run, "--out", "second", "-q")

    assert code == 2
    assert "is a run of small" in capsys.readouterr().err


def test_questions_alone_need_no_rooms(
    proctor: Proctor, run: Path, faults: dict[str, BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    proctor("regrade", run, "--out", "second", "-q")
    document = json.loads(Path("small/benchmark.yaml").read_text())
    document["tasks"] = [task for task in document["tasks"] if task["id"] == "asked"]
    Path("small/benchmark.yaml").write_text(json.dumps(document))
    faults["provision"] = ProvisionFailed("there are none")

    assert proctor("regrade", run, "--out", "third", "-q") == 0
