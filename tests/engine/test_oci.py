"""The oci provider alone: crashes, lost rooms, walls of its own, images, refusals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandboxes import scratch
from sandboxes.errors import (
    EngineGone,
    ImageUnavailable,
    LimitUnenforceable,
    ProvisionFailed,
    SandboxError,
    SandboxLost,
)
from sandboxes.home import rooms
from sandboxes.oci import OciProvider, container, pidspace
from sandboxes.oci import provider as provider_module
from sandboxes.scratch import mounts_below
from sandboxes.spec import MIB, Command, Entry, Image, Layer, Limits, Owner, RoomSpec

pytestmark = pytest.mark.oci
SMALL = Limits(memory=128 * MIB, pids=64, disk=32 * MIB, time=20.0, output=100_000)


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("home")
    patch.setenv("PROCTOR_HOME", str(folder))
    yield folder
    patch.undo()


@pytest.fixture
def oci() -> Iterator[OciProvider]:
    made = OciProvider(Owner.current("engine"))
    seen = made.capabilities()
    if not seen.available:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"oci: {seen.problem}")
    yield made
    made.close()


def python(source: str) -> Command:
    return Command(("python3", "-c", source))


# Lost rooms and dead harnesses


def test_a_room_whose_init_is_killed_from_outside_is_lost_and_no_result(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        threading.Timer(0.5, _kill_inits).start()
        with pytest.raises(SandboxLost):
            room.run(Command("sleep 30"))

        assert room.run(Command("true")).ok


def _kill_inits() -> None:
    for listing in Path("/proc/self/task").glob("*/children"):
        for pid in listing.read_text().split():
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"/bin/cat" in words or b"cat <&3" in words:
                os.kill(int(pid), signal.SIGKILL)


def test_a_clean_up_that_fails_keeps_the_first_cause(oci: OciProvider) -> None:
    """B041: whoever asks why sees what happened first; what could not be removed is left to `reap`."""
    with pytest.raises(SandboxLost) as first, oci.provision(RoomSpec(limits=SMALL)) as room:
        folder: Path = room._folder
        stuck = folder / "stuck"
        stuck.mkdir()
        scratch.mount("tmpfs", stuck, "tmpfs", 0)  # cannot be removed while it is mounted
        threading.Timer(0.5, _kill_inits).start()
        room.run(Command("sleep 30"))

    try:
        assert folder.exists()
        assert "init" in str(first.value)
    finally:
        scratch.unmount(stuck)
        shutil.rmtree(folder)


def test_with_the_machines_disk_almost_full_no_room_opens_and_no_failure_is_a_result(
    oci: OciProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B038: below the floor of free space nothing starts, and what fails there is nobody's score."""
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        monkeypatch.setattr("sandboxes.scratch.HOST_FLOOR", 1 << 60)

        with pytest.raises(SandboxError, match="disk"):
            room.run(Command("false"))
        assert room.run(Command("true")).ok
        with pytest.raises(ProvisionFailed, match=r"disk .* is full"), oci.provision(RoomSpec(limits=SMALL)):
            pytest.fail("a room was opened")

    assert not [place for place in rooms(oci._owner).iterdir() if place.is_dir()]


def test_an_interrupt_at_the_terminal_reaches_us_and_not_the_room(oci: OciProvider) -> None:
    groups: list[bool] = []

    def look(stream: str, data: bytes) -> None:
        listings = Path("/proc/self/task").glob("*/children")
        pids = [int(pid) for listing in listings for pid in listing.read_text().split()]
        groups.extend(os.getpgid(pid) == os.getpgid(0) for pid in pids)

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        room.run(Command("echo up; sleep 0.2"), look)

    assert groups and not any(groups)


def test_an_interruption_between_start_and_end_leaves_no_process(
    oci: OciProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(container.Container, "_watch", interrupted)
            room.run(Command("exec sleep 5432"))

        assert _gone_within(2.0, "sleep 5432")
        assert room.run(Command("true")).ok


_VICTIM = """
import sys
from sandboxes.oci import OciProvider
from sandboxes.spec import Command, Owner, RoomSpec
with OciProvider(Owner.current("victim")).provision(RoomSpec()) as room:
    room.run(Command("echo up; exec sleep 4321"), lambda stream, data: print(data.decode(), flush=True))
"""


def test_after_a_killed_harness_no_process_lives_and_reaping_removes_the_rest(
    oci: OciProvider, own_home: Path
) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as living:
        victim = subprocess.Popen([sys.executable, "-c", _VICTIM], stdout=subprocess.PIPE, text=True)
        assert victim.stdout is not None and victim.stdout.readline() == "up\n"
        victim.kill()
        victim.wait()
        victim.stdout.close()

        assert _gone_within(5.0, "sleep 4321")
        removed = oci.reap().removed

        assert any("room" in line for line in removed) and any("mount" in line for line in removed)
        assert living.run(Command("true")).ok
    assert [path.name for path in own_home.glob("rooms/*-victim")] == []
    assert mounts_below(own_home) == []
    assert oci.reap().removed == ()


def _gone_within(seconds: float, words: str) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        if not any(words.encode() in line.replace(b"\0", b" ") for line in lines):
            return True
        time.sleep(0.05)
    return False


def test_a_folder_of_a_dead_owner_is_removed_and_a_strange_one_left(oci: OciProvider, own_home: Path) -> None:
    dead = rooms(Owner("dead", 2**22 + 7, 1, Owner.current("x").host))
    (dead / "room").mkdir()
    strange = own_home / "rooms" / "not-ours"
    strange.mkdir()

    removed = oci.reap().removed

    assert removed == ("room room (run dead)",) and not dead.exists() and strange.exists()


def test_two_hundred_quick_runs_each_give_their_whole_output(oci: OciProvider) -> None:
    lost = []

    def use(number: int) -> None:
        with oci.provision(RoomSpec(limits=SMALL)) as room:
            for turn in range(25):
                done = room.run(Command(f"echo {number} {turn}"))
                if done.stdout.text != f"{number} {turn}\n":
                    lost.append(done)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert lost == []


def test_closing_the_provider_leaves_no_folder_and_no_group(own_home: Path) -> None:
    owner = Owner.current("closing")
    made = OciProvider(owner)
    with made.provision(RoomSpec(limits=SMALL)) as room:
        room.run(Command("true"))
    made.close()

    assert not list(own_home.glob("rooms/*-closing"))
    assert not list(Path("/sys/fs/cgroup").glob(f"*/proctor-{owner.pid}-{owner.started}"))


# Ends the kernel tells


def test_signals_are_told_apart_from_the_exit_codes_that_look_like_them(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        killed, said = room.run(Command("kill -9 $$")), room.run(Command("exit 137"))
        term, segv = room.run(Command("kill -TERM $$")), room.run(Command("kill -SEGV $$"))

    assert [(d.end, d.exit_code, d.signal) for d in (killed, said, term, segv)] == [
        ("signalled", 137, 9),
        ("exited", 137, None),
        ("signalled", 143, 15),
        ("signalled", 139, 11),
    ]


def test_a_script_whose_interpreter_is_missing_could_not_be_executed(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        room.write([Entry(b"s", 0o100755, b"#!/no/such\n")], "/workspace", owner="candidate")
        room.write([Entry(b"t", 0o100755, b"not a program")], "/workspace", owner="candidate")

        assert room.run(Command(("./s",))).end == "missing_binary"
        assert room.run(Command(("./t",))).end == "missing_binary"
        assert room.run(Command("./s")).end == "exited"


def test_a_working_folder_that_is_not_there_is_the_commands_failure_not_ours(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        room.write([Entry(b"f", 0o100644, b"")], "/workspace", owner="candidate")
        for place in ("/workspace/none", "/workspace/f"):
            done = room.run(Command("true", cwd=place))

            assert done.end == "missing_binary" and place in done.stderr.text


def test_a_command_that_cleans_up_after_a_full_disk_still_hit_the_limit(oci: OciProvider) -> None:
    fill = "head -c 100000000 /dev/zero > big; sleep 0.4; rm big; exit 1"

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        assert room.run(Command(fill)).end == "limit_hit:disk"
        assert room.run(Command("exit 1")).end == "exited"


def test_processor_time_is_limited(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=replace(SMALL, cpus=0.25))) as room:
        done = room.run(Command("while :; do :; done", timeout=2.0))

    assert done.end == "limit_hit:time" and (done.usage.cpu_seconds or 9) < 1.0
    assert (done.usage.throttled_seconds or 0) > 0


# Walls of its own


_CALLS = {
    "keyctl": (250, 0, 0, 0),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, 0),
    "io_uring_setup": (425, 1, 0, 0),
    "userfaultfd": (323, 0, 0, 0),
    "open_by_handle_at": (304, 0, 0, 0),
    "setns": (308, 0, 0, 0),
    "unshare": (272, 0x10000000, 0, 0),
    "clone with a new user namespace": (56, 0x10000000, 0, 0),
    "mount": (165, 0, 0, 0),
    "fsopen": (430, 0, 0, 0),
    "init_module": (175, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0),
    "add_key": (248, 0, 0, 0),
    "settimeofday": (164, 0, 0, 0),
    "a socket of the virtual machine's host": (41, 40, 1, 0),
    "a socket of the kernel's ciphers": (41, 38, 5, 0),
}


@pytest.mark.parametrize("name", _CALLS)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="call numbers of x86-64")
def test_a_system_call_that_reaches_past_the_room_is_refused(oci: OciProvider, name: str) -> None:
    number, *words = _CALLS[name]
    source = (
        "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True)\n"
        f"print(libc.syscall({number}, {', '.join(map(str, words))}), ctypes.get_errno())"
    )

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        assert room.run(python(source)).stdout.text == "-1 1\n"


def test_ordinary_programs_are_not_hindered_by_the_filter(oci: OciProvider) -> None:
    source = (
        "import multiprocessing, subprocess, threading, tempfile, socket, os, mmap\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "if __name__ == '__main__':\n"
        "    print(sum(ProcessPoolExecutor(2).map(abs, [-1, -2])), subprocess.check_output(['echo', 'x']))\n"
        "    s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())\n"
        "    tempfile.TemporaryFile().write(b'x'); mmap.mmap(-1, 4096); os.mkfifo('/tmp/fifo')\n"
    )

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        room.write([Entry(b"t.py", 0o100644, source.encode())], "/workspace", owner="candidate")
        done = room.run(Command(("python3", "t.py")))

    assert done.ok and done.stdout.text == "3 b'x\\n'\n", done.stderr.text


def test_the_rooms_init_is_neither_its_users_nor_seen_through(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        for attempt in ("kill -0 1", "readlink /proc/1/root | grep -q .", "grep -q . /proc/1/cgroup"):
            assert not room.run(Command(attempt)).ok, attempt
        assert "65534" in room.run(Command("ps -o uid= -p 1")).stdout.text


def test_not_even_root_of_a_room_can_end_its_init(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL, user="root")) as room:
        done = room.run(Command("kill -9 1 2; kill -TERM 1 2; echo still here"))

    assert done.stdout.text == "still here\n"


def test_a_folder_from_a_layer_can_be_renamed_like_any_other(oci: OciProvider) -> None:
    state = Layer("renaming", "/workspace", lambda: [Entry(b"a/b/f", 0o100644, b"1")], writable=True)

    with oci.provision(RoomSpec(limits=SMALL, layers=(state,))) as room:
        assert room.run(python("import os; os.rename('a/b', 'a/c'); os.rename('a', 'z')")).ok
        assert [e.path for e in room.export("/workspace")] == [b"z/c/f"]


def test_without_an_init_on_the_machine_a_shell_serves(
    oci: OciProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = ("/bin/sh", "-c", "exec 3<&0; cat <&3 >/dev/null & wait $!")
    monkeypatch.setattr(pidspace, "init_argv", lambda: shell)
    orphans = "i=0; while [ $i -lt 200 ]; do (true &); i=$((i+1)); done; echo ok"

    with oci.provision(RoomSpec(limits=SMALL)) as room:
        assert room.run(Command(orphans)).stdout.text == "ok\n"
        assert room.run(Command("exit 5")).exit_code == 5


# Images


def test_the_host_image_hides_the_machines_names_and_homes(oci: OciProvider) -> None:
    with oci.provision(RoomSpec(limits=SMALL)) as room:
        listing = room.run(Command("ls /home /root /etc /var; cat /etc/passwd /etc/hostname")).stdout.text

    assert "candidate" in listing and "shadow" not in listing and "apt" not in listing
    assert os.uname().nodename not in listing.split()


def test_an_unpacked_root_file_system_serves_as_an_image(oci: OciProvider, tmp_path: Path) -> None:
    busybox = Path("/bin/busybox")
    rootfs = tmp_path / "rootfs"
    (rootfs / "bin").mkdir(parents=True)
    for program in ("sh", "id", "cat"):
        source = busybox if busybox.exists() else Path(f"/usr/bin/{program}")
        (rootfs / "bin" / program).write_bytes(source.read_bytes())
        (rootfs / "bin" / program).chmod(0o755)
        _copy_libraries(source, rootfs)
    (rootfs / "etc").mkdir()
    (rootfs / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")

    with oci.provision(RoomSpec(Image("rootfs", str(rootfs)), limits=SMALL)) as room:
        done = room.run(Command("id -un; cat /etc/passwd"))

    assert done.stdout.text.splitlines()[0] == "candidate" and "node" not in done.stdout.text


def _copy_libraries(program: Path, rootfs: Path) -> None:
    found = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    for word in found.stdout.split():
        if word.startswith("/"):
            target = rootfs / word.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(Path(word).read_bytes())
            target.chmod(0o755)


def test_an_image_that_cannot_be_had_is_told_in_one_sentence(oci: OciProvider, tmp_path: Path) -> None:
    for image in (
        Image("rootfs", str(tmp_path / "none")),
        Image("rootfs", str(tmp_path)),
        Image("debian", "no/suite"),
    ):
        with pytest.raises(ImageUnavailable) as caught:
            oci.prepare(image)

        assert "\n" not in str(caught.value)


def test_without_a_docker_engine_its_images_are_unavailable(
    oci: OciProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    for image in (Image("image", "debian:12"), Image("dockerfile", str(tmp_path))):
        with pytest.raises(ImageUnavailable):
            oci.prepare(image)


@pytest.mark.network
def test_a_debian_recipe_becomes_a_room(oci: OciProvider) -> None:
    image = Image("debian", "bookworm", ("busybox",))

    first, second = oci.prepare(image), oci.prepare(image)
    with oci.provision(RoomSpec(image, limits=SMALL)) as room:
        done = room.run(Command("busybox true && cat /etc/debian_version && id -un"))

    assert first == second and done.ok and done.stdout.text.startswith("12.")


# Refusals


def test_a_limit_that_was_asked_for_and_cannot_be_enforced_stops_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        provider_module, "_enforceable", lambda: frozenset({"time", "output", "memory", "pids"})
    )
    asked = RoomSpec(limits=replace(SMALL, asked=frozenset({"disk"})))
    strict, lenient = (OciProvider(Owner.current("refusing"), allow_unlimited=way) for way in (False, True))

    with pytest.raises(LimitUnenforceable, match="disk"), strict.provision(asked):
        pass
    with strict.provision(RoomSpec(limits=SMALL)) as room:
        assert room.unenforced == ("cpus", "disk") and room.run(Command("echo x > f && cat f")).ok
    with lenient.provision(asked) as room:
        assert "disk" in room.unenforced
    strict.close()
    lenient.close()


@pytest.mark.parametrize("low", [{"memory": 1000}, {"pids": 0}, {"disk": 1}, {"open_files": 3}])
def test_a_limit_no_room_could_live_with_is_refused(oci: OciProvider, low: dict[str, Any]) -> None:
    with (
        pytest.raises(LimitUnenforceable, match=next(iter(low))),
        oci.provision(RoomSpec(limits=replace(SMALL, **low))),
    ):
        pass


@pytest.mark.parametrize("target", ["/", "/usr/lib/x", "/bin/x"])
def test_a_layer_that_would_break_the_image_is_refused(oci: OciProvider, target: str) -> None:
    layer = Layer("breaking", target, list)

    with pytest.raises(ProvisionFailed), oci.provision(RoomSpec(limits=SMALL, layers=(layer,))):
        pass


def test_a_layer_cut_short_is_not_taken_for_whole(oci: OciProvider) -> None:
    def breaks() -> Iterator[Entry]:
        yield Entry(b"a", 0o100644, b"1")
        raise RuntimeError("cut")

    with pytest.raises(RuntimeError, match="cut"):
        oci.prepare(Image(), (Layer("cut", "/workspace", breaks, True),))
    whole = Layer("cut", "/workspace", lambda: [Entry(b"b", 0o100644, b"2")], True)

    with oci.provision(RoomSpec(limits=SMALL, layers=(whole,))) as room:
        assert [e.path for e in room.export("/workspace")] == [b"b"]


def test_a_runtime_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_RUNTIME", "no-such-runtime")
    made = OciProvider(Owner.current("missing"))

    seen = made.capabilities()

    assert not seen.available and "no-such-runtime" in seen.problem
    with pytest.raises(EngineGone), made.provision(RoomSpec()):
        pass


def test_a_runtime_that_fails_is_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "runtime"
    fake.write_text("#!/bin/sh\necho 'level=error msg=\"the kernel said no\"' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PROCTOR_RUNTIME", str(fake))
    made = OciProvider(Owner.current("failing"))

    with (
        made.provision(RoomSpec(limits=SMALL)) as room,
        pytest.raises(ProvisionFailed, match="the kernel said no"),
    ):
        room.run(Command("true"))
    made.close()


def test_a_base_system_that_loses_its_shell_under_a_run_is_the_machines_trouble(
    oci: OciProvider,
) -> None:
    spec = RoomSpec(limits=SMALL)
    with oci.provision(spec) as room:
        assert room.run(Command(("nosuch",))).end == "missing_binary"
    (root,) = oci._image(Image("host")).lowers
    (root / "bin").unlink()

    with pytest.raises(ProvisionFailed, match="lost files while"), oci.provision(spec) as room:
        room.run(Command("true"))

    with oci.provision(spec) as room:
        assert room.run(Command("true")).exit_code == 0
    shutil.rmtree(root)
    with oci.provision(spec) as room:
        assert room.run(Command("true")).exit_code == 0
