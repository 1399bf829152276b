"""Whatever an agent does to its files: the change that is captured gives exactly that tree, never a part.

The repositories and edits are those of `bench/patches.py`, which makes ten thousand of them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.worktree.change import Change
from orchestrator.worktree.patches import PatchError, quoted
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry


def _bench() -> ModuleType:
    place = Path(__file__).parents[3] / "bench" / "patches.py"
    spec = importlib.util.spec_from_file_location("bench_patches", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench: Any = _bench()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TreeStore:
    return TreeStore(tmp_path_factory.mktemp("shared") / "trees")


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_random_edits_of_random_repositories_come_through_whole(shared: TreeStore, random: Random) -> None:
    wrong, _ = bench.round_trip(shared, random)

    assert wrong == ""


def test_the_edits_are_of_every_kind() -> None:
    random = Random("kinds")
    made = [(bench.repository(random), random) for _ in range(300)]
    names = b"".join(path for files, _ in made for path in files)
    data = [(mode, content) for files, _ in made for mode, content in files.values()]

    assert all(odd in names for odd in (b" ", b'"', b"\n", b"\xff", b"\\", b"'"))
    assert {mode for mode, _ in data} == {0o100644, 0o100755, 0o120000}
    assert any(content == b"" for _, content in data)
    assert any(b"\r\n" in content for _, content in data)
    assert any(b"\0" in content for _, content in data)
    assert any(content and not content.endswith(b"\n") for _, content in data)


def test_a_damaged_binary_file_takes_nothing_of_the_patch_with_it(store: TreeStore) -> None:
    base = store.add([Entry(b"a", 0o100644, b"1\n"), Entry(b"z", 0o100644, b"1\n")])
    # not held by the store: git would take the file from there instead of reading the patch
    elsewhere = TreeStore(store.folder.parent / "elsewhere")
    old = elsewhere.add(store.entries(base))
    new = elsewhere.put(
        old,
        [
            Entry(b"a", 0o100644, b"2\n"),
            Entry(b"m.bin", 0o100644, bytes(range(256))),
            Entry(b"z", 0o100644, b"2\n"),
        ],
    )
    lines = elsewhere.diff(old, new).split(b"\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(b"literal 256"))
    lines[at + 1] = lines[at + 1][:10] + lines[at + 1][11:]

    with pytest.raises(PatchError, match="corrupt binary patch") as caught:
        store.apply(base, b"\n".join(lines))

    assert caught.value.kind == "invalid"


@pytest.mark.parametrize("name", [b"a /b", b" /x", b"dir /sub /f", b"a /back\\slash"])
@pytest.mark.parametrize("kind", ["mode", "empty", "binary"])
def test_a_folder_whose_name_ends_in_a_space_is_no_trouble(store: TreeStore, name: bytes, kind: str) -> None:
    old = store.add([Entry(name, 0o100644, b"\0x")] if kind != "empty" else [])
    now = {"mode": (0o100755, b"\0x"), "empty": (0o100644, b""), "binary": (0o100644, b"\0y")}[kind]
    new = store.put(old, [Entry(name, *now)])

    change = Change.read(store.diff(old, new))

    assert change.touched == (name,)
    assert store.apply(old, change.patch) == new
    assert store.apply(new, change.patch, reverse=True) == old


def test_lines_of_a_file_that_look_like_a_header_are_left_alone() -> None:
    patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-diff --git a/q /q b/q /q\n+y\n"

    assert quoted(patch) == patch


@pytest.mark.parametrize(
    ("mode", "sides"),
    [
        ("", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"),
        ("", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n"),
        ("new file mode 100644\n", "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+1\n"),
    ],
)
def test_dev_null_is_never_taken_for_a_file(store: TreeStore, mode: str, sides: str) -> None:
    base = store.add([Entry(b"x", 0o100644, b"1\n")])

    with pytest.raises(PatchError, match="/dev/null stands there without the line") as caught:
        store.apply(base, f"diff --git a/x b/x\n{mode}{sides}".encode())

    assert (caught.value.kind, caught.value.file) == ("invalid", "x")


def test_a_patch_whose_two_sides_differ_touches_both(store: TreeStore) -> None:
    base = store.add([Entry(b"x", 0o100644, b"1\n")])
    patch = b"diff --git a/x /x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n"

    tree = store.apply(base, patch)

    assert set(store.nodes(tree)) == {b"y"}
    assert Change.read(patch).touched == (b"x", b"y")


def test_a_refusal_names_a_file_with_a_line_break(store: TreeStore) -> None:
    base = store.add([Entry(b"new\nline", 0o100644, b"1\n")])
    other = store.put(base, [Entry(b"new\nline", 0o100644, b"2\n")])
    patch = store.diff(other, store.put(base, [Entry(b"new\nline", 0o100644, b"3\n")]))

    with pytest.raises(PatchError) as caught:
        store.apply(base, patch)

    assert (caught.value.kind, caught.value.file, caught.value.hunk) == ("does_not_apply", "new\nline", 1)
