"""What every provider promises, the fake included: files, ends, evictions, refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandboxes.errors import Evicted, LimitUnenforceable
from sandboxes.protocol import Provider
from sandboxes.spec import Command, Entry, Image, Layer, Network, RoomSpec

from .conftest import file, layer, room_spec

LINK, FOLDER = 0o120000, 0o040000


def test_a_provider_says_what_it_can_do(provider: Provider) -> None:
    seen = provider.capabilities()

    assert seen.available and seen.provider == provider.name and seen.problem == ""


def test_preparing_twice_gives_the_same_digest(provider: Provider) -> None:
    assert provider.prepare(Image()) == provider.prepare(Image()) != ""


def test_a_layer_is_written_once_and_then_known_by_its_digest(provider: Provider) -> None:
    asked = []
    digest = f"once-{provider.name}"  # providers of one machine share what they hold
    counted = Layer(digest, "/workspace", lambda: asked.append(1) or [file("a", b"1")], True)

    provider.prepare(Image(), (counted,))
    provider.prepare(Image(), (counted,))
    with provider.provision(room_spec(counted)) as room:
        found = room.read("/workspace/a", 10)

    assert (asked, found) == ([1], b"1")


def test_a_command_ends_with_its_exit_code(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        good, bad = room.run(Command("true")), room.run(Command("exit 3"))

    assert good.ok and good.exit_code == 0 and good.limit is None
    assert (bad.end, bad.exit_code, bad.signal, bad.ok) == ("exited", 3, None, False)


def test_output_is_returned_whole_and_shown_as_it_comes(provider: Provider) -> None:
    heard: list[tuple[str, bytes]] = []

    with provider.provision(room_spec()) as room:
        done = room.run(Command("echo hello"), lambda stream, data: heard.append((stream, data)))

    assert done.stdout.data == b"hello\n" and not done.stdout.truncated
    assert b"".join(data for stream, data in heard if stream == "stdout") == b"hello\n"


def test_files_written_are_read_back(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        room.write([file("a/b.txt", b"x\0y"), file("run", b"#!", 0o100755)], "/workspace", owner="candidate")

        assert room.read("/workspace/a/b.txt", 100) == b"x\0y"
        assert room.read("/workspace/run", 2) == b"#!"


def test_reading_what_is_no_regular_file_gives_none(provider: Provider) -> None:
    entries = [file("a/f", b"1"), file("link", b"a/f", LINK), file("dirlink", b"a", LINK)]

    with provider.provision(room_spec()) as room:
        room.write(entries, "/workspace", owner="candidate")

        for path in (
            "/workspace/none",
            "/workspace/a",
            "/workspace/link",
            "/workspace/dirlink/f",
            "/nowhere/x",
        ):
            assert room.read(path, 10) is None, path


def test_reading_a_file_beyond_the_limit_says_so(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        room.write([file("f", b"12345")], "/workspace", owner="candidate")

        with pytest.raises(ValueError):
            room.read("/workspace/f", 4)


def test_writing_replaces_whatever_stands_in_the_way(provider: Provider) -> None:
    before = [file("was_file", b"1"), file("was_folder/x", b"1"), file("was_link", b"/etc", LINK)]
    after = [file("was_file/y", b"2"), file("was_folder", b"2"), file("was_link/passwd", b"2")]

    with provider.provision(room_spec()) as room:
        room.write(before, "/workspace", owner="candidate")
        room.write(after, "/workspace", owner="candidate")
        found = list(room.export("/workspace"))

    assert [(e.path, e.data) for e in found] == [
        (b"was_file/y", b"2"),
        (b"was_folder", b"2"),
        (b"was_link/passwd", b"2"),
    ]


def test_removing_takes_files_links_and_whole_folders(provider: Provider) -> None:
    entries = [file("a/b/c", b"1"), file("f", b"1"), file("l", b"f", LINK), file("kept", b"1")]

    with provider.provision(room_spec()) as room:
        room.write(entries, "/workspace", owner="candidate")
        room.remove([b"a", b"f", b"l", b"never/was"], "/workspace")

        assert [e.path for e in room.export("/workspace")] == [b"kept"]


def test_export_gives_every_kind_in_byte_order(provider: Provider) -> None:
    entries = [
        file("a/x", b"1"),
        file("a-b", b"2", 0o100755),
        file("a.c", b"target", LINK),
        Entry(b"empty", FOLDER),
        file(b"\xff\n odd", b""),
    ]

    with provider.provision(room_spec(layer("kinds", "/workspace", *entries, writable=True))) as room:
        found = list(room.export("/workspace"))

    assert found == sorted(entries, key=lambda entry: entry.path)


def test_changes_stay_in_their_room_and_never_reach_the_layer(provider: Provider) -> None:
    shared = layer("shared", "/workspace", file("a", b"old"), writable=True)

    with provider.provision(room_spec(shared)) as first:
        first.write([file("a", b"new"), file("b", b"new")], "/workspace", owner="candidate")
        first.remove([b"a"], "/workspace")
    with provider.provision(room_spec(shared)) as second:
        assert [(e.path, e.data) for e in second.export("/workspace")] == [(b"a", b"old")]


def test_exporting_a_place_that_is_not_there_gives_nothing(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        assert list(room.export("/workspace/none")) == []


@pytest.mark.parametrize("path", [b"/etc/x", b"../x", b"a/../../x", b"", b"a//b", b"./a", b"a\0b"])
def test_a_path_that_could_lead_out_is_refused(provider: Provider, path: bytes) -> None:
    with provider.provision(room_spec()) as room, pytest.raises(ValueError):
        room.write([Entry(path, 0o100644, b"x")], "/workspace", owner="candidate")


_NAMES = st.binary(min_size=1, max_size=6).filter(lambda n: not {0, 47} & set(n) and n not in (b".", b".."))
_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map(b"/".join)
_MODES = st.sampled_from([0o100644, 0o100755, LINK])


def _is_tree(paths: set[bytes]) -> bool:
    return not any(other.startswith(path + b"/") for path in paths for other in paths)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(_PATHS, st.tuples(_MODES, st.binary(min_size=1, max_size=30)), max_size=8))
def test_whatever_is_written_comes_out_again(provider: Provider, tree: dict[bytes, Any]) -> None:
    if not _is_tree(set(tree)):
        return
    entries = [
        Entry(path, mode, data.replace(b"\0", b"0") if mode == LINK else data)
        for path, (mode, data) in sorted(tree.items())
    ]

    with provider.provision(room_spec()) as room:
        room.write(entries, "/workspace", owner="candidate")

        assert list(room.export("/workspace")) == entries


def test_an_evicted_room_refuses_everything_after(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        room.evict()

        with pytest.raises(Evicted):
            room.run(Command("true"))


def test_evicting_everyone_refuses_new_rooms(provider: Provider, fresh: Callable[..., Provider]) -> None:
    other = fresh(provider.name)
    with other.provision(room_spec()) as room:
        other.evict_all()
        with pytest.raises(Evicted):
            room.run(Command("true"))

    with pytest.raises(Evicted), other.provision(room_spec()):
        pass


def test_rooms_of_many_threads_do_not_disturb_each_other(provider: Provider) -> None:
    found: dict[int, bytes | None] = {}

    def use(number: int) -> None:
        with provider.provision(room_spec()) as room:
            room.write([file("mine", b"%d" % number)], "/workspace", owner="candidate")
            assert room.run(Command("true")).ok
            found[number] = room.read("/workspace/mine", 10)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {number: b"%d" % number for number in range(8)}


def test_reaping_leaves_living_rooms_alone(provider: Provider) -> None:
    with provider.provision(room_spec()) as room:
        provider.reap()

        assert room.run(Command("true")).ok


def test_a_room_ends_with_its_context_even_when_that_fails(provider: Provider) -> None:
    with pytest.raises(RuntimeError, match="ours"), provider.provision(RoomSpec()):
        raise RuntimeError("ours")


def test_an_open_network_is_refused_before_anything_starts(engine: Provider) -> None:
    with (
        pytest.raises(LimitUnenforceable),
        engine.provision(room_spec(network=Network(("packages.example",)))),
    ):
        pass
