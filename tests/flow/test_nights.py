"""Whole nights over rooms in memory: the document in, runs, comparison, exit code and ledger out."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import RunFolder
from tests.flow.test_cli_run_on_fake import Proctor, faults, lacking, proctor

__all__ = ["faults", "lacking", "proctor"]
TASKS = 8
RUBRIC = """id: right
version: "1.0"
checks:
  - {kind: command, id: says_right, command: grep right answer.txt, expect: test_transitions}
scoring: {combine: all_pass}
"""
PATCH = """diff --git a/answer.txt b/answer.txt
--- a/answer.txt
+++ b/answer.txt
@@ -1 +1 @@
-wrong
+{word}
"""
TASK = """  - id: t{n}
    rubric_ref: rubric/right@1.0
    environment: {{host: true}}
    source: {{kind: path, path: repo}}
    fix_patch: fix.patch
"""
NIGHTLY = """id: main
benchmarks: [{benchmark: many}]
candidates: [gold, 'predictions:answers']
repeats: 2
sandbox: fake
gates:
  - metric: regression
  - {metric: pass_rate, at_least: 1, agent: gold}
"""


@pytest.fixture
def here(tmp_path: Path, proctor: Proctor, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PROCTOR_STORE", raising=False)
    folder = tmp_path / "many"
    (folder / "repo").mkdir(parents=True)
    (folder / "rubrics").mkdir()
    (folder / "rubrics" / "right.yaml").write_text(RUBRIC)
    (folder / "repo" / "answer.txt").write_text("wrong\n")
    (folder / "fix.patch").write_text(PATCH.format(word="right"))
    tasks = "".join(TASK.format(n=n) for n in range(TASKS))
    (folder / "benchmark.yaml").write_text(f'id: many\nversion: "1.0"\ntasks:\n{tasks}')
    (tmp_path / "nightly.yaml").write_text(NIGHTLY)
    return tmp_path


def answers(here: Path, good: int) -> None:
    """The candidate answers the first `good` tasks rightly."""
    (here / "answers").mkdir(exist_ok=True)
    for n in range(TASKS):
        word = "right" if n < good else "nearly"
        (here / "answers" / f"t{n}.patch").write_text(PATCH.format(word=word))


def night(proctor: Proctor, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = proctor("nightly", "run", "--json", "--quiet")
    return code, json.loads(capsys.readouterr().out)


def test_a_candidate_that_gets_worse_is_caught_the_same_night_and_one_that_gets_better_is_not(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(here, good=TASKS)
    first, _ = night(proctor, capsys)
    answers(here, good=1)
    second, told = night(proctor, capsys)
    answers(here, good=TASKS)
    third, _ = night(proctor, capsys)

    assert (first, second, third) == (0, 1, 0)
    (finding,) = told["findings"]
    assert finding["confirmed"] and finding["broken"] == [f"t{n}" for n in range(1, TASKS)]
    again = RunFolder(here / "nights" / finding["rerun"]).header
    assert len(again.plan["trials"]) == 3 * (TASKS - 1)
    assert "regression is confirmed" in told["text"].splitlines()[1]


def test_its_runs_are_runs_like_any_other(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(here, good=TASKS)
    night(proctor, capsys)
    answers(here, good=TASKS - 1)
    night(proctor, capsys)
    capsys.readouterr()

    assert proctor("runs", "list", "--runs", "nights", "--tag", "nightly:main", "--json") == 0
    newest, oldest = json.loads(capsys.readouterr().out)["runs"]
    assert proctor("compare", oldest["run_id"], newest["run_id"], "--runs", "nights", "--json") == 0
    compared = json.loads(capsys.readouterr().out)

    assert compared["broken"] == [f"t{TASKS - 1}"]
    assert newest["header"]["machine"]["name"]
    assert newest["header"]["versions"]["proctor"]


def test_a_run_that_nights_are_held_against_is_not_pruned(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    answers(here, good=TASKS)
    for _ in range(3):
        night(proctor, capsys)
    assert proctor("runs", "list", "--runs", "nights", "--json") == 0
    newest, middle, oldest = (run["run_id"] for run in json.loads(capsys.readouterr().out)["runs"])

    proctor("runs", "prune", "--runs", "nights", "--keep", "0", "--tagged")

    told = capsys.readouterr().out
    assert newest in told and middle in told and oldest not in told


def test_a_fault_of_the_machine_is_exit_3_and_no_regression(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str], faults: dict[str, BaseException]
) -> None:
    from sandboxes.errors import ProvisionFailed

    answers(here, good=TASKS)
    night(proctor, capsys)
    faults["provision"] = ProvisionFailed("no space for rooms")
    (here / "nightly.yaml").write_text(NIGHTLY + "retries: 0\n")

    code, told = night(proctor, capsys)

    assert code == 3
    assert not any(finding["confirmed"] for finding in told["findings"])
    assert "trouble of the machine" in told["problems"][0]


def test_a_benchmark_that_is_not_there_is_told_and_recorded(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "nightly.yaml").write_text(NIGHTLY.replace("benchmark: many", "benchmark: nowhere"))

    code, told = night(proctor, capsys)

    assert code == 2
    assert told["problems"][0].startswith("nowhere: nowhere: there is no such file")
    assert not (here / "nights" / told["night"]).exists()


def test_a_run_remembers_tags_machine_and_git_revision(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (["init", "-q", "-b", "main"], ["add", "many"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=here, check=True, env=env)
    wanted = ["run", "many", "--agent", "gold", "--tasks", "t1", "--sandbox", "fake", "--quiet"]

    proctor(*wanted, "--out", "clean", "--tag", "one", "--tag", "two")
    (here / "many" / "fix.patch").write_text(PATCH.format(word="right") + "\n")
    proctor(*wanted, "--out", "changed")

    clean, changed = RunFolder(here / "clean").header, RunFolder(here / "changed").header
    assert clean.tags == ("one", "two")
    assert clean.machine["cores"] == str(os.cpu_count())
    assert (clean.git["branch"], clean.git["state"], changed.git["state"]) == ("main", "clean", "changed")
    assert len(clean.git["revision"]) == 40


def test_old_work_graded_by_a_new_rubric_version_is_compared_like_any_two_runs(
    here: Path, proctor: Proctor, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stored changes, a stricter rubric: no agent works again, and the difference is the rubric's."""
    answers(here, good=TASKS)
    proctor("run", "many", "--agent", "predictions:answers", "--sandbox", "fake", "--quiet", "--out", "old")
    stricter = RUBRIC.replace('version: "1.0"', 'version: "2.0"').replace("grep right", "grep exact")
    (here / "many" / "rubrics" / "right.yaml").write_text(stricter)
    tasks = (here / "many" / "benchmark.yaml").read_text()
    (here / "many" / "benchmark.yaml").write_text(tasks.replace("right@1.0", "right@2.0"))
    proctor("regrade", "old", "--benchmark", "many", "--sandbox", "fake", "--quiet", "--out", "new")
    capsys.readouterr()

    refused = proctor("compare", "old", "new")
    said = capsys.readouterr().err
    told = proctor("compare", "old", "new", "--across-versions", "--json")

    document = json.loads(capsys.readouterr().out)
    assert (refused, told) == (2, 1)
    assert "had rubric/right@1.0 and has rubric/right@2.0 now" in said
    assert document["broken"] == [f"t{n}" for n in range(TASKS)]
    assert "had rubric/right@1.0 and has rubric/right@2.0 now" in document["warnings"][0]
