"""What an agent leaves is captured whole, and only what it meant to leave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from orchestrator.worktree import change as change_module
from orchestrator.worktree.change import Change
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import TreeStore
from sandboxes.fake import FakeProvider
from sandboxes.protocol import Sandbox
from sandboxes.spec import Entry, Layer, RoomSpec

BASE = [
    Entry(b".gitignore", 0o100644, b"build/\n*.log\n!keep.log\n"),
    Entry(b"gone.bin", 0o100644, b"\0\1\2"),
    Entry(b"kept.log", 0o100644, b"tracked although ignored\n"),
    Entry(b"pkg/__pycache__/old.pyc", 0o100644, b"tracked\n"),
    Entry(b"src/m.py", 0o100644, b"a\r\nb\r\n"),
]


def _capture(store: TreeStore, written: list[Entry], removed: list[bytes] = []) -> tuple[str, Change]:  # noqa: B006
    base = store.add(BASE)
    layer = Layer(base, "/workspace", lambda: store.entries(base), writable=True)
    with FakeProvider().provision(RoomSpec(layers=(layer,))) as room:
        room.remove(removed, "/workspace")
        room.write(written, "/workspace", owner="candidate")
        return base, Change.capture(store, base, room, "/workspace")


def test_everything_an_agent_can_do_to_a_file_survives(store: TreeStore) -> None:
    written = [
        Entry(b"src/m.py", 0o100755, b"a\r\nc\r\n"),
        Entry(b"new/\xff \n\"x\"", 0o100644, b"odd name\n"),
        Entry(b"image.png", 0o100644, bytes(range(256))),
        Entry(b"empty", 0o100644, b""),
        Entry(b"link", 0o120000, b"/etc/passwd"),
        Entry(b"kept.log", 0o100644, b"changed\n"),
    ]  # fmt: skip

    base, change = _capture(store, written, [b"gone.bin"])

    tree = store.apply(base, change.patch)
    now = {e.path: e for e in store.entries(tree)}
    assert {e.path: now[e.path] for e in written} == {e.path: e for e in written}
    assert b"gone.bin" not in now
    assert change.touched == tuple(sorted([*(e.path for e in written), b"gone.bin"]))
    assert not change.empty


def test_ignored_files_tool_litter_and_git_folders_stay_out(store: TreeStore) -> None:
    written = [
        Entry(b"build/out.o", 0o100644, b"x"),
        Entry(b"debug.log", 0o100644, b"x"),
        Entry(b":(top)*.log", 0o100644, b"x"),
        Entry(b":(top)x[a]*", 0o100644, b"x"),
        Entry(b"keep.log", 0o100644, b"x"),
        Entry(b"src/.gitignore", 0o100644, b"secret\n"),
        Entry(b"src/secret", 0o100644, b"x"),
        Entry(b"src/__pycache__/m.pyc", 0o100644, b"stale"),
        Entry(b"lone.pyc", 0o100644, b"stale"),
        Entry(b".git/config", 0o100644, b"[core]\n fsmonitor = evil\n"),
        Entry(b"nested/.git/HEAD", 0o100644, b"x"),
        Entry(b"nested/file", 0o100644, b"x"),
    ]

    _, change = _capture(store, written)

    assert change.touched == (b":(top)x[a]*", b"keep.log", b"nested/file", b"src/.gitignore")


def test_an_untouched_room_is_an_empty_change(store: TreeStore) -> None:
    _, change = _capture(store, [Entry(b"x.log", 0o100644, b"only ignored\n")])

    assert change.empty
    assert change.patch == b""


def test_a_tracked_file_that_is_ignored_still_counts_when_it_goes(store: TreeStore) -> None:
    _, change = _capture(store, [], [b"kept.log", b"pkg"])

    assert change.touched == (b"kept.log", b"pkg/__pycache__/old.pyc")


@pytest.mark.parametrize("path", [b".GIT/hooks/x", b"a/git~1/x"])
def test_a_new_name_that_no_patch_may_touch_is_refused(store: TreeStore, path: bytes) -> None:
    with pytest.raises(PatchError) as caught:
        _capture(store, [Entry(path, 0o100644, b"x")])

    assert caught.value.kind == "refused"


def test_a_change_that_is_too_large_is_refused(store: TreeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_module, "CAPTURE_LIMIT", 100)

    with pytest.raises(PatchError, match="new content") as caught:
        _capture(store, [Entry(b"huge", 0o100644, b"x" * 101)])

    assert (caught.value.kind, caught.value.file) == ("refused", "huge")


def test_a_patch_from_a_file_keeps_its_bytes_and_its_mends() -> None:
    patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b"

    change = Change.read(patch)

    assert change.patch == patch + b"\n"
    assert (change.files, change.mended) == (("x",), ("added_final_newline",))
    assert Change.read(b" \n").empty


def test_what_no_room_can_give_out_is_the_changes_own_fault(store: TreeStore) -> None:
    """A sparse file of a terabyte must not end as a fault of ours, which would be no score."""

    class Room:
        def export(self, target: str) -> Iterator[Entry]:
            yield Entry(b"a", 0o100644, b"")
            raise ValueError("b'big' has 1099511627776 bytes; at most 268435456 can be taken out")

    with pytest.raises(PatchError, match="1099511627776 bytes") as refused:
        Change.capture(store, store.add(BASE), cast(Sandbox, Room()), "/workspace")

    assert refused.value.kind == "refused"
