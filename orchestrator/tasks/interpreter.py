"""The Python of a room: which wheels run there."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.tasks.memo import Memo
from orchestrator.worktree.trees import TreeStore
from sandboxes.protocol import Provider
from sandboxes.spec import Command, Image, RoomSpec

_GLIBC = (41, 40, 39, 38, 37, 36, 35, 34, 31, 28, 27, 24, 17, 12, 5)
"""Minor versions of glibc 2 that wheels are built for."""
_ASK = """\
import json, os, platform
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
except (ValueError, OSError):
    libc = ""
print(json.dumps({"version": platform.python_version(), "machine": platform.machine(), "libc": libc}))
"""


@dataclass(frozen=True)
class Interpreter:
    """CPython on Linux."""

    version: str
    """"3.11.2"."""
    machine: str = "x86_64"
    libc: str = "glibc 2.36"
    """Empty: musl."""

    @property
    def platforms(self) -> tuple[str, ...]:
        """Tags of the wheels that run there, the newest first.

        >>> Interpreter("3.11.2", "aarch64", "glibc 2.28").platforms[0]
        'manylinux_2_28_aarch64'
        """
        if not self.libc.startswith("glibc 2."):
            return (f"musllinux_1_2_{self.machine}", f"musllinux_1_1_{self.machine}")
        own = int(self.libc.removeprefix("glibc 2.").split(".")[0])
        return tuple(f"manylinux_2_{minor}_{self.machine}" for minor in _GLIBC if minor <= own)

    @property
    def short(self) -> str:
        """ "3.11"."""
        return ".".join(self.version.split(".")[:2])

    @property
    def options(self) -> tuple[str, ...]:
        """What pip is told, so that it takes wheels for this Python."""
        words = ["--only-binary", ":all:", "--python-version", self.short, "--implementation", "cp"]
        return (*words, *(word for tag in self.platforms for word in ("--platform", tag)))

    @property
    def markers(self) -> Mapping[str, str]:
        """What conditions in requirements are held against."""
        return {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": self.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": self.version,
            "python_version": self.short,
            "sys_platform": "linux",
        }


HOST_PYTHON = Interpreter("3.11.2", platform.machine())
"""Debian 12's, on a machine like this one: for whoever has no room to ask."""


def of_room(image: Image, provider: Provider, store: TreeStore) -> Interpreter | None:
    """The `python3` of rooms of `image`, asked once per image; None when they have none.

    Raises sandboxes.errors.SandboxError kin.
    """

    def work() -> dict[str, Any]:
        with provider.provision(RoomSpec(image=image, label="which python")) as room:
            done = room.run(Command(("python3", "-I", "-c", _ASK), timeout=60))
        return {"python": json.loads(done.stdout.data)} if done.ok else {}

    answer = Memo(store).get(["python", 1, provider.name, provider.prepare(image)], work)
    return Interpreter(**answer["python"]) if answer else None
