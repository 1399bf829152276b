"""For an ordinary user: a user and a mount namespace in which a room's file system can be mounted.

The keeper is one sleeping process. The overlay lives in its mount namespace, the runtime is started in
its namespaces, and this process reaches the room's files through /proc/<keeper>/root. When the keeper
ends (it does when this process dies) the mounts are gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sandboxes.errors import ProvisionFailed

_TOOLS = ("unshare", "nsenter", "mount")
_MOUNT = """
mount -t overlay overlay -o "$1" "$2" || exit 1
echo mounted
exec cat
"""


class Keeper:
    """A mounted room of an ordinary user. `close` it; idempotent."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @classmethod
    def open(cls, lowers: Sequence[Path], upper: Path, work: Path, at: Path) -> Keeper:
        """Mount the overlay at `at`, seen only inside. Raises ProvisionFailed with the kernel's reason."""
        for path in (upper, work, at):
            path.mkdir(parents=True, exist_ok=True)
        places = f"lowerdir={':'.join(map(str, lowers))},upperdir={upper},workdir={work},userxattr"
        argv = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private", "--"]
        process = subprocess.Popen(
            [*argv, "/bin/sh", "-c", _MOUNT, "sh", places, str(at)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            bufsize=0,
            start_new_session=True,
        )
        keeper = cls(process)
        assert process.stdout is not None and process.stderr is not None
        if process.stdout.readline() != b"mounted\n":
            reason = process.stderr.read().decode("utf-8", "replace").strip()
            keeper.close()
            raise ProvisionFailed(f"no room can be mounted for an ordinary user here: {reason}")
        return keeper

    @property
    def inside(self) -> tuple[str, ...]:
        """What to put before a command so that it runs in the namespaces, as their root."""
        return ("nsenter", "-t", str(self._process.pid), "--user", "--mount", "--preserve-credentials", "--")

    def seen(self, path: Path) -> Path:
        """How this process reaches a path of the keeper's mount namespace."""
        return Path(f"/proc/{self._process.pid}/root{path}")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def problem() -> str:
    """Why an ordinary user cannot have rooms on this machine; empty when they can be tried."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return (
            f"rooms of an ordinary user need {', '.join(missing)}: install util-linux and mount, or use sudo"
        )
    for name, bad in (
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
    ):
        try:
            value = Path("/proc/sys", name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == bad:
            setting = name.replace("/", ".")
            return f"rooms of an ordinary user need user namespaces ({setting} is {bad} here): use sudo"
    return ""


def remove_tree(folder: Path) -> None:
    """Remove a folder of this user, folders in it that nobody may enter included. Never raises."""
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder)], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)
