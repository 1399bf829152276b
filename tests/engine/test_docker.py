"""The Docker provider alone: lost rooms, crashes, walls of its own, files in volumes, images."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sandboxes.docker import DockerProvider
from sandboxes.docker.engine import Engine
from sandboxes.errors import EngineGone, ImageUnavailable, LimitUnenforceable, SandboxLost, StreamBroken
from sandboxes.home import home
from sandboxes.protocol import Done
from sandboxes.scratch import mounts_below
from sandboxes.spec import MIB, Command, Entry, Image, Layer, Limits, Network, Owner, RoomSpec

pytestmark = pytest.mark.docker
SMALL = Limits(memory=128 * MIB, pids=64, disk=32 * MIB, time=20.0, output=100_000)
SOURCE = Layer(
    "docker-test-source",
    "/workspace",
    lambda: [Entry(b"a.py", 0o100644, b"x = 1\n"), Entry(b"d/b", 0o100644, b"b")],
    writable=True,
)


@pytest.fixture(scope="module", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("home")
    patch.setenv("PROCTOR_HOME", str(folder))
    yield folder
    patch.undo()


@pytest.fixture(scope="module")
def docker(own_home: Path) -> Iterator[DockerProvider]:
    made = DockerProvider(Owner.current("engine"))
    seen = made.capabilities()
    if not seen.available:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(seen.problem)
    yield made
    made.close()


@pytest.fixture
def in_volumes(docker: DockerProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerProvider]:
    """A provider that believes the engine's disk is not this machine's."""
    monkeypatch.setenv("PROCTOR_DOCKER_FILES", "volumes")
    made = DockerProvider(Owner.current("volumes"))
    yield made
    made.close()


def spec(*layers: Layer, **more: Any) -> RoomSpec:
    return RoomSpec(**{"layers": layers, "limits": SMALL, **more})


def container_of(room: Any, engine: Engine) -> str:
    """The container that runs in a room right now."""
    for _ in range(200):
        found = [c for c in engine.containers(f"proctor.room={room.id}") if c["State"] == "running"]
        if found:
            return str(found[0]["Id"])
        time.sleep(0.05)
    raise AssertionError("nothing runs in the room")


def meanwhile(provider: DockerProvider, deed: Callable[[Engine, str], None], line: str = "sleep 30") -> Done:
    """Run a command, and do something to its container while it runs."""
    engine = Engine()
    with provider.provision(spec()) as room, ThreadPoolExecutor(1) as pool:
        running = pool.submit(room.run, Command(line))
        deed(engine, container_of(room, engine))
        return running.result(timeout=30)


class Relay:
    """A socket between the client and the engine, to be cut at will."""

    def __enter__(self) -> Relay:
        self._folder = tempfile.TemporaryDirectory()
        self.address = f"unix://{self._folder.name}/relay.sock"
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{self._folder.name}/relay.sock")
        self._listening.listen(50)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._folder.cleanup()

    def cut(self) -> None:
        """Nobody answers any more."""
        Path(self._folder.name, "relay.sock").unlink(missing_ok=True)
        self._listening.close()
        self.drop_open_connections()

    def drop_open_connections(self) -> None:
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(Engine().address.removeprefix("unix://"))
                self._open += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def test_a_container_killed_from_outside_is_lost_and_no_failed_command(docker: DockerProvider) -> None:
    with pytest.raises(SandboxLost, match="from outside"):
        meanwhile(docker, lambda engine, container: engine.kill(container))


def test_a_container_stopped_from_outside_is_lost_even_if_it_says_zero(
    docker: DockerProvider,
) -> None:
    polite = "trap 'exit 0' TERM; while :; do sleep 0.1; done"

    with pytest.raises(SandboxLost, match="from outside"):
        meanwhile(docker, lambda _, c: subprocess.run(["docker", "stop", c], check=True), polite)


def test_a_container_removed_from_outside_is_lost(docker: DockerProvider) -> None:
    with pytest.raises(SandboxLost):
        meanwhile(docker, lambda engine, container: engine.remove(container))


def test_a_command_that_kills_itself_is_not_lost(docker: DockerProvider) -> None:
    with docker.provision(spec()) as room:
        done = room.run(Command("kill -9 $$"))

    assert (done.end, done.exit_code, done.signal) == ("signalled", 137, 9)


def test_an_engine_that_is_not_there_is_gone_and_says_what_to_do() -> None:
    nobody = DockerProvider(Owner.current("engine"), address="unix:///nonexistent.sock")

    assert not nobody.capabilities().available
    assert "docker" in nobody.capabilities().problem
    with pytest.raises(EngineGone), nobody.provision(spec()):
        pass


def test_an_engine_that_goes_away_in_mid_command_is_gone_and_no_result(docker: DockerProvider) -> None:
    with Relay() as relay:
        far = DockerProvider(Owner.current("engine"), address=relay.address)
        engine = Engine()
        with far.provision(spec()) as room, ThreadPoolExecutor(1) as pool:
            running = pool.submit(room.run, Command("echo half; sleep 3; echo all"))
            container = container_of(room, engine)
            relay.cut()
            with pytest.raises(EngineGone):
                running.result(timeout=30)
            engine.remove(container)
        far.close()


def test_an_output_connection_that_breaks_is_no_whole_result(docker: DockerProvider) -> None:
    with Relay() as relay:
        far = DockerProvider(Owner.current("engine"), address=relay.address)
        with far.provision(spec()) as room, ThreadPoolExecutor(1) as pool:
            heard = threading.Event()
            command = Command("echo half; sleep 1; echo all")
            running = pool.submit(room.run, command, lambda stream, data: heard.set())
            assert heard.wait(30)
            relay.drop_open_connections()
            # the output's own connection, or a question that was just being asked: never a result
            with pytest.raises((StreamBroken, EngineGone)):
                running.result(timeout=40)
        far.close()


def test_output_is_whole_two_hundred_times_eight_at_a_time(docker: DockerProvider) -> None:
    line = Command("head -c 70000 /dev/zero | tr '\\0' x; echo end")

    def twenty_five(_: int) -> set[int]:
        with docker.provision(spec()) as room:
            return {room.run(line).stdout.total for _ in range(25)}

    with ThreadPoolExecutor(8) as pool:
        totals = set().union(*pool.map(twenty_five, range(8)))

    assert totals == {70004}


def test_a_fork_bomb_ends_as_such_and_a_neighbour_does_not_notice(docker: DockerProvider) -> None:
    bomb = "b() { b | b & }; b; while :; do sleep 1 & done; sleep 1"

    with (
        docker.provision(spec()) as room,
        docker.provision(spec()) as neighbour,
        ThreadPoolExecutor(1) as pool,
    ):
        exploding = pool.submit(room.run, Command(bomb, timeout=5))
        assert neighbour.run(Command("for i in $(seq 20); do /bin/true; done")).ok

        assert exploding.result().end == "limit_hit:pids"


def test_two_thousand_orphans_leave_no_zombie_behind(docker: DockerProvider) -> None:
    orphans = "i=0; while [ $i -lt 2000 ]; do (true &); i=$((i+1)); done; echo done"

    with docker.provision(spec()) as room:
        done = room.run(Command(orphans))

    assert done.ok, done.stderr.text


def test_the_init_cannot_be_traced_by_what_it_started(docker: DockerProvider) -> None:
    with docker.provision(spec()) as room:
        assert not room.run(Command("cat /proc/1/mem; ls /proc/1/fd")).ok
        attach = "import ctypes,sys; sys.exit(0 if ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0 else 3)"
        assert room.run(Command(("python3", "-c", attach))).exit_code == 3


def test_what_the_engine_lists_carries_our_labels_and_limits(docker: DockerProvider) -> None:
    engine = Engine()
    seen: list[Any] = []

    with docker.provision(spec(label="task/agent/1")) as room, ThreadPoolExecutor(1) as pool:
        running = pool.submit(room.run, Command("sleep 1"))
        seen.append(engine.inspect(container_of(room, engine)))
        running.result()

    labels, host = seen[0]["Config"]["Labels"], seen[0]["HostConfig"]
    assert Owner.from_labels(labels) == Owner.current("engine")
    assert labels["proctor.label"] == "task/agent/1"
    assert host["NetworkMode"] == "none" and host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"]
    assert seen[0]["Name"].startswith("/proctor-engine-")


def test_a_killed_run_is_reaped_and_a_living_one_is_not(docker: DockerProvider, own_home: Path) -> None:
    program = (
        "from sandboxes.docker import DockerProvider; from sandboxes.spec import *\n"
        "p = DockerProvider(Owner.current('doomed'))\n"
        "with p.provision(RoomSpec()) as room:\n"
        "    room.run(Command('echo up; sleep 60'), lambda s, d: print('up', flush=True))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "up\n"
    engine = Engine()

    with docker.provision(spec()) as living:
        assert not [line for line in docker.reap().removed if "doomed" in line]
        child.send_signal(signal.SIGKILL)
        child.wait()
        removed = docker.reap().removed
        assert living.run(Command("echo alive")).ok

    assert any("container" in line and "doomed" in line for line in removed)
    assert any("mount" in line and "doomed" in line for line in removed)
    assert not engine.containers("proctor.run=doomed")
    assert not [point for point in mounts_below(own_home) if str(child.pid) in str(point)]
    assert not list((home() / "docker").glob(f"{child.pid}-*"))
    assert not list(Path("/sys/fs/cgroup").glob(f"*/proctor-engine-{child.pid}-*"))
    assert docker.reap().removed == ()


def test_a_network_that_is_asked_for_is_refused_and_not_forgotten(docker: DockerProvider) -> None:
    with pytest.raises(LimitUnenforceable), docker.provision(spec(network=Network(allow=("example.org",)))):
        pass


def test_an_image_nobody_has_is_unavailable(docker: DockerProvider) -> None:
    with pytest.raises(ImageUnavailable, match=r"localhost:1/none"):
        docker.prepare(Image("image", "localhost:1/none:1"))
    with pytest.raises(ImageUnavailable, match="no Dockerfile"):
        docker.prepare(Image("dockerfile", "/nonexistent"))


def test_a_dockerfile_is_built_once_and_its_environment_holds(docker: DockerProvider, tmp_path: Path) -> None:
    host = docker.prepare(Image())
    (tmp_path / "Dockerfile").write_text(f'FROM {host}\nENV GREETING=hello\nENTRYPOINT ["/nonexistent"]\n')
    image = Image("dockerfile", str(tmp_path))

    first, again = docker.prepare(image), DockerProvider(Owner.current("engine")).prepare(image)

    assert first == again
    subprocess.run(["docker", "rmi", "-f", first], check=True, capture_output=True)


DIES_LOOKING = """
import os
from sandboxes.docker import DockerProvider, probe
from sandboxes.spec import Image, Owner

probe._seen = lambda *words: os._exit(9)
DockerProvider(Owner.current("dies")).prepare(Image("host", "host"))
"""


def test_what_a_start_mounted_that_was_killed_while_it_looked_is_unmounted(
    docker: DockerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    assert subprocess.run([sys.executable, "-c", DIES_LOOKING]).returncode == 9
    left = mounts_below(tmp_path)

    docker.reap()

    assert len(left) == 1, "nothing was left, so nothing was tried"
    assert mounts_below(tmp_path) == []
    assert not list((tmp_path / "docker").glob("*/probe"))


def test_rooms_in_volumes_keep_the_same_promises(in_volumes: DockerProvider) -> None:
    judge = Layer("docker-test-judge", "/opt/judge", lambda: [Entry(b"t", 0o100644, b"t")])
    with in_volumes.provision(spec(SOURCE, judge)) as room:
        assert room.unenforced == ("disk",)
        assert room.run(Command("id -u; cat a.py; echo new > made; cat /opt/judge/t")).stdout.text == (
            "1000\nx = 1\nt"
        )
        assert not room.run(Command("touch /opt/judge/x || touch /etc/x")).ok
        assert room.read("/workspace/made", 10) == b"new\n"
        room.remove([b"a.py", b"never"], "/workspace")
        room.write([Entry(b"made", 0o100755, b"#!/bin/sh\necho ran\n")], "/workspace", owner="root")
        assert room.run(Command("./made; echo x > made || echo kept")).stdout.text == "ran\nkept\n"
        assert [entry.path for entry in room.export("/workspace")] == [b"d/b", b"made"]
        assert room.run(Command("sleep 9", timeout=0.5)).end == "limit_hit:time"
        assert room.run(Command("python3 -c 'bytearray(400 << 20)'")).end == "limit_hit:memory"
    assert not Engine().volumes("proctor.run=volumes")
    assert not Engine().containers("proctor.run=volumes")


def test_links_in_volumes_are_not_followed(in_volumes: DockerProvider) -> None:
    with in_volumes.provision(spec(SOURCE)) as room:
        room.run(Command("rm -r d; echo secret > /tmp/s; ln -s /tmp d; ln -s /tmp/s way"))

        assert room.read("/workspace/d/s", 100) is None
        assert room.read("/workspace/way", 100) is None
        room.remove([b"d/s"], "/workspace")
        assert room.read("/tmp/s", 100) == b"secret\n"
        room.write(
            [Entry(b"d/s", 0o100644, b"ours"), Entry(b"way", 0o100644, b"ours")], "/workspace", owner="root"
        )
        assert room.read("/tmp/s", 100) == b"secret\n"
        assert room.read("/workspace/d/s", 100) == room.read("/workspace/way", 100) == b"ours"


def test_a_disk_limit_that_was_asked_for_stops_a_room_in_volumes(in_volumes: DockerProvider) -> None:
    asked = spec(limits=Limits(asked=frozenset({"disk"})))

    with pytest.raises(LimitUnenforceable, match="disk"), in_volumes.provision(asked):
        pass
    relaxed = DockerProvider(Owner.current("volumes"), allow_unlimited=True)
    with relaxed.provision(asked) as room:
        assert room.unenforced == ("disk",)
    relaxed.close()


def test_many_rooms_leave_no_connection_open(docker: DockerProvider) -> None:
    def use(_: int) -> None:
        with docker.provision(spec()) as room:
            room.run(Command("true"))

    use(0)
    before = len(list(Path("/proc/self/fd").iterdir()))
    threads = [threading.Thread(target=use, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(list(Path("/proc/self/fd").iterdir())) <= before
