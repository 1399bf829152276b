"""A store that lost something blames nobody: it is put aside and made anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.worktree import gitproc, patches, wholeness
from orchestrator.worktree.gitproc import TreeError
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import FILE, TreeStore, blob_id
from orchestrator.worktree.wholeness import StoreDamaged
from sandboxes.errors import SandboxError
from sandboxes.spec import Entry

WRONG, RIGHT = b"wrong\n", b"right\n"
FIX = b"--- a/answer.txt\n+++ b/answer.txt\n@@ -1 +1 @@\n-wrong\n+right\n"
MISFIT = FIX.replace(b"-wrong", b"-other")

Damage = Callable[[Path], None]


def _loose(folder: Path, name: str) -> Path:
    return folder / "objects" / name[:2] / name[2:]


def _emptied(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(b"")


def _garbled(path: Path) -> None:
    path.chmod(0o600)
    path.write_bytes(bytes(path.stat().st_size))


def _all_objects(folder: Path) -> None:
    _each(_emptied, folder, "objects/??/*")


def _each(do: Damage, folder: Path, pattern: str) -> None:
    for path in folder.glob(pattern):
        do(path)


DAMAGES: dict[str, Damage] = {
    "every object is empty": _all_objects,
    "the file is empty": lambda folder: _emptied(_loose(folder, blob_id(WRONG))),
    "the file is garbage": lambda folder: _garbled(_loose(folder, blob_id(WRONG))),
    "the file is gone": lambda folder: _loose(folder, blob_id(WRONG)).unlink(),
    "no objects": lambda folder: _each(shutil.rmtree, folder, "objects/??"),
    "no folder of objects": lambda folder: shutil.rmtree(folder / "objects"),
    "HEAD is empty": lambda folder: _emptied(folder / "HEAD"),
    "the config is gone": lambda folder: (folder / "config").unlink(),
    "the kept indexes are empty": lambda folder: _each(_emptied, folder, "indexes/*"),
}


@pytest.fixture
def tree(store: TreeStore) -> str:
    tree = store.add([Entry(b"answer.txt", FILE, WRONG)])
    with store.repository.index(tree):
        return tree


@pytest.mark.parametrize("patch", [FIX, MISFIT], ids=["fits", "does not fit"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_no_patch_is_blamed_for_a_damaged_store(
    store: TreeStore, tree: str, damage: Damage, patch: bytes
) -> None:
    damage(store.folder)

    with pytest.raises(StoreDamaged, match=f"the store {store.folder} (is damaged|was made anew)"):
        store.apply(tree, patch)

    assert StoreDamaged.retryable and store.folder.with_name("trees-damaged").is_dir()
    assert not store.repository.same


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_the_next_who_fills_the_store_finds_it_whole(store: TreeStore, tree: str, damage: Damage) -> None:
    damage(store.folder)
    with pytest.raises(StoreDamaged):
        store.apply(tree, FIX)

    fresh = TreeStore(store.folder)
    again = fresh.apply(fresh.add([Entry(b"answer.txt", FILE, WRONG)]), FIX)

    assert fresh.file(again, b"answer.txt") == RIGHT and fresh.repository.same


def test_reading_a_file_that_is_damaged_puts_the_store_aside(store: TreeStore, tree: str) -> None:
    _emptied(_loose(store.folder, blob_id(WRONG)))

    with pytest.raises(StoreDamaged, match="put aside as trees-damaged"):
        store.file(tree, b"answer.txt")


def test_a_packed_file_that_is_cut_is_damage_too(store: TreeStore) -> None:
    data = {b"f%d" % n: b"%d\n" % n * 5000 for n in range(150)}  # so many are kept in a pack
    tree = store.add(Entry(name, FILE, text) for name, text in data.items())
    (pack,) = (store.folder / "objects" / "pack").glob("*.pack")
    _garbled(pack)

    with pytest.raises(StoreDamaged):
        list(store.entries(tree))


def test_whoever_used_the_store_before_does_not_put_the_new_one_aside(store: TreeStore, tree: str) -> None:
    late = TreeStore(store.folder)
    _all_objects(store.folder)
    with pytest.raises(StoreDamaged, match="is damaged"):
        store.apply(tree, FIX)
    fresh = TreeStore(store.folder)
    other = fresh.add([Entry(b"other.txt", FILE, RIGHT)])

    with pytest.raises(StoreDamaged, match="was made anew while it was in use"):
        late.apply(tree, FIX)

    assert TreeStore(store.folder).file(other, b"other.txt") == RIGHT


def test_only_the_last_damaged_store_is_kept(store: TreeStore) -> None:
    for text in (b"one", b"two"):
        fresh = TreeStore(store.folder)
        tree = fresh.add([Entry(b"answer.txt", FILE, text)])
        _all_objects(store.folder)
        with pytest.raises(StoreDamaged):
            fresh.file(tree, b"answer.txt")

    names = sorted(path.name for path in store.folder.parent.iterdir())
    assert names == ["trees-damaged"]
    assert _loose(store.folder.parent / "trees-damaged", blob_id(b"two")).exists()


def test_words_that_git_has_for_no_patch_are_no_verdict(store: TreeStore, tree: str) -> None:
    parsed = patches.read(FIX)

    assert patches.judged(b"fatal: something new", parsed, False) is None
    assert patches.judged(b"", parsed, False) is None
    assert isinstance(store.repository.failure(["apply"], 128, b"fatal: something new"), TreeError)
    assert store.repository.same


def test_a_git_that_was_killed_says_nothing_about_the_patch(store: TreeStore, tree: str) -> None:
    trouble = store.repository.failure(["apply"], -9, b"")

    assert isinstance(trouble, SandboxError) and trouble.retryable and store.repository.same


@pytest.mark.parametrize(
    "name",
    [
        b"object file x is empty",
        b"fatal: not a git repository",
        b"x\nfatal: loose object is empty",
        b"a: b",
    ],
)
def test_a_name_with_the_words_of_damage_is_judged_as_any_other(
    store: TreeStore, tree: str, name: bytes
) -> None:
    quoted = name.replace(b"\n", b"\\n")
    patch = b'--- "a/%s"\n+++ "b/%s"\n@@ -1 +1 @@\n-wrong\n+right\n' % (quoted, quoted)

    with pytest.raises(PatchError) as told:
        store.apply(tree, patch)

    assert told.value.kind == "does_not_apply" and store.repository.same


def test_content_that_git_would_not_take_from_strangers_is_no_damage(store: TreeStore) -> None:
    strange = b'[submodule "../../x\nerror: y"]\n\turl = --upload-pack=evil\n\tpath = -x\n'
    tree = store.add([Entry(b".gitmodules", FILE, strange), Entry(b"sub/.gitmodules", FILE, b"[[[")])

    trouble = store.repository.failure(["ls-tree", tree], 128, b"fatal: something new", wanted=[tree])

    assert isinstance(trouble, TreeError) and store.repository.same


def test_what_is_left_of_a_half_removed_home_is_no_store(tmp_path: Path) -> None:
    stump = tmp_path / "trees"
    (stump / "objects" / "ab").mkdir(parents=True)

    store = TreeStore(stump)
    tree = store.add([Entry(b"answer.txt", FILE, WRONG)])

    assert store.file(tree, b"answer.txt") == WRONG
    assert (tmp_path / "trees-damaged" / "objects" / "ab").is_dir()


def test_a_home_that_takes_no_store_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Path, target: Path) -> Path:
        raise PermissionError(1, "Operation not permitted", str(target))

    monkeypatch.setattr(Path, "rename", refused)

    with pytest.raises(StoreDamaged, match=rf"cannot be made: .*; mend or remove {tmp_path}"):
        TreeStore(tmp_path / "trees").add([Entry(b"answer.txt", FILE, WRONG)])

    assert not list(tmp_path.iterdir())


def test_a_check_that_takes_too_long_vouches_for_nothing(store: TreeStore, tree: str) -> None:
    assert wholeness.holds([tree], gitproc.git_env(store.folder), gitproc.TIMEOUT)
    assert not wholeness.holds([tree], gitproc.git_env(store.folder), 0.0)
