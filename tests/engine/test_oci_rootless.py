"""Rooms of an ordinary user: what holds without root, and what is honestly said not to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.oci
USER = "proctor-rootless"
PYTHON = "/usr/bin/python3"
_PRELUDE = """
import json, sys
from dataclasses import replace
from sandboxes.oci import OciProvider
from sandboxes.spec import *
oci = OciProvider(Owner.current("rootless"))
state = Layer("state", "/workspace", lambda: [Entry(b"a/f", 0o100644, b"1")], writable=True)
tools = Layer("tools", "/workspace/tools", lambda: [Entry(b"t", 0o100755, b"#!/bin/sh\\necho ours\\n")])
def say(value): print(json.dumps(value))
"""


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of a user made for this test, with a copy of the package that it can read."""
    missing = [tool for tool in ("useradd", "runc") if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing or not Path(PYTHON).exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            f"needs root, {PYTHON}, useradd and runc: {missing}"
        )
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", USER], check=True)
    home = Path(f"/home/{USER}")
    try:
        package = Path(__file__).parents[2] / "sandboxes"
        shutil.copytree(package, home / "code/sandboxes", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["chmod", "-R", "a+rX", str(home)], check=True)
        yield home
    finally:
        subprocess.run(["userdel", "--remove", USER], capture_output=True)


def ask(home: Path, source: str) -> Any:
    """Run a few lines as that user; what they `say`."""
    words = f"unset PROCTOR_HOME; cd && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={home}/code exec {PYTHON} -"
    script = _PRELUDE + source + "\noci.close()\n"
    done = subprocess.run(
        ["su", USER, "-c", words], input=script, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_what_cannot_be_limited_is_named_and_refused_when_asked_for(ordinary: Path) -> None:
    found = ask(
        ordinary,
        """
from sandboxes.errors import LimitUnenforceable
seen = oci.capabilities()
try:
    with oci.provision(RoomSpec(limits=Limits(asked=frozenset({"memory"})))): refused = ""
except LimitUnenforceable as error:
    refused = str(error)
say([seen.available, list(seen.unenforced), refused])
""",
    )

    assert found[:2] == [True, ["cpus", "memory", "pids", "disk"]] and "memory" in found[2]


def test_commands_end_as_they_do_for_root(ordinary: Path) -> None:
    found = ask(
        ordinary,
        """
with oci.provision(RoomSpec(limits=Limits(output=1000))) as room:
    commands = ["exit 7", "exit 137", "kill -9 $$", "exec yes", "sleep 300 & echo done", ("nope",)]
    ends = [room.run(Command(words)) for words in commands] + [room.run(Command("sleep 60", timeout=1))]
say([[done.end, done.exit_code] for done in ends])
""",
    )

    assert found == [
        ["exited", 7],
        ["exited", 137],
        ["signalled", 137],
        ["limit_hit:output", None],
        ["exited", 0],
        ["missing_binary", None],
        ["limit_hit:time", None],
    ]


def test_the_walls_stand_without_root_too(ordinary: Path) -> None:
    found = ask(
        ordinary,
        """
with oci.provision(RoomSpec(layers=(state, tools))) as room:
    look = "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status"
    status = room.run(Command(look)).stdout.text.split()
    attempts = ["touch /x", "touch /etc/x", "touch tools/x", "mv tools gone", "mount -t tmpfs none /tmp",
                "unshare -Ur true", "ls /home/proctor-rootless", "kill -9 $PPID"]
    opened = [words for words in attempts if room.run(Command(words)).ok]
    net = room.run(Command("ls /sys/class/net")).stdout.text
say([status, opened, net])
""",
    )

    assert set(found[0][1::2]) == {"0000000000000000", "1", "2"}
    assert (found[1], found[2]) == ([], "lo\n")


def test_files_go_in_and_come_out_and_nothing_stays(ordinary: Path) -> None:
    found = ask(
        ordinary,
        """
with oci.provision(RoomSpec(layers=(state, tools))) as room:
    room.run(Command("echo 2 > a/f; mkdir -p d/e; touch d/e/g; chmod 0 d; ln -s / up"))
    room.write([Entry(b"new/n", 0o100755, b"3")], "/workspace", owner="candidate")
    room.remove([b"up"], "/workspace")
    read = room.read("/workspace/a/f", 10).decode()
    kept = room.run(Command("cat new/n a/f")).stdout.text
with oci.provision(RoomSpec(layers=(state,))) as room:
    again = [entry.data.decode() for entry in room.export("/workspace")]
say([read, kept, again])
""",
    )

    assert found == ["2\n", "32\n", ["1"]]
    assert list((ordinary / ".cache/proctor/rooms").glob("*")) == []
    left = subprocess.run(["ps", "-u", USER, "-o", "args="], capture_output=True, text=True).stdout
    assert left == ""
