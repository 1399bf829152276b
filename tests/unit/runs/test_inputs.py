"""What a trial's result depends on."""

from __future__ import annotations

import subprocess

import pytest

from orchestrator import inputs
from orchestrator.agents.gold import Gold
from orchestrator.documents.benchmark import PathSource, Task
from orchestrator.documents.rubric import Rubric, Scoring


@pytest.fixture
def world(benchmark, tmp_path):
    """A task with a file of every kind, and rubrics that refer to each other."""
    (tmp_path / "fix.patch").write_bytes(b"fix")
    (tmp_path / "hidden.py").write_bytes(b"hidden")
    (tmp_path / "src" / "pkg").mkdir(parents=True)
    (tmp_path / "src" / "pkg" / "calc.py").write_bytes(b"code")
    task = Task(
        id="t",
        rubric_ref="rubric/outer@1.0",
        source=PathSource(kind="path", path="src"),
        fix_patch="fix.patch",
        hidden_files={"test_calc.py": "hidden.py"},
    )
    rubrics = {
        "rubric/outer@1.0": _rubric("outer", {"kind": "composite", "rubric": "rubric/inner@1.0"}),
        "rubric/inner@1.0": _rubric("inner", {"kind": "regex", "patterns": ["a"]}),
    }

    def digests(**options):
        of = inputs.of(benchmark(task), {"gold": Gold()}, rubrics.get, **{"version": "0.1.0", **options})
        return dict(of(task, "gold"))

    return tmp_path, rubrics, digests


def _rubric(name, check):
    return Rubric(id=name, version="1.0", checks=(check,), scoring=Scoring(combine="all_pass"))


def test_equal_inputs_have_equal_digests(world):
    _, _, digests = world

    assert digests() == digests()


@pytest.mark.parametrize("path", ["fix.patch", "hidden.py", "src/pkg/calc.py"])
def test_every_file_a_task_names_counts(world, path):
    root, _, digests = world
    before = digests()

    (root / path).write_bytes(b"changed")

    assert digests() != before


def test_names_modes_and_links_of_a_source_count_and_its_git_folder_does_not(world):
    root, _, digests = world
    seen = [digests()["source"]]

    (root / "src" / "pkg" / "calc.py").chmod(0o755)
    seen.append(digests()["source"])
    (root / "src" / "link").symlink_to("pkg")
    seen.append(digests()["source"])
    (root / "src" / "empty").mkdir()
    seen.append(digests()["source"])
    (root / "src" / ".git").mkdir()
    (root / "src" / ".git" / "HEAD").write_text("ref")

    assert len(set(seen)) == 4
    assert digests()["source"] == seen[-1]


def test_a_branch_that_moved_counts(tmp_path):
    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    git("init", "-b", "main")
    git("commit", "--allow-empty", "-m", "one")
    before = inputs.commit(tmp_path, "main")
    git("commit", "--allow-empty", "-m", "two")

    assert len(before) == 40 and inputs.commit(tmp_path, "main") != before
    assert inputs.commit(tmp_path, "nowhere") == "nowhere"
    assert inputs.commit(tmp_path / "https:" / "host", "main") == "main"


def test_a_rubric_that_a_rubric_refers_to_counts(world):
    _, rubrics, digests = world
    before = digests()

    rubrics["rubric/inner@1.0"] = _rubric("inner", {"kind": "regex", "patterns": ["b"]})

    assert digests() != before


def test_rubrics_that_refer_to_each_other_or_to_nothing_are_fine(world):
    _, rubrics, digests = world
    rubrics["rubric/inner@1.0"] = _rubric("inner", {"kind": "composite", "rubric": "rubric/outer@1.0"})
    circular = digests()
    del rubrics["rubric/inner@1.0"]

    assert digests() != circular


def test_the_version_and_the_command_lines_choices_count(world):
    _, _, digests = world

    assert len({d["proctor"] for d in (digests(), digests(version="0.2.0"))}) == 2
    assert digests(options={"executors": "ai_eval"}) != digests(options={"executors": "all"})


def test_a_file_that_is_missing_is_no_error_here(world):
    root, _, digests = world
    (root / "fix.patch").unlink()

    assert digests()["fix_patch"] == "unreadable"
