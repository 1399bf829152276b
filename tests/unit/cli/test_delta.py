"""proctor delta as it is typed, on saved reports."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import comparing, main
from orchestrator.cli.sides import side, sides
from orchestrator.contract import ChangedFile
from orchestrator.errors import AuthoringError, Problem
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
        ((".", AFTER, "--tool", "phpcs"), ". is no saved report: give two of them"),
        ((BEFORE, AFTER, "--tool", "phpcs", "--target", "src"), "--target would have no effect on saved"),
        ((".", ".", "--tool", "phpcs", "--rename", "a=b"), "--rename would have no effect on states"),
        ((BEFORE, AFTER, "--tool", "phpstan"), "known shape"),
        ((BEFORE, AFTER, "--tool", "number"), "no saved report"),
        (("nowhere", ".", "--tool", "phpcs"), "no folder, no file"),
        ((".", ".", "--tool", "phpcs", "--option", "x"), "NAME=VALUE"),
        ((".", ".", "--tool", "phpcs", "--image", "a", "--debian", "b"), "only one of"),
        ((BEFORE, AFTER, "--tool", "phpcs", "--json", "--sarif"), "only one of"),
        (("HEAD", "HEAD", "--tool", "phpcs"), "no ref of a repository here"),
        (
            (".", ".", "--tool", "ruff", "--option", "exclude=x"),
            "exclude is no option of ruff; known: ",
        ),
        # ... and before a state is fetched, which may take long
        (("/nowhere@v1", ".", "--tool", "ruff", "--standard", "PSR2"), "standard is no option of ruff"),
        ((".", ".", "--tool", "phpcs", "--option", "standrad=x"), "did you mean standard?"),
        ((".", ".", "--tool", "number", "--target", "src"), "target is no option of number"),
        ((".", ".", "--tool", "audit", "--option", "minimun=1"), "did you mean minimum?"),
        (("", ".", "--tool", "phpcs"), "BEFORE is empty; where `git merge-base` was to say it"),
        ((".", "", "--tool", "phpcs"), "AFTER is empty"),
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


def test_a_ref_that_is_missing_here_says_that_the_clone_is_shallow(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path_factory.mktemp("home") / "clone"
    _git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "second")
    _git("clone", "-q", "--depth", "1", f"file://{repository}", str(clone))
    monkeypatch.chdir(clone)

    with pytest.raises(AuthoringError, match=r"no ref of a repository here .this clone is shallow"):
        side("HEAD~1", None)


@pytest.mark.parametrize(("given", "kept"), [("main", b"old"), (".@HEAD", b"old"), (".", b"changed")])
def test_a_repository_of_another_user_is_read_like_any_other(
    given: str,
    kept: bytes,
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a pipeline's container, whose work tree belongs to somebody outside."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert subprocess.run(["git", "status"], capture_output=True, check=False).returncode != 0

    held = _content(given, tmp_path_factory.mktemp("home"))

    assert held[b"a.php"] == kept
    assert b"vendor/c.php" not in held


def test_a_git_hooks_variables_do_not_say_which_repository_is_meant(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path_factory.mktemp("other")))

    assert _content(".", tmp_path_factory.mktemp("home")).keys() == {b"a.php", b"b.php", b".gitignore"}


def test_a_work_tree_that_git_cannot_read_is_not_taken_with_all_that_it_ignores(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")

    with pytest.raises(
        AuthoringError, match=r"git does not tell what it would commit of .*not a git repository"
    ):
        _content(str(tmp_path), tmp_path_factory.mktemp("home"))


def test_of_a_part_of_a_work_tree_what_is_ignored_does_not_count_either(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (repository / "part/vendor").mkdir(parents=True)
    (repository / "part/vendor/d.php").write_text("ignored")
    (repository / "part/e.php").write_text("new")

    assert _content("part", tmp_path_factory.mktemp("home")).keys() == {b"e.php"}
    # One that is ignored as a whole was named on purpose.
    assert _content("vendor", tmp_path_factory.mktemp("home")).keys() == {b"c.php"}


@pytest.mark.parametrize("ref", ["main", "..@HEAD", "HEAD@{0}"])
def test_a_part_of_a_work_tree_is_not_held_against_a_whole_commit(
    ref: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "part").mkdir()
    monkeypatch.chdir(repository / "part")

    with pytest.raises(
        AuthoringError, match=r"\. is a part of .* and --target part to look at that part alone"
    ):
        sides(ref, ".", None)
    sides(ref, "..", None)
    sides(".", ".", None)


@pytest.mark.parametrize("ref", ["HEAD@{0}", "package@1.0"])
def test_a_ref_may_hold_an_at_sign(
    ref: str, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _git("tag", "package@1.0")

    assert _content(ref, tmp_path_factory.mktemp("home")) == {b"a.php": b"old", b".gitignore": b"vendor\n"}


def test_everything_that_a_tools_packages_lack_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = [
        Problem("benchmark.yaml", 0, "dependencies.pip", f"mypy 2.0 needs {name}", "add it, pinned")
        for name in ("pathspec", "librt")
    ]

    def install(*_: object) -> None:
        raise AuthoringError(lacking)

    monkeypatch.setattr("orchestrator.tasks.dependencies.install", install)

    assert delta(str(tmp_path), str(tmp_path), "--tool", "mypy", "--pip", "mypy==2.0") == 2
    assert capsys.readouterr().err.splitlines() == [
        "proctor: the tool's packages: mypy 2.0 needs librt; add it, pinned",
        "proctor: the tool's packages: mypy 2.0 needs pathspec; add it, pinned",
    ]
