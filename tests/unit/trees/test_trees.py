"""Trees keep every byte; diff, apply and delta agree with each other whatever the files are."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.worktree.loose import Elsewhere, Loose
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import EMPTY_TREE, BadName, TreeStore
from sandboxes.spec import Entry

ODD = [
    Entry(b"caf\xc3\xa9 \xff\n\"q\"\t\\.txt", 0o100644, b"odd\n"),
    Entry(b"bin", 0o100755, bytes(range(256)) * 40),
    Entry(b"crlf.txt", 0o100644, b"a\r\nb\r\n"),
    Entry(b"dir b/x", 0o100644, b"no newline"),
    Entry(b"empty", 0o100644, b""),
    Entry(b"link", 0o120000, b"../nowhere \xff"),
    Entry(b"latin1", 0o100644, b"\xe9t\xe9\n"),
]  # fmt: skip


def test_what_goes_in_comes_out_byte_for_byte(store: TreeStore) -> None:
    tree = store.add([*ODD, Entry(b"hollow", 0o040000)])

    assert sorted(store.entries(tree), key=lambda e: e.path) == sorted(ODD, key=lambda e: e.path)
    assert store.blob(tree, b"empty") == b""
    assert store.blob(tree, b"hollow") is None


def test_the_same_files_have_the_same_id_in_any_store_and_order(tmp_path: Path) -> None:
    one, two = TreeStore(tmp_path / "one"), TreeStore(tmp_path / "two")

    assert one.add(ODD) == two.add(reversed(ODD))
    assert one.add([]) == EMPTY_TREE


def test_the_machines_git_settings_change_nothing(
    store: TreeStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text(
        "[core]\n autocrlf = true\n[diff]\n noprefix = true\n external = false\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".gitconfig"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    monkeypatch.setenv("GIT_WORK_TREE", "/nonexistent")

    attributes = Entry(b".gitattributes", 0o100644, b"* text=auto eol=lf\n*.txt -diff\n")
    base = store.add([attributes])
    tree = store.put(base, ODD)

    assert store.apply(base, store.diff(base, tree)) == tree


@pytest.mark.parametrize("path", [b"/abs", b"../x", b"a/.git/config", b".GIT/x", b"a//b", b"", b"."])
def test_a_name_that_no_tree_can_hold_is_refused(store: TreeStore, path: bytes) -> None:
    with pytest.raises(BadName):
        store.add([Entry(path, 0o100644, b"x")])


def test_paths_are_put_back_taken_away_and_added_as_in_the_base(store: TreeStore) -> None:
    base = store.add([Entry(b"conftest.py", 0o100644, b"ours\n"), Entry(b"t/test_a.py", 0o100644, b"ours\n"),
                      Entry(b"src.py", 0o100644, b"1\n")])  # fmt: skip
    theirs = store.add(
        [
            Entry(b"conftest.py/x", 0o100644, b"theirs\n"),
            Entry(b"t", 0o120000, b"/tmp"),
            Entry(b"src.py", 0o100644, b"2\n"),
            Entry(b"sub/conftest.py", 0o100644, b"theirs\n"),
        ]
    )

    tree = store.overlay(theirs, base, lambda path: b"conftest.py" in path or path.startswith(b"t"))

    assert {e.path: e.data for e in store.entries(tree)} == {
        b"conftest.py": b"ours\n",
        b"t/test_a.py": b"ours\n",
        b"src.py": b"2\n",
    }


def test_a_folder_that_is_gone_is_named_once_in_a_delta(store: TreeStore) -> None:
    old = store.add([Entry(b"d/e/x", 0o100644, b"x"), Entry(b"d/e/y", 0o100644, b"y"), Entry(b"f", 0o100644)])
    new = store.add([Entry(b"f/g", 0o100644, b"g")])

    entries, removed = store.delta(old, new)

    assert entries == [Entry(b"f/g", 0o100644, b"g")]
    assert removed == [b"d", b"f"]


def test_a_report_of_changes_finds_renames_and_modes(store: TreeStore) -> None:
    body = b"".join(b"line %d\n" % n for n in range(30))
    old = store.add([Entry(b"a.py", 0o100644, body), Entry(b"run", 0o100644, b"x"), Entry(b"old", 0o100644)])
    new = store.add([Entry(b"b.py", 0o100644, body + b"more\n"), Entry(b"run", 0o100755, b"x")])

    found = {c.path: c for c in store.changes(old, new)}

    assert {path: c.status for path, c in found.items()} == {
        "b.py": "renamed",
        "old": "deleted",
        "run": "mode",
    }
    assert (found["b.py"].old_path, found["b.py"].before, found["b.py"].after) == (
        "a.py",
        body,
        body + b"more\n",
    )


def test_many_threads_share_one_store(store: TreeStore) -> None:
    base = store.add([Entry(b"x", 0o100644, b"0\n")])
    ids: dict[int, str] = {}

    def work(n: int) -> None:
        new = store.put(base, [Entry(b"x", 0o100644, b"%d\n" % n)])
        ids[n] = store.apply(base, store.diff(base, new))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {n: store.blob(tree, b"x") for n, tree in ids.items()} == {n: b"%d\n" % n for n in range(1, 9)}
    assert not list((store.folder / "refs" / "heads").iterdir())


names = st.lists(
    st.sampled_from([b"a", b"b", b"c d", b"\xc3\xa9", b"\xff", b'"', b"-", b"x\ny"]), min_size=1, max_size=3
)
contents = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from([b"one", b"two", b"-- x", b"+++ y", b"@@ -1 +1 @@", b"", b"\r"]), max_size=14
    ).map(b"\n".join),
)


@st.composite
def files(draw: st.DrawFn) -> list[Entry]:
    """A set of entries in which no file is also a folder."""
    found: dict[bytes, Entry] = {}
    for parts in draw(st.lists(names, max_size=6)):
        path = b"/".join(parts)
        if any(p == path or p.startswith(path + b"/") or path.startswith(p + b"/") for p in found):
            continue
        mode = draw(st.sampled_from([0o100644, 0o100755, 0o120000]))
        data = draw(contents)
        found[path] = Entry(path, mode, data if mode != 0o120000 else data.replace(b"\0", b"") or b"t")
    return list(found.values())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> TreeStore:
    return TreeStore(tmp_path_factory.mktemp("shared") / "trees")


def _apply_delta(entries: list[Entry], changed: list[Entry], removed: list[bytes]) -> dict[bytes, Entry]:
    room = {e.path: e for e in entries}
    for path in removed:
        room = {p: e for p, e in room.items() if p != path and not p.startswith(path + b"/")}
    for entry in changed:
        assert not any(p.startswith(entry.path + b"/") or entry.path.startswith(p + b"/") for p in room)
        room[entry.path] = entry
    return room


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), files())
def test_diff_then_apply_and_delta_give_the_other_tree(
    shared: TreeStore, before: list[Entry], after: list[Entry]
) -> None:
    old, new = shared.add(before), shared.add(after)

    patch = shared.diff(old, new)
    room = _apply_delta(before, *shared.delta(old, new))

    assert room == {e.path: e for e in after}
    if old == new:
        assert patch == b""
    else:
        assert shared.apply(old, patch) == new
        assert shared.apply(new, patch, reverse=True) == old


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(files(), files(), st.data())
def test_a_damaged_patch_applies_whole_or_not_at_all(
    shared: TreeStore, before: list[Entry], after: list[Entry], data: st.DataObject
) -> None:
    old, new = shared.add(before), shared.add(after)
    lines = shared.diff(old, new).split(b"\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at : at + 1] = data.draw(st.sampled_from([[], [lines[at], lines[at]], [lines[at] + b"x"], [b" "]]))

    try:
        tree = shared.apply(old, b"\n".join(lines))
    except PatchError as error:
        assert error.kind in ("empty", "invalid", "refused", "does_not_apply")
    else:
        assert sum(1 for _ in shared.entries(tree)) == len(shared.nodes(tree))
    assert shared.add(before) == old


@given(files(), files())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_without_git_is_what_git_says(
    store: TreeStore, old: list[Entry], new: list[Entry]
) -> None:
    before, after = store.add(old), store.add(new)
    sides = (None if tree == EMPTY_TREE else tree for tree in (before, after))

    read = list(Loose(store.folder).differences(*sides))
    told = store.repository.run(
        ["diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", before, after]
    ).stdout

    facts = [field.split(b" ")[:2] for field in told.split(b"\0")[:-1:2]]
    modes = [[b":%06o" % (a[0] if a else 0), b"%06o" % (b[0] if b else 0)] for _, a, b in read]
    assert ([path for path, _, _ in read], modes) == (told.split(b"\0")[1::2], facts)


def test_what_is_packed_is_left_to_git(store: TreeStore) -> None:
    many = store.add(Entry(b"f%d" % n, 0o100644, b"%d\n" % n) for n in range(300))
    more = store.put(many, [Entry(b"f7", 0o100644, b"seven\n")])

    with pytest.raises(Elsewhere):
        list(Loose(store.folder).differences(many, more))
    assert [d.path for d in store.differences(many, more)] == [b"f7"]
    assert len(list(store.blobs(node.id for node in store.nodes(more).values()))) == 300
