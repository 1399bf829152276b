"""Every container is locked in the same way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandboxes.docker.config import Base, Frame, container, environment
from sandboxes.seccomp import call_filter
from sandboxes.spec import MIB, Command, Limits, RoomSpec

TRUE = Command("true")
LIMITS = Limits(cpus=1.5, memory=100 * MIB, pids=50, open_files=99)


def made(command: Command = TRUE, parent: str = "", **spec: Any) -> dict[str, Any]:
    frame = Frame(Base("sha256:1"), RoomSpec(limits=LIMITS, **spec), {"proctor.room": "r"}, parent)
    return container(frame, command, [])


def test_a_container_has_no_network_no_rights_and_no_writable_root() -> None:
    body = made()

    host = body["HostConfig"]
    assert body["User"] == "1000:1000"
    assert (host["NetworkMode"], host["CapDrop"], host["CapAdd"]) == ("none", ["ALL"], [])
    assert host["SecurityOpt"] == [
        "no-new-privileges"
    ]  # and no seccomp option: the engine's own profile holds
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["Init"] is True


def test_limits_are_the_containers_own_where_the_room_has_no_group() -> None:
    host = made()["HostConfig"]

    assert (host["Memory"], host["MemorySwap"]) == (100 * MIB, 100 * MIB)
    assert (host["PidsLimit"], host["NanoCpus"]) == (50, 1_500_000_000)
    assert {"Name": "nofile", "Soft": 99, "Hard": 99} in host["Ulimits"]


def test_a_rooms_group_holds_the_limits_and_the_containers_are_a_little_looser() -> None:
    host = made(parent="/proctor/1-2/r")["HostConfig"]

    assert host["CgroupParent"] == "/proctor/1-2/r"
    assert 100 * MIB < host["Memory"] == host["MemorySwap"] < 200 * MIB
    assert 50 < host["PidsLimit"] < 100


def test_root_in_a_room_keeps_only_what_installing_needs() -> None:
    body = made(user="root")

    assert body["User"] == "0:0"
    assert "SYS_ADMIN" not in body["HostConfig"]["CapAdd"]
    assert body["HostConfig"]["CapDrop"] == ["ALL"]


def test_the_images_own_entry_point_and_health_check_are_not_run() -> None:
    assert made()["Entrypoint"] == ["/bin/sh", "-c", "true"]
    assert made(Command(("a", "b c")))["Entrypoint"] == ["a", "b c"]
    assert made()["Healthcheck"] == {"Test": ["NONE"]}


def test_an_init_of_the_image_is_put_before_the_command() -> None:
    frame = Frame(Base("sha256:1", init="/usr/bin/tini"), RoomSpec(), {})

    body = container(frame, Command(("x",)), [])

    assert body["Entrypoint"] == ["/usr/bin/tini", "--", "x"]
    assert body["HostConfig"]["Init"] is False


def test_the_nearer_environment_wins() -> None:
    lines = environment(["PATH=/image", "A=image", "odd"], {"A": "room", "B": "room"}, {"B": "command=1"})

    assert {"PATH=/image", "A=room", "B=command=1", "LANG=C.UTF-8", "TZ=UTC"} == set(lines)


def test_standard_input_is_open_only_when_there_is_some() -> None:
    assert made()["OpenStdin"] is False
    assert made(Command("cat", stdin=b"x"))["OpenStdin"] is True


def test_an_engine_that_can_take_it_gets_our_filter_of_system_calls() -> None:
    info = {"ServerVersion": "20.10.24+dfsg1", "SecurityOptions": ["name=seccomp,profile=default"]}

    filtered = container(Frame(Base("sha256:1"), RoomSpec(), {}, seccomp=call_filter(info)), Command("x"), ())

    no_new, given = filtered["HostConfig"]["SecurityOpt"]
    rules = json.loads(given.removeprefix("seccomp="))["syscalls"]
    assert no_new == "no-new-privileges"
    assert any("io_uring_setup" in rule["names"] for rule in rules)


@pytest.mark.parametrize(
    "info",
    [
        {},
        {"ServerVersion": "20.10.9", "SecurityOptions": ["name=seccomp"]},
        {"ServerVersion": "25.0.1", "SecurityOptions": ["name=apparmor"]},
        {"ServerVersion": "25.0.1", "SecurityOptions": ["name=seccomp"], "BuildahVersion": "1.33"},
    ],
)
def test_an_engine_that_cannot_take_it_keeps_its_own(info: dict[str, object]) -> None:
    assert call_filter(info) == ""
