"""Built-in rubrics: found by name and by ref, after a benchmark's own (rules 25, 28, 178, 179)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from orchestrator import library
from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.loading import parse_rubric
from orchestrator.rubrics import RubricStore

OWN = """id: direct_answer
version: "1.0"
checks: [{kind: must_contain_any, id: says, values: [own]}]
scoring: {combine: all_pass}
"""


def call(*arguments: object) -> int:
    return finish(build(), [str(argument) for argument in arguments])


def test_each_file_holds_the_rubric_that_its_name_says() -> None:
    assert len(library.files()) >= 7
    for ref, path in library.files().items():
        assert parse_rubric(path.read_text(), path.name).ref == ref


def test_weights_and_thresholds_are_stated_wherever_they_count() -> None:
    for path in library.files().values():
        rubric = parse_rubric(path.read_text(), path.name)
        if rubric.scoring.combine == "weighted_avg":
            assert rubric.scoring.threshold is not None, rubric.ref
            assert set(rubric.scoring.weights) == {c["id"] for c in rubric.checks}, rubric.ref


def test_a_folder_of_rubrics_is_followed_by_the_library(tmp_path: Path) -> None:
    store = RubricStore.load([tmp_path])

    found = store.resolve("rubric/bug_fix@1.0")

    assert found is not None and found.id == "bug_fix"
    assert store.refs == () and list(store) == []
    assert store.resolve("rubric/bug_fix@9.9") is None
    assert store.advice("rubric/bug_fix@9.9") == "there is bug_fix in version 1.0"


def test_an_own_rubric_of_the_same_ref_goes_first_also_when_it_is_disabled(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    found = RubricStore.load([tmp_path]).resolve("rubric/direct_answer@1.0")
    assert found is not None and found.checks[0]["values"] == ["own"]

    file.write_text(OWN.replace('"1.0"\n', '"1.0"\nenabled: false\n'))

    assert RubricStore.load([tmp_path]).resolve("rubric/direct_answer@1.0") is None


def test_a_store_made_in_memory_knows_its_own_alone() -> None:
    assert RubricStore().resolve("rubric/bug_fix@1.0") is None


def test_check_takes_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answer.txt").write_text("The divisor was off by one.")

    assert call("check", "direct_answer", "--response", tmp_path / "answer.txt", "--json") == 0
    assert json.loads(capsys.readouterr().out)["rubric"] == "rubric/direct_answer@1.0"
    assert call("check", "no_such_rubric", "--response", tmp_path / "answer.txt") == 2


def test_a_benchmark_names_a_built_in_rubric_and_needs_no_rubrics_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    question = "{id: q, input: Why?, rubric_ref: rubric/direct_answer@1.0, graders: [rubric_checks]}"
    (tmp_path / "benchmark.yaml").write_text(f'id: talk\nversion: "1.0"\nquestions:\n  - {question}\n')
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"instance_id": "q", "model_patch": "", "response": "Because of the divisor."}) + "\n"
    )

    assert call("validate", tmp_path) == 0
    capsys.readouterr()
    agent = f"predictions:{tmp_path / 'a.jsonl'}"
    assert call("run", tmp_path, "--agent", agent, "--out", tmp_path / "run", "--json") == 0

    (trial,) = json.loads(capsys.readouterr().out)["trials"]
    assert trial["passed"] is True


def commands(name: str) -> list[str]:
    rubric = parse_rubric(library.path_of(name).read_text(), name)
    found = [c for check in rubric.checks for c in (check.get("command"), check.get("guard_command"))]
    found += [check.get("metadata", {}).get("command") for check in rubric.checks]
    return [command for command in found if command]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["bug_fix", "feature", "refactor", "static_quality"])
def test_the_shell_can_read_every_command(name: str, tmp_path: Path) -> None:
    for command in commands(name):
        done = subprocess.run(["/bin/sh", "-n", "-c", command], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_a_file_that_does_not_compile_is_seen_wherever_it_lies(tmp_path: Path) -> None:
    (compiles,) = [command for command in commands("feature") if "compile(" in command]
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/good name.py").write_text("x = 1\n")
    assert shell(compiles, tmp_path).returncode == 0

    (tmp_path / "deep/bad.py").write_text("x = (\n")

    assert shell(compiles, tmp_path).returncode != 0


def test_syntax_is_counted_whatever_the_layout_and_breaking_a_file_is_no_gain(tmp_path: Path) -> None:
    (count,) = [command for command in commands("refactor") if "print(" in command]
    file = tmp_path / "a.py"

    def counted(text: str) -> int:
        file.write_text(text)
        return int(shell(count, tmp_path).stdout)

    plain = counted("x = 1\ny = x + 1\n")

    assert counted("# a comment\n\nx = 1\n\n\ny = (x +\n    1)\n") == plain
    assert counted("y = 2\n") < plain
    assert counted("x = 1\ny = x + 1\n(  # broken\n") > plain


@pytest.mark.parametrize("name", ["refactor", "feature"])
def test_a_planted_module_does_not_steer_our_own_python(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (command,) = [command for command in commands(name) if "python3 -I" in command]
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for module in ("ast", "pathlib", "sitecustomize", "io"):
        (tmp_path / f"{module}.py").write_text("print(1)\nraise SystemExit(0)\n")
    (tmp_path / "bad.py").write_text("x = (\n")

    done = shell(command, tmp_path)

    assert done.returncode != 0 if name == "feature" else int(done.stdout) > 6
