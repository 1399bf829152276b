"""A PID namespace with an init of ours as its PID 1, into which the runtime starts one command.

Three things follow. The command is a child of this very process, so its end is the kernel's own word:
an exit code and a signal cannot be confused or forged. Orphans are adopted and reaped by the init. And
ending the init ends everything: the kernel kills the whole namespace before `close` returns, and it does
the same should this process die, for the init ends when its standard input closes.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from sandboxes.errors import EngineGone, ProvisionFailed

_CLONE_NEWPID = 0x20000000
_PR_SET_CHILD_SUBREAPER = 36
_PF_EXITING = 0x4
_NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)


class PidSpace:
    """An open namespace. `close` it; idempotent."""

    def __init__(self, init: subprocess.Popen[bytes]) -> None:
        self._init = init

    @classmethod
    def open(cls) -> PidSpace:
        """Start one. Raises ProvisionFailed when the kernel refuses, EngineGone when there is no shell."""
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:
            # holds for children of this thread alone; nothing but the one Popen happens before it is undone
            if _libc.unshare(_CLONE_NEWPID) != 0:
                raise ProvisionFailed(f"no new PID namespace: {os.strerror(ctypes.get_errno())}")
            try:
                return cls(_start_init())
            finally:
                if _libc.setns(own, _CLONE_NEWPID) != 0:
                    raise EngineGone("this thread could not return to its own PID namespace")
        finally:
            os.close(own)

    @property
    def path(self) -> str:
        """Where the runtime finds the namespace."""
        return f"/proc/{self._init.pid}/ns/pid"

    @property
    def alive(self) -> bool:
        """False when the init was ended by somebody else, though what it takes along may still be ending."""
        try:
            stat = Path(f"/proc/{self._init.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return False
        flags = int(stat.rpartition(")")[2].split()[6])
        return not flags & _PF_EXITING

    def kill(self) -> None:
        """End every process in it. The kernel does it; `close` waits for it to be done."""
        self._init.kill()

    def close(self) -> None:
        """End every process and wait until none is left. Children of ours in it must be waited for first."""
        self._init.kill()
        self._init.wait()
        if self._init.stdin:
            self._init.stdin.close()


def adopt_orphans() -> None:
    """Make this process the one to which a detached container's process falls."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise EngineGone("the kernel does not let this process adopt its containers")


def _start_init() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            init_argv(),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            bufsize=0,
        )
    except OSError as error:
        raise EngineGone(f"the room's init could not be started: {error}") from error


@cache
def init_argv() -> tuple[str, ...]:
    """The command of PID 1: it reaps, and it ends when its standard input does."""
    plain = ("setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--no-new-privs")
    setpriv = shutil.which("setpriv")
    drop = (setpriv, *plain[1:], "--bounding-set=-all", "--") if setpriv else ()
    for name in ("tini", "docker-init"):
        for folder in ("/usr/bin", "/usr/libexec/docker", "/usr/local/bin", "/sbin"):
            if Path(folder, name).exists():
                return (*drop, str(Path(folder, name)), "-s", "--", "/bin/cat")
    # a shell that waits reaps whatever falls to it; its own child ends at the end of the input
    return (*drop, "/bin/sh", "-c", "exec 3<&0; cat <&3 >/dev/null & wait $!")
