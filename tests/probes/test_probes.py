"""Attempts to leave a room, or to see what is not in it: none gets through, as its user and as its root."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandboxes.protocol import Provider
from sandboxes.spec import Command, Image, Limits, RoomSpec
from tests import engines

FAMILIES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_name("probes.yaml").read_text()
)
PROBES = [probe for probes in FAMILIES.values() for probe in probes]


@pytest.fixture(scope="module", params=engines.REAL)
def provider(request: pytest.FixtureRequest) -> Iterator[Provider]:
    with engines.opened(request.param) as made:
        yield made


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """What there is to find: a file, a variable, a port, an abstract socket."""
    monkeypatch.setenv("MACHINE_WORD", "machine-secret")
    secret = tmp_path / "hidden-answer.txt"
    secret.write_text("machine-secret\n")
    for folder in (secret.parent, *secret.parent.parents):  # readable, so that only the room's walls hold
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        port = server.getsockname()[1]
        abstract.bind(f"\0proctor-probe-{port}")
        abstract.listen()
        threading.Thread(target=_accept, args=(server,), daemon=True).start()
        yield {"machine": str(secret), "port": str(port), "pid": str(os.getpid()), "address": _address()}


@pytest.mark.parametrize("user", ["candidate", "root"])
def test_no_probe_gets_through(provider: Provider, machine: dict[str, str], user: Any) -> None:
    """All in one room, each in a shell of its own, while another room is open beside it."""
    spec = RoomSpec(image=Image("host"), limits=Limits(time=120), user=user)
    with provider.provision(RoomSpec()) as other, provider.provision(spec) as room:
        other.run(Command("touch /tmp/other-room-file /dev/shm/other-room-file"))
        words = {**machine, "room": "other-room-file"}

        parts = [_script(words, [p for p in PROBES if not p.get("alone")])]
        parts += [_script(words, [probe]) for probe in PROBES if probe.get("alone")]
        answer = "".join(room.run(Command(part)).stdout.text for part in parts)

    assert _reached(answer) == []
    assert sorted(_finished(answer)) == sorted(probe["id"] for probe in PROBES)
    assert Path(machine["machine"]).read_text() == "machine-secret\n"


def test_there_are_enough_probes_of_each_kind_and_no_two_are_alike() -> None:
    commands = [re.sub(r"\s+", " ", probe["try"]) for probe in PROBES]

    assert len(PROBES) >= 40 and all(len(probes) >= 4 for probes in FAMILIES.values())
    assert len(set(commands)) == len({probe["id"] for probe in PROBES}) == len(PROBES)


@pytest.mark.parametrize(
    "probe", ["file_of_the_machine", "variables_of_the_machine", "loopback_of_the_machine"]
)
def test_a_probe_outside_of_rooms_gets_through(machine: dict[str, str], probe: str) -> None:
    """The control: the same words, where there is no room around them."""
    import subprocess

    command = next(each["try"] for each in PROBES if each["id"] == probe)
    for name, value in machine.items():
        command = command.replace("{" + name + "}", value)

    assert "REACHED" in subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout


def _script(words: dict[str, str], probes: list[dict[str, Any]]) -> str:
    """Every probe in a shell of its own, with ten seconds."""
    lines = []
    for probe in probes:
        command = probe["try"]
        for name, value in words.items():
            command = command.replace("{" + name + "}", value)
        quoted = command.replace("'", "'\\''")
        lines.append(f"echo 'probe {probe['id']}'; timeout -s KILL 10 /bin/sh -c '{quoted}' 2>/dev/null")
    return "\n".join(lines)


def _finished(answer: str) -> list[str]:
    return re.findall(r"^probe (\w+)$", answer, re.MULTILINE)


def _reached(answer: str) -> list[str]:
    parts = re.split(r"^probe ", answer, flags=re.MULTILINE)[1:]
    return [part.split("\n", 1)[0] for part in parts if "REACHED" in part]


def _address() -> str:
    """The machine's address on a network, where it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.2"


def _accept(server: socket.socket) -> None:
    try:
        while True:
            server.accept()[0].close()
    except OSError:
        pass
