"""proctor delta as it is typed, on saved reports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import comparing, main
from orchestrator.cli.sides import side
from orchestrator.contract import ChangedFile
from orchestrator.errors import AuthoringError
from orchestrator.worktree.trees import TreeStore

DATA = Path(__file__).parents[2] / "data" / "oracles"
BEFORE, AFTER = (str(DATA / "phpcs_drift" / f"{side}.json") for side in ("before", "after"))
ROOTS = ("--before-root", "/srv/repo", "--after-root", "/var/x1/repo")


def delta(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["delta", *words])
    code = end.value.code
    assert isinstance(code, int)
    return code


def test_saved_reports_are_compared_and_the_identity_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code = delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--rename", "src/Old.php=src/New.php", "--json")

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (document["before"], document["after"], document["delta"]) == (4, 4, 0)
    assert (document["fixed"], document["introduced"], document["moved"]) == (1, 1, 3)
    assert document["before"] - document["fixed"] + document["introduced"] == document["after"]
    assert document["identity"] == "rule, path, message, occurrence (saved reports hold no source lines)"


def test_the_gate_decides_the_exit_code() -> None:
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--min-delta", "1") == 1
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--min-delta", "-1") == 0
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--no-new") == 1


@pytest.mark.parametrize("form", ["--sarif", "--markdown"])
def test_other_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, form)

    out = capsys.readouterr().out
    assert ('"baselineState": "new"' in out) if form == "--sarif" else out.startswith("## Passed")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((BEFORE, "/nowhere", "--tool", "phpcs"), "/nowhere is no saved report: give two of them"),
        (("/tmp", AFTER, "--tool", "phpcs"), "/tmp is no saved report: give two of them"),
        ((BEFORE, AFTER, "--tool", "phpcs", "--target", "src"), "--target would have no effect on saved"),
        (("/tmp", "/tmp", "--tool", "phpcs", "--rename", "a=b"), "--rename would have no effect on states"),
        ((BEFORE, AFTER, "--tool", "phpstan"), "known shape"),
        ((BEFORE, AFTER, "--tool", "number"), "no saved report"),
        (("nowhere", "/tmp", "--tool", "phpcs"), "no folder, no file"),
        (("/tmp", "/tmp", "--tool", "phpcs", "--option", "x"), "NAME=VALUE"),
        (("/tmp", "/tmp", "--tool", "phpcs", "--image", "a", "--debian", "b"), "only one of"),
        ((BEFORE, AFTER, "--tool", "phpcs", "--json", "--sarif"), "only one of"),
        (("HEAD", "HEAD", "--tool", "phpcs"), "no ref of a repository here"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_the_callers_mistake(
    words: tuple[str, ...],
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    assert delta(*words) == 2
    assert says in capsys.readouterr().err


def test_renames_can_be_left_alone() -> None:
    renamed = ChangedFile("b.php", "a.php", "renamed", b"1", b"2")

    assert [(c.path, c.status) for c in comparing.without_renames([renamed])] == [
        ("a.php", "deleted"),
        ("b.php", "added"),
    ]


def test_more_new_findings_than_anybody_reads_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, number in (("before", 0), ("after", 130)):
        messages = [{"message": "m", "source": f"R{n}", "type": "ERROR", "line": n} for n in range(number)]
        files = {"a.php": {"errors": number, "warnings": 0, "messages": messages}}
        report = {"totals": {"errors": number, "warnings": 0, "fixable": 0}, "files": files}
        (tmp_path / f"{name}.json").write_text(json.dumps(report))

    delta(str(tmp_path / "before.json"), str(tmp_path / "after.json"), "--tool", "phpcs")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 102
    assert lines[-1] == "  ... and 30 more; --json has them all"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a.php as committed and then changed, b.php new, vendor/c.php ignored."""
    monkeypatch.chdir(tmp_path)
    _git("init", "-q", "-b", "main")
    (tmp_path / "a.php").write_text("old")
    (tmp_path / ".gitignore").write_text("vendor\n")
    _git("add", "-A")
    _git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    (tmp_path / "a.php").write_text("changed")
    (tmp_path / "b.php").write_text("new")
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/c.php").write_text("ignored")
    return tmp_path


def _git(*words: str) -> None:
    subprocess.run(["git", *words], check=True)


def _content(given: str, folder: Path, repo: str | None = None) -> dict[bytes, bytes]:
    store = TreeStore(folder / "store")
    return {entry.path: entry.data for entry in store.entries(side(given, repo)(store))}


@pytest.mark.parametrize(("given", "repo"), [("main", None), ("HEAD", "."), (".@HEAD", None)])
def test_a_ref_is_looked_for_in_the_repository_one_stands_in(
    given: str, repo: str | None, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    held = _content(given, tmp_path_factory.mktemp("home"), repo)

    assert held == {b"a.php": b"old", b".gitignore": b"vendor\n"}


def test_a_ref_is_found_from_a_folder_below_as_well(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "vendor")

    assert _content("main", tmp_path_factory.mktemp("home")).keys() == {b"a.php", b".gitignore"}


def test_a_whole_commit_id_is_a_ref_as_well(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As `git merge-base` prints it."""
    done = subprocess.run(["git", "rev-parse", "main"], check=True, capture_output=True, text=True)

    held = _content(done.stdout.strip(), tmp_path_factory.mktemp("home"))

    assert held == {b"a.php": b"old", b".gitignore": b"vendor\n"}
    with pytest.raises(AuthoringError, match="no ref of a repository here"):
        side("0" * 40, None)


def test_a_work_tree_is_what_git_would_commit_of_it(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    held = _content(".", tmp_path_factory.mktemp("home"))

    assert held == {b"a.php": b"changed", b"b.php": b"new", b".gitignore": b"vendor\n"}


def test_nothing_that_a_work_trees_settings_name_is_started(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    trap = home / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {home}/sprung\n")
    trap.chmod(0o755)
    _git("config", "core.fsmonitor", str(trap))
    _git("status")
    assert (home / "sprung").exists()  # git itself starts it
    (home / "sprung").unlink()

    _content(".", home)

    assert not (home / "sprung").exists()


def test_a_shallow_clone_says_why_a_commit_is_missing(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    _git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "second")
    _git("clone", "-q", "--depth", "1", f"file://{repository}", str(home / "clone"))

    with pytest.raises(AuthoringError, match="shallow"):
        _content(f"{home / 'clone'}@HEAD~1", home)
