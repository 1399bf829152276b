"""A PID namespace with an init of ours as its PID 1, into which the runtime starts one command.

Three things follow. The command is a child of this very process, so its end is the kernel's own word:
an exit code and a signal cannot be confused or forged. Orphans are adopted and reaped by the init. And
ending the init ends everything: the kernel kills the whole namespace before `close` returns, and it does
the same should this process die, for the init ends when its standard input closes.
"""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import signal
import subprocess
import time
from functools import cache
from pathlib import Path

from sandboxes.errors import EngineGone, ProvisionFailed

_CLONE_NEWPID = 0x20000000
_PR_SET_CHILD_SUBREAPER = 36
_PF_EXITING = 0x4
_NOBODY = 65534
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


class PidSpace:
    """An open namespace. `close` it; idempotent."""

    def __init__(self, starter: subprocess.Popen[bytes], pid: int) -> None:
        self._starter = starter
        self._pid = pid

    @classmethod
    def within(cls, inside: tuple[str, ...]) -> PidSpace:
        """Start one for an ordinary user; `inside` enters its namespaces (keeper). Raises ProvisionFailed."""
        starter = _start((*inside, "unshare", "--pid", "--fork", "--kill-child", "--", *init_argv()))
        pid = _child_of(starter)
        if pid is None:
            starter.kill()
            starter.wait()
            raise ProvisionFailed("no new PID namespace could be made for an ordinary user")
        return cls(starter, pid)

    @classmethod
    def open(cls) -> PidSpace:
        """Start one. Raises ProvisionFailed when the kernel refuses, EngineGone when there is no shell."""
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        try:
            # holds for children of this thread alone; nothing but the one Popen happens before it is undone
            if _libc.unshare(_CLONE_NEWPID) != 0:
                raise ProvisionFailed(f"no new PID namespace: {os.strerror(ctypes.get_errno())}")
            try:
                init = _start((*_nobody(), *init_argv()))
                return cls(init, init.pid)
            finally:
                if _libc.setns(own, _CLONE_NEWPID) != 0:
                    raise EngineGone("this thread could not return to its own PID namespace")
        finally:
            os.close(own)

    @property
    def path(self) -> str:
        """Where the runtime finds the namespace."""
        return f"/proc/{self._pid}/ns/pid"

    @property
    def alive(self) -> bool:
        """False when the init was ended by somebody else, though what it takes along may still be ending."""
        try:
            stat = Path(f"/proc/{self._pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return False
        flags = int(stat.rpartition(")")[2].split()[6])
        return not flags & _PF_EXITING

    def kill(self) -> None:
        """End every process in it. The kernel does it; `close` waits for it to be done."""
        if self._starter.returncode is None:
            try:
                os.kill(self._pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self) -> None:
        """End every process and wait until none is left. Children of ours in it must be waited for first."""
        self.kill()
        try:
            self._starter.wait(timeout=30)
        except subprocess.TimeoutExpired:
            _log.warning("process %d does not end; something of it waits to be reaped", self._pid)
        if self._starter.stdin:
            self._starter.stdin.close()


def adopt_orphans() -> None:
    """Make this process the one to which a detached container's process falls."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise EngineGone("the kernel does not let this process adopt its containers")


def _start(argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            env={"PATH": _PATH},
            bufsize=0,
            start_new_session=True,  # a Ctrl-C at the terminal is for us to answer
        )
    except OSError as error:
        raise EngineGone(f"the room's init could not be started: {error}") from error


def _child_of(starter: subprocess.Popen[bytes], patience: float = 10.0) -> int | None:
    """The only child of a process that forks once, when it is there."""
    listing = Path(f"/proc/{starter.pid}/task/{starter.pid}/children")
    end = time.monotonic() + patience
    while starter.poll() is None and time.monotonic() < end:
        words = listing.read_text(encoding="ascii").split()
        if words:
            return int(words[0])
        time.sleep(0.0005)
    return None


@cache
def init_argv() -> tuple[str, ...]:
    """The command of PID 1: it reaps, and it ends when its standard input does."""
    for name in ("tini", "docker-init"):
        for folder in ("/usr/bin", "/usr/libexec/docker", "/usr/local/bin", "/sbin"):
            if Path(folder, name).exists():
                return (str(Path(folder, name)), "-s", "--", "/bin/cat")
    # a shell that waits reaps whatever falls to it; its own child ends at the end of the input
    return ("/bin/sh", "-c", "exec 3<&0; cat <&3 >/dev/null & wait $!")


@cache
def _nobody() -> tuple[str, ...]:
    """A command prefix that gives up every right, where the machine has it."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    user = (f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups")
    return (setpriv, *user, "--no-new-privs", "--bounding-set=-all", "--")
