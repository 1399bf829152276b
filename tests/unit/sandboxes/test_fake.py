"""The fake keeps the promises that tests of everything above rely on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sandboxes.errors import EngineGone, Evicted, LimitUnenforceable, SandboxLost
from sandboxes.fake import FakeProvider, FakeRoom, done, ended
from sandboxes.protocol import Done
from sandboxes.spec import Command, Entry, Image, Layer, Limits, RoomSpec


def layer(digest: str, *entries: Entry, target: str = "/workspace", writable: bool = True) -> Layer:
    return Layer(digest, target, lambda: entries, writable)


SOURCE = layer("s", Entry(b"a.py", 0o100644, b"x = 1\n"), Entry(b"pkg/b.py", 0o100644, b""))


@pytest.fixture
def room() -> Iterator[FakeRoom]:
    judge = layer("j", Entry(b"tool", 0o100755, b"t"), target="/opt/judge", writable=False)
    with FakeProvider().provision(RoomSpec(layers=(SOURCE, judge))) as made:
        yield made


@pytest.mark.parametrize(
    ("line", "code", "out"),
    [
        ("true", 0, b""),
        ("exit 3; echo never", 3, b""),
        ("false || echo yes", 0, b"yes\n"),
        ("false && echo no", 1, b""),
        ("cat a.py", 0, b"x = 1\n"),
        ("cat nowhere", 1, b""),
        ("echo hi > q; cat q", 0, b"hi\n"),
        ("echo x > /opt/judge/tool", 2, b""),
        ("grep -q 'x = 1' a.py && echo found", 0, b"found\n"),
        ("test -f a.py && test ! -f gone", 0, b""),
        ("rm a.py; test -f a.py", 1, b""),
        ("nosuch", 127, b""),
    ],
)
def test_the_few_words_of_its_shell_do_what_a_shell_does(
    room: FakeRoom, line: str, code: int, out: bytes
) -> None:
    seen = room.run(Command(line))

    assert (seen.end, seen.exit_code, seen.stdout.data) == ("exited", code, out)


def test_other_ends_are_told_apart(room: FakeRoom) -> None:
    assert room.run(Command("kill -9 $$")).signal == 9
    assert room.run(Command(("nosuch",))).end == "missing_binary"
    assert room.run(Command("sleep 9", timeout=0.01)).end == "limit_hit:time"


def test_files_written_by_one_command_are_there_for_the_next(room: FakeRoom) -> None:
    room.run(Command("echo 1 > made"))

    assert room.read("/workspace/made", 10) == b"1\n"
    assert [entry.path for entry in room.export("/workspace")] == [b"a.py", b"made", b"pkg/b.py"]


def test_writing_replaces_what_is_there_whatever_its_kind(room: FakeRoom) -> None:
    room.write([Entry(b"pkg", 0o100644, b"file now")], "/workspace", owner="root")
    room.write([Entry(b"a.py/deep", 0o100644, b"folder now")], "/workspace", owner="candidate")

    assert [entry.path for entry in room.export("/workspace")] == [b"a.py/deep", b"pkg"]
    assert room.run(Command("echo x > pkg")).exit_code == 2


def test_links_are_kept_and_not_followed(room: FakeRoom) -> None:
    room.write([Entry(b"way", 0o120000, b"a.py")], "/workspace", owner="candidate")

    assert room.read("/workspace/way", 10) is None
    room.remove([b"way", b"never there"], "/workspace")
    assert room.read("/workspace/a.py", 10) == b"x = 1\n"


def test_rooms_of_one_layer_do_not_see_each_others_changes() -> None:
    fake = FakeProvider()

    for _ in range(2):
        with fake.provision(RoomSpec(layers=(SOURCE,))) as room:
            assert room.run(Command("cat a.py; rm a.py")).stdout.data == b"x = 1\n"


def test_a_layer_that_is_held_is_not_asked_for_again() -> None:
    asked = []
    lazy = Layer("d", "/workspace", lambda: asked.append(1) or (), writable=True)
    fake = FakeProvider()

    fake.prepare(Image(), (lazy,))
    with fake.provision(RoomSpec(layers=(lazy,))):
        pass

    assert asked == [1]


def test_a_script_answers_and_may_leave_the_rest_to_the_shell() -> None:
    def script(room: FakeRoom, command: Command) -> Done | BaseException | None:
        answers = {"pytest": done(1, "1 failed"), "slow": ended("limit_hit:time"), "gone": SandboxLost("x")}
        return answers.get(str(command.argv))

    heard: list[bytes] = []
    with FakeProvider(script=script).provision(RoomSpec()) as room:
        assert room.run(Command("pytest"), lambda stream, data: heard.append(data)).exit_code == 1
        assert room.run(Command("slow")).limit == "time"
        assert room.run(Command("true")).ok
        with pytest.raises(SandboxLost):
            room.run(Command("gone"))

    assert heard == [b"1 failed"]


def test_faults_come_at_the_call_they_are_set_for() -> None:
    fake = FakeProvider(faults={"provision:2": EngineGone("down"), "export": SandboxLost("lost")})

    with fake.provision(RoomSpec()) as room, pytest.raises(SandboxLost):
        room.export("/workspace")
    with pytest.raises(EngineGone), fake.provision(RoomSpec()):
        pass

    assert (fake.open_rooms, fake.most_open) == (0, 1)


def test_an_eviction_wakes_the_command_and_refuses_later_ones() -> None:
    fake = FakeProvider()
    ends: list[str] = []

    with fake.provision(RoomSpec()) as room:

        def wait() -> None:
            try:
                room.run(Command("sleep infinity"))
            except Evicted:
                ends.append("evicted")

        thread = threading.Thread(target=wait)
        thread.start()
        fake.evict_all()
        thread.join(5)

        with pytest.raises(Evicted):
            room.run(Command("true"))
    with pytest.raises(Evicted), fake.provision(RoomSpec()):
        pass
    assert ends == ["evicted"]


def test_a_limit_it_is_told_not_to_enforce_stops_the_start_when_asked_for() -> None:
    asked = RoomSpec(limits=Limits(asked=frozenset({"disk"})))

    with pytest.raises(LimitUnenforceable), FakeProvider(unenforced=("disk",)).provision(asked):
        pass
    with FakeProvider(unenforced=("disk",), allow_unlimited=True).provision(asked) as room:
        assert room.unenforced == ("disk",)


def test_output_beyond_the_limit_keeps_head_and_tail() -> None:
    with FakeProvider().provision(RoomSpec(limits=Limits(output=4))) as room:
        out = room.run(Command("echo 1234567")).stdout

    assert (out.head, out.tail, out.total, out.truncated) == (b"12", b"7\n", 8, True)
