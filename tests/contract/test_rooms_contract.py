"""What real rooms promise: every end, every limit, the walls, and that nothing stays behind."""

from __future__ import annotations

import socketserver
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandboxes.errors import Evicted, RoomFull
from sandboxes.protocol import Provider
from sandboxes.scratch import mounts_below
from sandboxes.spec import MIB, Command, Entry, Outside, Owner

from .conftest import SMALL, file, layer, room_spec

LINK = 0o120000


def say(provider: Provider, script: str, **changes: object) -> str:
    """What a shell script prints in a fresh room; it must exit 0."""
    with provider.provision(room_spec(**changes)) as room:
        done = room.run(Command(script))
    assert done.ok, (done.end, done.exit_code, done.stderr.text)
    return done.stdout.text


# How commands end


def test_a_kill_of_its_own_is_a_signal_and_no_limit(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command("kill -9 $$"))

    assert (done.end, done.exit_code, done.signal) == ("signalled", 137, 9) or engine.name == "docker"
    assert done.limit is None and done.exit_code == 137


def test_an_exit_code_above_128_stays_an_exit_code(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command("exit 124"))

    assert (done.end, done.exit_code) == ("exited", 124)


def test_a_shell_that_finds_nothing_exits_127_and_a_missing_binary_is_its_own_end(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        shell, bare = room.run(Command("no-such-thing")), room.run(Command(("no-such-thing",)))

    assert (shell.end, shell.exit_code) == ("exited", 127)
    assert (bare.end, bare.exit_code) == ("missing_binary", None)


def test_a_script_without_the_x_bit_is_the_commands_own_failure(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        room.write([file("s.sh", b"#!/bin/sh\n")], "/workspace", owner="candidate")

        assert room.run(Command("./s.sh")).exit_code == 126


def test_a_background_child_that_holds_the_output_does_not_hold_us(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        began = time.monotonic()
        done = room.run(Command("sleep 300 & echo done; setsid sleep 300 &"))
        took = time.monotonic() - began
        left = room.run(Command("ps ax | grep -c '[s]leep 300'"))

    assert done.ok and done.stdout.data == b"done\n" and took < 5
    assert left.stdout.data.strip() == b"0"


def test_the_time_limit_ends_every_process_even_those_that_ignore_signals(engine: Provider) -> None:
    script = "trap '' TERM INT HUP; (trap '' TERM; while :; do :; done) & while :; do :; done"

    with engine.provision(room_spec()) as room:
        began = time.monotonic()
        done = room.run(Command(script, timeout=1.0))
        took = time.monotonic() - began
        after = room.run(Command("ps ax | grep -c '[w]hile'"))

    assert (done.end, done.exit_code, done.limit) == ("limit_hit:time", None, "time")
    assert 1.0 <= took < 4.0 and after.stdout.data.strip() == b"0"


def test_files_outlive_a_command_that_ran_into_a_limit(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        room.run(Command("echo 1 > kept; sleep 60", timeout=0.5))

        assert room.run(Command("cat kept")).stdout.data == b"1\n"


def test_the_rooms_own_time_limit_is_the_nearer_one(engine: Provider) -> None:
    with engine.provision(room_spec(limits=replace(SMALL, time=0.5))) as room:
        assert room.run(Command("sleep 60", timeout=50)).end == "limit_hit:time"


def test_the_memory_limit_is_told_by_the_kernel(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command(("python3", "-c", "x = bytearray(400 << 20)")))
        calm = room.run(Command(("python3", "-c", "x = bytearray(40 << 20)")))

    assert done.end == "limit_hit:memory" and calm.ok


def test_a_child_killed_for_memory_counts_though_its_parent_shrugs(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command("python3 -c 'x = bytearray(400 << 20)'; exit 0"))

    assert done.end == "limit_hit:memory" and done.exit_code == 0


def test_a_fork_bomb_hits_the_process_limit_and_nobody_else(engine: Provider) -> None:
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        os._exit(1)"

    with engine.provision(room_spec()) as bombed, engine.provision(room_spec()) as neighbour:
        done = bombed.run(Command(("python3", "-c", bomb), timeout=5))

        assert done.end == "limit_hit:pids"
        assert neighbour.run(Command("echo fine")).stdout.data == b"fine\n"


def test_orphans_are_reaped_so_that_the_process_limit_is_not_eaten_up(engine: Provider) -> None:
    script = "i=0; while [ $i -lt 300 ]; do (true &); i=$((i+1)); done; echo ok"

    assert say(engine, script) == "ok\n"


def test_a_full_disk_is_the_rooms_own_limit(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        if "disk" in room.unenforced:
            pytest.skip("this machine cannot enforce the disk limit")
        done = room.run(Command("head -c 100000000 /dev/zero > big"))
        elsewhere = [room.run(Command(f"rm -f big; echo 1 > {place}/x")).ok for place in ("/tmp", "~", ".")]

    assert done.end == "limit_hit:disk" and all(elsewhere)


@pytest.mark.parametrize("count", [1, 40_000], ids=["bytes", "inodes"])
def test_what_does_not_fit_is_told_from_trouble_of_the_machine(engine: Provider, count: int) -> None:
    entries = (Entry(b"many/%d" % n, 0o100644, b"x" * (100_000_000 // count)) for n in range(count))
    with engine.provision(room_spec()) as room:
        if "disk" in room.unenforced:
            pytest.skip("this machine cannot enforce the disk limit")
        with pytest.raises(RoomFull):
            room.write(entries, "/workspace", owner="candidate")


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/home/candidate", "/workspace"])
def test_no_writable_place_escapes_the_disk_limit(engine: Provider, place: str) -> None:
    with engine.provision(room_spec()) as room:
        if "disk" in room.unenforced:
            pytest.skip("this machine cannot enforce the disk limit")
        assert room.run(Command(f"head -c 100000000 /dev/zero > {place}/big")).end == "limit_hit:disk"


def test_a_flood_of_output_ends_the_command_and_keeps_head_and_tail(engine: Provider) -> None:
    with engine.provision(room_spec(limits=replace(SMALL, output=1000))) as room:
        done = room.run(Command("echo first; exec yes"))

    assert done.end == "limit_hit:output" and done.stdout.truncated
    assert done.stdout.data.startswith(b"first\n") and len(done.stdout.head + done.stdout.tail) == 1000


def test_long_output_within_reason_is_cut_in_the_middle_only(engine: Provider) -> None:
    with engine.provision(room_spec(limits=replace(SMALL, output=1000))) as room:
        done = room.run(Command("echo first; seq 5000; echo last"))

    assert done.ok and done.stdout.total == 6 + 23893 + 5
    assert done.stdout.data.startswith(b"first\n") and done.stdout.data.endswith(b"\nlast\n")


def test_a_megabyte_written_at_once_arrives_whole(engine: Provider) -> None:
    with engine.provision(room_spec(limits=replace(SMALL, output=4 * MIB))) as room:
        done = room.run(Command("head -c 1000000 /dev/zero; echo x >&2"))

    assert (done.stdout.total, done.stderr.data, done.stdout.truncated) == (1_000_000, b"x\n", False)


def test_open_files_are_limited(engine: Provider) -> None:
    assert say(engine, "ulimit -n", limits=replace(SMALL, open_files=77)) == "77\n"


def test_usage_is_measured(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command(("python3", "-c", "x = bytearray(50 << 20); sum(range(3_000_000))")))

    assert done.usage.peak_memory is None or done.usage.peak_memory > 50 * MIB
    assert done.usage.cpu_seconds is None or done.usage.cpu_seconds > 0.03


# What a command is given


def test_standard_input_is_handed_over_and_ends(engine: Provider) -> None:
    data = bytes(range(256)) * 1000

    with engine.provision(room_spec(limits=replace(SMALL, output=MIB))) as room:
        assert room.run(Command("cat", stdin=data)).stdout.data == data
        assert room.run(Command("cat")).stdout.data == b""


def test_the_environment_is_ours_the_rooms_and_the_commands(engine: Provider) -> None:
    with engine.provision(room_spec(env={"A": "room", "B": "room"})) as room:
        done = room.run(Command("echo $A $B $HOME $TZ", env={"B": "command"}))

    assert done.stdout.text == "room command /home/candidate UTC\n"


def test_no_variable_of_the_harness_gets_in(engine: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "s3cret")

    assert "s3cret" not in say(engine, "env; cat /proc/1/environ 2>/dev/null || true")


def test_commands_start_in_the_workdir_or_where_they_ask(engine: Provider) -> None:
    with engine.provision(room_spec(layer("cwd", "/workspace", file("sub/f", b"1"), writable=True))) as room:
        found = [room.run(Command("pwd")), room.run(Command("pwd", cwd="/workspace/sub"))]

    assert [done.stdout.text for done in found] == ["/workspace\n", "/workspace/sub\n"]


def test_the_standard_streams_can_be_opened_by_name(engine: Provider) -> None:
    assert (
        say(engine, "echo out > /dev/stdout; echo null > /dev/null; head -c 3 /dev/urandom | wc -c")
        == "out\n3\n"
    )


# The walls


def test_the_user_is_nobody_special(engine: Provider) -> None:
    assert say(engine, "id -un; id -u; id -G; hostname").split() == ["candidate", "1000", "1000", "room"]


def test_no_capability_no_new_privilege_and_a_seccomp_filter(engine: Provider) -> None:
    found = dict(
        line.split(":\t") for line in say(engine, "cat /proc/self/status").splitlines() if ":\t" in line
    )

    assert {found[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {""}
    assert (found["NoNewPrivs"], found["Seccomp"]) == ("1", "2")


def test_there_is_no_network_but_the_rooms_own_loop(engine: Provider) -> None:
    assert say(engine, "ls /sys/class/net; wc -l < /proc/net/route").split() == ["lo", "1"]


def test_a_room_for_fetching_has_the_machines_network_and_folders_it_cannot_change(
    engine: Provider, tmp_path: Path
) -> None:
    (tmp_path / "wheel").write_text("from the machine")
    tmp_path.chmod(0o777)
    with socketserver.TCPServer(("127.0.0.1", 0), _Greeter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        call = f'import socket; print(socket.create_connection(("127.0.0.1", {port})).recv(9).decode())'
        script = f"python3 -c '{call}'; cat {tmp_path}/wheel; touch {tmp_path}/new /new; id -u"
        with engine.provision(room_spec(outside=Outside((str(tmp_path),)))) as room:
            done = room.run(Command(script))
        with engine.provision(room_spec()) as room:
            closed = room.run(Command(("python3", "-c", call)))
        server.shutdown()

    assert done.stdout.text.split("\n") == ["welcome", "from the machine1000", ""]
    assert done.stderr.text.count("Read-only file system") == 2
    assert not closed.ok


class _Greeter(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"welcome")


@pytest.mark.parametrize(
    "attempt",
    [
        "mount -t tmpfs none /tmp",
        "unshare -Ur true",
        "chroot / true",
        "mknod /tmp/d c 1 3",
        "touch /x",
        "touch /usr/x",
        "touch /etc/x",
        "touch /home/x",
        "echo 1 > /proc/sys/kernel/panic",
        "echo b > /proc/sysrq-trigger",
        "cat /proc/kcore | head -c 1 | grep -q .",
        "cat /etc/shadow",
        "ls /root/.ssh",
        "ls /var/run/docker.sock /run/docker.sock",
        "dd if=/dev/vda count=1",
    ],
)
def test_a_way_out_is_closed(engine: Provider, attempt: str) -> None:
    with engine.provision(room_spec()) as room:
        assert room.run(Command(attempt)).exit_code not in (0, None)


def test_the_machines_processes_are_not_seen(engine: Provider) -> None:
    names = say(engine, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")

    assert "pytest" not in names and "dockerd" not in names


def test_writable_places_are_exactly_these(engine: Provider) -> None:
    look = "find / -xdev -writable -type d -not -path '/proc/*' -not -path '/dev/*' 2>/dev/null; true"
    mounted = "for d in /workspace /tmp /var/tmp /home/candidate; do test -w $d || echo no $d; done"

    assert set(say(engine, look).split()) <= {"/workspace", "/tmp", "/var/tmp", "/home/candidate"}
    assert say(engine, mounted) == ""


def test_a_read_only_layer_can_be_neither_changed_nor_replaced(engine: Provider) -> None:
    state = layer("ro-state", "/workspace", file("a", b"1"), writable=True)
    tools = layer("ro-tools", "/workspace/tools", file("t", b"#!/bin/sh\necho ours\n", 0o100755))

    with engine.provision(room_spec(state, tools)) as room:
        for attack in (
            "echo x > tools/t",
            "rm -rf tools; ls tools/t && exit 1",
            "mv tools gone",
            "touch tools/new",
        ):
            assert not room.run(Command(attack)).ok, attack
        assert room.run(Command("tools/t")).stdout.data == b"ours\n"


def test_files_of_root_are_read_but_not_written_by_the_candidate(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        room.write([file("given/f", b"1")], "/workspace", owner="root")

        assert room.run(Command("cat given/f")).stdout.data == b"1"
        assert not room.run(Command("echo 2 > given/f")).ok
        assert not room.run(Command("rm -f given/f")).ok


def test_files_of_the_candidate_are_its_own(engine: Provider) -> None:
    own = layer("own", "/workspace", file("d/f", b"1"), writable=True)

    with engine.provision(room_spec(own)) as room:
        room.write([file("d/g", b"1", 0o100755)], "/workspace", owner="candidate")

        assert room.run(Command("echo 2 > d/f && echo 2 > d/g && mv d e && rm -r e && touch new")).ok


def test_links_planted_by_the_candidate_are_never_followed(engine: Provider, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("host")
    script = f"ln -s {tmp_path} out; ln -s {tmp_path}/secret f; mkdir d; ln -s / d/up; mkfifo p"

    with engine.provision(room_spec()) as room:
        assert room.run(Command(script)).ok
        found = {e.path: e.mode for e in room.export("/workspace")}

        assert room.read("/workspace/out/secret", 99) is None
        assert room.read("/workspace/f", 99) is None
        assert room.read("/workspace/p", 99) is None
        assert found == {b"out": LINK, b"f": LINK, b"d/up": LINK}
        room.write([file("out/secret", b"ours"), file("f", b"ours")], "/workspace", owner="root")
        room.remove([b"d/up/etc"], "/workspace")
    assert (tmp_path / "secret").read_text() == "host" and Path("/etc").is_dir()


def test_a_forest_of_folders_deeper_than_any_path_is_refused_not_followed(engine: Provider) -> None:
    dig = "import os\nfor _ in range(3000):\n    os.mkdir('d'); os.chdir('d')"

    with engine.provision(room_spec()) as room:
        assert room.run(Command(("python3", "-c", dig))).ok
        with pytest.raises(ValueError):
            list(room.export("/workspace"))
        room.remove([b"d"], "/workspace")

        assert list(room.export("/workspace")) == []


def test_a_sparse_file_of_a_terabyte_is_refused_not_read(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        assert room.run(Command("truncate -s 1T sparse")).ok
        with pytest.raises(ValueError):
            list(room.export("/workspace"))


def test_root_of_a_room_is_not_root_of_the_machine(engine: Provider) -> None:
    attempts = (
        "mount -t tmpfs none /tmp",
        "mknod /tmp/b b 8 0",
        "echo 1 > /proc/sys/kernel/panic",
        "umount /proc",
    )

    with engine.provision(room_spec(user="root")) as room:
        assert room.run(Command("test $(id -u) = 0 && touch made && chown 1000 made")).ok
        for attempt in attempts:
            assert not room.run(Command(attempt)).ok, attempt


def test_ending_the_rooms_init_is_not_in_the_candidates_power(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        done = room.run(Command("kill -9 1; kill -STOP 1; echo still here"))

    assert done.ok and done.stdout.data == b"still here\n"


# Stopping, and what is left


def test_an_eviction_ends_a_blocked_command_within_a_second(engine: Provider) -> None:
    with engine.provision(room_spec()) as room:
        timer = threading.Timer(0.5, room.evict)
        timer.start()
        began = time.monotonic()
        with pytest.raises(Evicted):
            room.run(Command("sleep 60"))

        assert time.monotonic() - began < 1.5


def test_evicting_everyone_ends_all_rooms(engine: Provider, fresh: Callable[..., Provider]) -> None:
    other = fresh(engine.name)
    ends: list[type[BaseException]] = []

    def use() -> None:
        try:
            with other.provision(room_spec()) as room:
                room.run(Command("sleep 60"))
        except Evicted as error:
            ends.append(type(error))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    began = time.monotonic()
    other.evict_all()
    for thread in threads:
        thread.join()

    assert ends == [Evicted] * 4 and time.monotonic() - began < 3


def test_eight_rooms_at_once_each_get_their_own_answer(engine: Provider) -> None:
    found: list[str] = []

    def use(number: int) -> None:
        with engine.provision(room_spec()) as room:
            for turn in range(3):
                done = room.run(Command(f"echo {number}.{turn}"))
                found.append(done.stdout.text.strip() if done.ok else repr(done))

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted(f"{number}.{turn}" for number in range(8) for turn in range(3))


@pytest.mark.parametrize(
    ("greed", "end"),
    [
        ("x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo ${#x}", "limit_hit:memory"),
        ("cat /dev/zero > /tmp/all; exit 1", "limit_hit:disk"),
        ("cat /dev/zero", "limit_hit:output"),
    ],
    ids=["memory", "disk", "output without an end or a line"],
)
def test_what_a_neighbour_takes_changes_nothing_for_another(engine: Provider, greed: str, end: str) -> None:
    ends: list[str] = []

    def take() -> None:
        with engine.provision(room_spec()) as room:
            ends.append(room.run(Command(greed)).end)

    with engine.provision(room_spec()) as room:
        greedy = threading.Thread(target=take)
        greedy.start()
        answers = [room.run(Command("echo here > f && cat f")) for _ in range(3)]
        greedy.join()

    assert [answer.stdout.text for answer in answers] == ["here\n"] * 3
    assert ends == [end]


def test_nothing_is_left_behind(engine: Provider, proctor_home: Path) -> None:
    files_before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    with engine.provision(room_spec()) as room:
        room.run(Command("sleep 300 & true"))
    mine = Owner.current("contract")

    assert mounts_below(proctor_home) == []
    assert [item for item in proctor_home.glob("rooms/*/*") if item.is_dir()] == []
    assert not list(Path("/sys/fs/cgroup").glob(f"**/proctor-{mine.pid}-{mine.started}/*/cgroup.procs"))
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= files_before + 2
