"""A task's states: set up once, told apart only by the change, and graded with the graders' own files."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.benchmark import Benchmark, PathSource, Task
from orchestrator.errors import AuthoringError
from orchestrator.tasks import states
from orchestrator.tasks.states import TaskState, graded, prepare
from orchestrator.worktree.change import Change
from orchestrator.worktree.globs import matcher
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.protected import protection
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry

FIXED = "def f():\n    return 2\n"
BROKEN = "def f():\n    return 1\n"
FIX = """\
diff --git a/src/m.py b/src/m.py
--- a/src/m.py
+++ b/src/m.py
@@ -1,2 +1,2 @@
 def f():
-    return 1
+    return 2
"""
TESTS = """\
diff --git a/tests/test_new.py b/tests/test_new.py
new file mode 100644
--- /dev/null
+++ b/tests/test_new.py
@@ -0,0 +1 @@
+official
"""


class Author:
    """Writes a benchmark of one task and prepares it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "bench"
        self.home = folder / "home"

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def prepare(self, **fields: Any) -> TaskState:
        task = Task(id="t1", source=PathSource(kind="path", path="src"), **fields)
        benchmark = Benchmark(id="b", version="1", tasks=(task,), root=self.root, file="benchmark.yaml")
        return prepare(task, benchmark, self.home)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    author = Author(tmp_path)
    author.write("src/src/m.py", FIXED)
    author.write("src/tests/test_m.py", "official\n")
    author.write("src/.git/config", "history")
    author.write("fix.patch", FIX)
    author.write("tests.patch", TESTS)
    author.write("hidden.py", "hidden\n")
    return author


def files(state: TaskState, tree: str) -> dict[str, str]:
    return {e.path.decode(): e.data.decode() for e in state.store.entries(tree)}


def change_to(state: TaskState, entries: list[Entry]) -> Change:
    return Change.read(state.store.diff(state.base_tree, state.store.put(state.base_tree, entries)))


def test_revert_fix_takes_the_fix_out_and_gold_puts_it_back(author: Author) -> None:
    state = author.prepare(setup="revert_fix", fix_patch="fix.patch")

    assert files(state, state.base_tree) == {"src/m.py": BROKEN, "tests/test_m.py": "official\n"}
    assert state.gold is not None
    assert files(state, graded(state, Change.read(state.gold)).tree)["src/m.py"] == FIXED


def test_apply_patch_and_none_start_from_what_they_name(author: Author) -> None:
    author.write("src/src/m.py", BROKEN)

    applied = author.prepare(setup="apply_patch", setup_patch="fix.patch")
    plain = author.prepare(fix_patch="fix.patch")

    assert files(applied, applied.base_tree)["src/m.py"] == FIXED
    assert applied.gold is None
    assert files(plain, plain.base_tree)["src/m.py"] == BROKEN
    assert plain.gold is not None


def test_a_setup_patch_for_another_source_is_the_authors_mistake(author: Author) -> None:
    author.write("src/src/m.py", "something else\n")

    with pytest.raises(AuthoringError) as caught:
        author.prepare(setup="revert_fix", fix_patch="fix.patch")

    text = str(caught.value)
    assert "tasks[0].fix_patch" in text
    assert "does not apply in reverse: hunk 1 of src/m.py" in text


def test_a_missing_file_is_named_with_its_place(author: Author) -> None:
    with pytest.raises(AuthoringError, match=r"tasks\[0\].fix_patch: cannot read nowhere.patch"):
        author.prepare(setup="revert_fix", fix_patch="nowhere.patch")


def test_before_and_after_differ_only_by_the_change(author: Author) -> None:
    state = author.prepare(
        setup="revert_fix",
        fix_patch="fix.patch",
        test_patch="tests.patch",
        hidden_files={"tests/secret.py": "hidden.py"},
    )
    change = change_to(state, [Entry(b"src/m.py", 0o100644, FIXED.encode())])

    result = graded(state, change)

    assert "tests/secret.py" not in files(state, state.base_tree)
    assert files(state, state.judge_tree)["tests/secret.py"] == "hidden\n"
    assert [(c.path, c.status) for c in result.changes()] == [("src/m.py", "modified")]
    assert [e.path for e in state.store.delta(result.before, result.tree)[0]] == [b"src/m.py"]


@pytest.mark.parametrize(
    "squatter",
    [
        Entry(b"tests/test_new.py", 0o100644, b"theirs\n"),
        Entry(b"tests/test_new.py/x", 0o100644, b"theirs\n"),
        Entry(b"tests", 0o120000, b"src"),
        Entry(b"tests", 0o100644, b"theirs\n"),
        Entry(b"tests/secret.py", 0o120000, b"/etc/passwd"),
    ],
)
def test_nobody_sits_where_the_graders_files_go(author: Author, squatter: Entry) -> None:
    state = author.prepare(
        setup="revert_fix",
        fix_patch="fix.patch",
        test_patch="tests.patch",
        hidden_files={"tests/secret.py": "hidden.py"},
        unprotected=("/tests/**", "test_*.py"),
    )

    result = graded(state, change_to(state, [squatter]))

    after = files(state, result.tree)
    assert after["tests/test_new.py"] == "official\n"
    assert after["tests/secret.py"] == "hidden\n"
    assert not any(path.startswith("tests/test_new.py/") for path in after)


def test_a_planted_conftest_is_put_back_and_reported(author: Author, case: Callable[[str], Path]) -> None:
    state = author.prepare(setup="revert_fix", fix_patch="fix.patch")
    change = Change.read((case("patch-grader-surface") / "model.patch").read_bytes())

    result = graded(state, change)

    assert result.touched_protected == ("conftest.py",)
    assert result.tree == state.judge_tree
    assert change.files == ("conftest.py",)


def test_a_quoted_name_does_not_slip_past_the_protected_list(author: Author) -> None:
    state = author.prepare(protected=("café/**",))

    result = graded(state, change_to(state, [Entry("café/x\n".encode(), 0o100644, b"x")]))

    assert result.touched_protected == ("café/x\n",)
    assert result.tree == state.judge_tree


def test_a_task_says_what_else_is_protected_and_what_is_not(author: Author) -> None:
    state = author.prepare(protected=("Makefile",), unprotected=("pyproject.toml",))
    change = change_to(
        state, [Entry(p, 0o100644, b"x\n") for p in (b"Makefile", b"pyproject.toml", b"tox.ini")]
    )

    result = graded(state, change)

    assert result.touched_protected == ("Makefile", "tox.ini")
    assert files(state, result.tree)["pyproject.toml"] == "x\n"


def test_a_fix_that_touches_a_protected_file_is_pointed_out(author: Author) -> None:
    author.write("src/tests/test_m.py", "new\n")
    author.write("fix.patch", FIX + FIX.replace("src/m.py", "tests/test_m.py").split("@@")[0]
                 + "@@ -1 +1 @@\n-old\n+new\n")  # fmt: skip
    state = author.prepare(setup="revert_fix", fix_patch="fix.patch")

    (warning,) = states.warnings(state)

    assert "tests/test_m.py" in warning


def test_an_empty_change_grades_the_before_state(author: Author) -> None:
    state = author.prepare()

    assert graded(state, Change(b"")).tree == state.judge_tree


def test_a_change_for_another_base_does_not_apply(author: Author) -> None:
    state = author.prepare()

    with pytest.raises(PatchError) as caught:
        graded(state, Change.read(FIX.encode()))

    assert (caught.value.end, caught.value.file, caught.value.hunk) == (
        "change_does_not_apply",
        "src/m.py",
        1,
    )


def test_the_agents_git_folder_holds_one_commit_and_a_clean_tree(author: Author, tmp_path: Path) -> None:
    state = author.prepare(setup="revert_fix", fix_patch="fix.patch")
    room = tmp_path / "room"
    for entry in state.agent_layer.entries():
        path = room / entry.path.decode()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.data)

    def git(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=room, check=True, capture_output=True, text=True).stdout

    assert git("log", "--format=%an %s", "--all") == "proctor The state to start from\n"
    assert git("status", "--porcelain") == ""
    assert git("remote") == ""
    assert git("fsck", "--full", "--unreachable", "--dangling") == ""
    every = git("cat-file", "--batch-all-objects", "--batch-check")
    assert len(every.splitlines()) == 1 + 3 + 2
    assert "return 2" not in "".join(git("cat-file", "-p", line.split()[0]) for line in every.splitlines())


def test_the_same_task_has_the_same_digests_every_time(author: Author) -> None:
    one = author.prepare(setup="revert_fix", fix_patch="fix.patch")
    two = author.prepare(setup="revert_fix", fix_patch="fix.patch")

    assert (one.digest, one.gold) == (two.digest, two.gold)
    assert TreeStore(author.home / "trees").blob(two.base_tree, b"src/m.py") == BROKEN.encode()


@pytest.mark.parametrize(
    ("path", "is_protected"),
    [
        (b"deep/conftest.py", True),
        (b"conftest.py/x", True),
        (b"phpunit.xml.dist", True),
        (b"x.dist-info/entry_points.txt", True),
        (b"src/tests_of_mine.py", False),
        (b"src/conftest.py.txt", False),
        (b"Makefile", False),
        (b"src/mytests/x.py", False),
        (b"lib/a.test.mjs", True),
        (b"pytest.py", True),
        (b"src/unittest.py", False),
    ],
)
def test_the_built_in_list_covers_what_graders_read(path: bytes, is_protected: bool) -> None:
    assert protection((), (), ())(path) is is_protected


@pytest.mark.parametrize(
    ("there", "path", "is_protected"),
    [
        ([], b"iniconfig.py", True),
        ([], b"packaging/__init__.py", True),
        ([b"packaging"], b"packaging/version.py", False),
        ([b"pluggy.py"], b"pluggy.py", False),
        ([], b"src/packaging/version.py", False),
    ],
)
def test_only_the_project_itself_may_be_a_part_of_the_test_runner(
    there: list[bytes], path: bytes, is_protected: bool
) -> None:
    assert protection((), (), (), there)(path) is is_protected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a/*.py", b"a/b.py", True),
        ("a/*.py", b"a/b/c.py", False),
        ("a/**/c.py", b"a/c.py", True),
        ("a/**/c.py", b"a/x/y/c.py", True),
        ("**/c.py", b"x/c.py", True),
        ("x?.[!a]", b"xy.b", True),
        ("x?.[!a]", b"xy.a", False),
        ("[", b"[", True),
        ("dir/", b"x/dir/y", True),
        ("a.b", b"aXb", False),
        ("*.p", b"n\nl.p", True),
    ],
)
def test_patterns_mean_what_git_ignore_means(pattern: str, path: bytes, matches: bool) -> None:
    assert matcher([pattern])(path) is matches
