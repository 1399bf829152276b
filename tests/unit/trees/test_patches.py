"""Patches as they arrive: mended by one byte at most, refused before anything runs, never half applied."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.worktree import patches
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry

Case = Callable[[str], Path]
FolderTree = Callable[[Path], str]


def _patch(name: str, *lines: str) -> bytes:
    return "\n".join([f"diff --git a/{name} b/{name}", *lines, ""]).encode()


def test_a_lost_final_newline_is_added_and_recorded(
    store: TreeStore, case: Case, folder_tree: FolderTree
) -> None:
    folder = case("patch-lost-final-newline")
    received = (folder / "model.patch").read_bytes()

    read = patches.read(received)
    tree = store.apply(folder_tree(folder / "base"), received)

    assert read.data == received + b"\n"
    assert [m.name for m in read.mends] == ["added_final_newline"]
    assert read.mends[0].before != read.mends[0].after
    assert tree == folder_tree(folder / "expected")


def test_context_that_was_cut_off_is_named_with_both_counts(
    store: TreeStore, case: Case, folder_tree: FolderTree
) -> None:
    folder = case("patch-stripped-blank-context")
    base = folder_tree(folder / "base")

    with pytest.raises(PatchError) as caught:
        store.apply(base, (folder / "as-received.patch").read_bytes())

    assert (caught.value.kind, caught.value.file, caught.value.hunk) == ("invalid", "calc.py", 1)
    assert "header says 4 old lines, body has 2" in str(caught.value)
    assert store.apply(base, (folder / "as-written.patch").read_bytes()) != base


def test_quoted_names_and_names_with_spaces_are_decoded(
    store: TreeStore, case: Case, folder_tree: FolderTree
) -> None:
    folder = case("patch-quoted-paths")
    received = (folder / "model.patch").read_bytes()

    touched = [patches.show(path) for path in patches.read(received).touched]

    assert touched == json.loads((folder / "expected-paths.json").read_text(encoding="utf-8"))
    assert store.apply(folder_tree(folder / "base"), received)


def test_a_binary_change_without_data_is_invalid_and_nothing_is_changed(
    store: TreeStore, case: Case, folder_tree: FolderTree
) -> None:
    folder = case("patch-binary-stub")

    with pytest.raises(PatchError) as caught:
        store.apply(folder_tree(folder / "base"), (folder / "model.patch").read_bytes())

    assert caught.value.kind == "invalid"
    assert str(caught.value) == "binary change without data: logo.bin"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("dotdot", "../outside.txt"),
        ("gitdir", ".git/hooks/post-checkout"),
        ("via-symlink", "out/planted.txt"),
    ],
)
def test_a_patch_that_reaches_out_of_the_tree_is_refused(
    store: TreeStore, case: Case, folder_tree: FolderTree, name: str, path: str
) -> None:
    folder = case("patch-escapes-tree")

    with pytest.raises(PatchError) as caught:
        store.apply(folder_tree(folder / "base"), (folder / f"{name}.patch").read_bytes())

    assert (caught.value.kind, caught.value.file) == ("refused", path)
    assert caught.value.end == "change_refused"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "a/../../x",
        ".git/config",
        "sub/.git/config",
        ".GIT/config",
        "git~1/config",
        ".git./config",
        ".git /config",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u200cit/config",
        "a\\.git\\config",
        "a/./b",
    ],
)
def test_no_spelling_of_a_forbidden_place_gets_through(name: str) -> None:
    patch = f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+x\n".encode()

    with pytest.raises(PatchError) as caught:
        patches.read(patch)

    assert caught.value.kind == "refused"


def test_a_link_that_the_tree_holds_already_is_not_gone_through(store: TreeStore) -> None:
    tree = store.add([Entry(b"out", 0o120000, b"/tmp")])
    patch = _patch("out/x", "new file mode 100644", "--- /dev/null", "+++ b/out/x", "@@ -0,0 +1 @@", "+x")

    with pytest.raises(PatchError) as caught:
        store.apply(tree, patch)

    assert (caught.value.kind, caught.value.file) == ("refused", "out/x")


def test_a_submodule_is_invalid_and_named() -> None:
    patch = _patch("vendored", "index 1111111..2222222 160000", "--- a/vendored", "+++ b/vendored",
                   "@@ -1 +1 @@", "-Subproject commit 1", "+Subproject commit 2")  # fmt: skip

    with pytest.raises(PatchError) as caught:
        patches.read(patch)

    assert caught.value.kind == "invalid"
    assert "submodule vendored" in str(caught.value)


def test_a_bad_escape_in_a_name_refuses_the_patch() -> None:
    patch = b'diff --git "a/x\\q" "b/x\\q"\n--- "a/x\\q"\n+++ "b/x\\q"\n@@ -1 +1 @@\n-a\n+b\n'

    with pytest.raises(PatchError, match="bad escape") as caught:
        patches.read(patch)

    assert caught.value.kind == "refused"


@pytest.mark.parametrize("data", [b"", b" \n\t\n"])
def test_white_space_is_an_empty_patch(data: bytes) -> None:
    with pytest.raises(PatchError) as caught:
        patches.read(data)

    assert (caught.value.kind, caught.value.end) == ("empty", "change_empty")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"Here is the fix you asked for.\n", "no diff in it"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "hunk without a file header"),
        (_patch("x", "index 1..2 100644"), "followed by no change"),
        (b"diff --cc x\nindex 1,2..3\n", "combined diff"),
        (_patch("x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a", "+b", "+c"), "body has 2 or more"),
        (_patch("x", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a"), "header says 1 new lines, body has 0"),
        (_patch("x", "new file mode 040000"), "mode 40000"),
        (_patch("x", "index 1..2", "GIT binary patch", "literal 3", "KcmZQzWd"), "ends early"),
    ],
)
def test_what_is_no_whole_patch_is_invalid_and_says_why(data: bytes, says: str) -> None:
    with pytest.raises(PatchError) as caught:
        patches.read(data)

    assert caught.value.kind == "invalid"
    assert says in str(caught.value)


def test_renames_modes_copies_and_mail_around_the_diff_are_read() -> None:
    patch = (
        b"From 1234 Mon Sep 17\nSubject: [PATCH] x\n\n---\n a | 2 +-\n\n"
        b"diff --git a/old name b/new name\nsimilarity index 100%\nrename from old name\nrename to new name\n"
        b"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n"
        b"diff --git a/c b/d\nsimilarity index 100%\ncopy from c\ncopy to d\n"
        b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
        b"-- \n2.39.5\n\n"
    )

    read = patches.read(patch)

    assert read.touched == (b"d", b"e", b"new name", b"old name", b"run.sh")
    assert [f.new_mode for f in read.files] == [None, 0o100755, None, 0o100644]


def test_a_patch_for_other_lines_names_the_file_and_the_hunk(store: TreeStore) -> None:
    lines = [b"%d\n" % n for n in range(40)]
    tree = store.add([Entry(b"x", 0o100644, b"".join(lines))])
    edited = [b"one\n" if n == 1 else b"thirty\n" if n == 30 else line for n, line in enumerate(lines)]
    patch = store.diff(tree, store.add([Entry(b"x", 0o100644, b"".join(edited))]))

    with pytest.raises(PatchError) as caught:
        store.apply(tree, patch.replace(b" 29\n", b" other\n"))

    assert (caught.value.kind, caught.value.file, caught.value.hunk) == ("does_not_apply", "x", 2)


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (_patch("gone", "--- a/gone", "+++ b/gone", "@@ -1 +1 @@", "-a", "+b"), "does not exist"),
        (
            _patch("x", "new file mode 100644", "--- /dev/null", "+++ b/x", "@@ -0,0 +1 @@", "+a"),
            "already exists",
        ),
        (_patch("x/y", "new file mode 100644", "--- /dev/null", "+++ b/x/y", "@@ -0,0 +1 @@", "+a"), ""),
    ],
)
def test_a_patch_for_another_tree_does_not_apply(store: TreeStore, patch: bytes, says: str) -> None:
    tree = store.add([Entry(b"x", 0o100644, b"x\n")])

    with pytest.raises(PatchError) as caught:
        store.apply(tree, patch)

    assert caught.value.kind == "does_not_apply"
    assert says in str(caught.value)


def test_content_that_looks_like_shell_or_patch_is_only_content(store: TreeStore) -> None:
    data = b"EOF\n$(id)\n`id`\n--- a/x\n+++ b/x\n@@ -1 +1 @@\ndiff --git a/y b/y\n\\ No newline\n"
    tree, new = store.add([]), store.add([Entry(b"x", 0o100644, data)])

    applied = store.apply(tree, store.diff(tree, new))

    assert list(store.entries(applied)) == [Entry(b"x", 0o100644, data)]


def test_removed_lines_that_begin_with_dashes_do_not_end_a_hunk(store: TreeStore) -> None:
    old = store.add([Entry(b"q.sql", 0o100644, b"-- a comment\n++ plus\nselect 1\n")])
    new = store.add([Entry(b"q.sql", 0o100644, b"select 1\n")])

    assert store.apply(old, store.diff(old, new)) == new


def test_a_name_that_no_file_system_takes_is_refused_and_not_found_out_while_writing() -> None:
    name = b"n" * 256
    patch = b"diff --git a/%b b/%b\nnew file mode 100644\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+x\n"

    with pytest.raises(PatchError, match="longer than 255 bytes") as refused:
        patches.read(patch % (name, name, name))

    assert refused.value.kind == "refused"


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that finds the disk full when it is to write what a patch makes."""
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(
        "#!/bin/sh\n"
        'case "$* " in *--check*) ;;\n'
        "apply*) echo 'fatal: unable to write loose object file: No space left on device' >&2; exit 128 ;;\n"
        f'esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}:{os.environ['PATH']}")


def test_a_full_disk_is_not_the_patchs_fault(store: TreeStore, full: None) -> None:
    tree = store.add([Entry(b"x", 0o100644, b"x\n")])

    with pytest.raises(OSError, match="No space left on device") as caught:
        store.apply(
            tree, _patch("y", "new file mode 100644", "--- /dev/null", "+++ b/y", "@@ -0,0 +1 @@", "+a")
        )

    assert caught.value.errno == errno.ENOSPC


def test_a_patch_that_speaks_of_a_full_disk_is_to_blame_all_the_same(store: TreeStore) -> None:
    tree = store.add([Entry(b"x", 0o100644, b"x\n")])
    name = "No space left on device"

    with pytest.raises(PatchError) as caught:
        store.apply(tree, _patch(name, f"--- a/{name}", f"+++ b/{name}", "@@ -1 +1 @@", "-a", "+b"))

    assert caught.value.kind == "does_not_apply"


@pytest.mark.parametrize(
    ("old", "new"),
    [("x.py.orig", "x.py"), ("x.py", "x.py.orig"), ("a", "bcd"), ("abc", "d"), ("ab", "cd"), ("a", "a")],
)
def test_a_patch_without_gits_first_line_is_for_the_file_that_git_takes(
    store: TreeStore, old: str, new: str
) -> None:
    names = ("x.py", "x.py.orig", "a", "bcd", "abc", "d", "ab", "cd")
    tree = store.add(Entry(name.encode(), 0o100644, b"same\n") for name in names)
    patch = f"--- a/{old}\n+++ b/{new}\n@@ -1 +1 @@\n-same\n+other\n".encode()

    changed = [d.path for d in store.differences(tree, store.apply(tree, patch))]

    assert list(patches.read(patch).touched) == changed
