"""The examples of docs/comparing.md run as written, on the records that are shipped."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.loading import load_nightly

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "comparing.md").read_text(encoding="utf-8")
EXAMPLES = [
    (call, shown)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for call, shown in re.findall(r"^\$ proctor (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def alike(shown: str, told: str) -> bool:
    """Whether the output is as shown; [...] stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\[\.\.\.\]\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*?".join(parts), told) is not None


@pytest.mark.parametrize(("call", "shown"), EXAMPLES, ids=[call for call, _ in EXAMPLES])
def test_an_example_runs_as_written(
    call: str,
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(DOCS / "examples" / "runs", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROCTOR_STORE", raising=False)

    code = finish(build(), shlex.split(call))

    told = capsys.readouterr().out
    assert alike(shown, told), told
    assert code == int("runs/monday runs/wednesday" in call)


def test_the_examples_from_python_run_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS / "examples")

    results = doctest.testfile(str(DOCS / "comparing.md"), module_relative=False)

    assert results.attempted >= 8 and results.failed == 0


def test_there_are_examples_of_a_loss_a_gain_and_of_nothing() -> None:
    assert len(EXAMPLES) >= 5
    assert not alike("a\n[...]\nb\n", "a\nc\n")


def test_the_document_of_a_night_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "nightly.yaml").write_text(block)

    assert load_nightly(tmp_path).id == yaml.safe_load(block)["id"] == "main"


@pytest.mark.parametrize("command", re.findall(r"^proctor (runs|nightly) (\w+)", PAGE, re.MULTILINE))
def test_every_command_it_names_is_there(
    command: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert finish(build(), [*command, "--help"]) == 0
