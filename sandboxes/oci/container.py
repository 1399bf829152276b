"""One command in one container, from its start to the kernel's word on its end."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandboxes.cgroups import Cgroup, Counters
from sandboxes.errors import EngineGone, Evicted, ProvisionFailed, SandboxLost
from sandboxes.oci.config import Surroundings, config
from sandboxes.oci.pidspace import PidSpace
from sandboxes.oci.runtime import (
    Runtime,
    last_words,
    says_missing_binary,
    says_no_memory,
    says_no_processes,
    says_not_executed,
)
from sandboxes.output import Collector
from sandboxes.protocol import Done, EndWord, Sink, Usage
from sandboxes.scratch import Scratch, host_full
from sandboxes.spec import MIB, Command, parent_of

START_PATIENCE = 60.0
"""Seconds a runtime may take to start a container before it counts as gone."""
_GLANCE = 0.1
"""Seconds between two looks at how full the scratch is."""
_PIPE_SIZE = MIB
_CHUNK = 256 * 1024
Stream = Literal["stdout", "stderr"]
Stop = Literal["", "time", "output", "evicted"]


@dataclass
class Container:
    """Runs one command. Used once, by one thread."""

    name: str
    folder: Path
    """Holds the bundle and the runtime's state; removed at the end."""
    around: Surroundings
    runtime: Runtime
    scratch: Scratch
    cgroup_path: str
    wake: int
    """Becomes readable when the room is evicted."""
    inside: tuple[str, ...] = ()
    """A command prefix that enters the namespaces of an ordinary user's room."""

    def run(self, command: Command, sink: Sink | None) -> Done:
        """See `Sandbox.run`."""
        self._filled = self._reaped = False
        with _pipes(sink, self.around.spec.limits.output) as pipes, self._surrounded() as (space, cgroup):
            code = self._start(command, space, pipes)
            if code != 0:
                self._reap_unwatched(space)
                space.close()
                return self._never_ran(pipes, cgroup.counters(), code)
            began = time.monotonic()
            stop, status, lost = self._watch(space, pipes, began, self._patience(command))
            seconds = time.monotonic() - began
            space.close()  # nothing writes and nothing is counted any more
            pipes.drain()
            counters = cgroup.counters()
        if stop == "evicted":
            raise Evicted("the room was closed while a command ran in it")
        return self._judge(pipes, counters, status, stop, lost, seconds)

    @contextmanager
    def _surrounded(self) -> Iterator[tuple[PidSpace, Cgroup]]:
        """What lasts as long as the command, whatever happens: processes, control group, bundle."""
        cgroup = Cgroup.at(self.cgroup_path)
        space = PidSpace.within(self.inside) if self.inside else PidSpace.open()
        try:
            yield space, cgroup
        finally:
            self._reap_unwatched(space)
            space.close()
            if not cgroup.remove():
                cgroup.kill()
                cgroup.remove()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _reap_unwatched(self, space: PidSpace) -> None:
        """After an interruption between start and end, and after a runtime that died once it had started the
        command: the namespace cannot end before our children in it are waited for."""
        if self._reaped:
            return
        space.kill()
        if (self.folder / "pid").exists():
            try:
                _status(self._pid())
            except SandboxLost:
                pass  # the start itself failed, and the runtime has waited
        _reap_strays(self.cgroup_path)
        self._reaped = True

    def _patience(self, command: Command) -> float:
        own = self.around.spec.limits.time
        return own if command.timeout is None else min(own, command.timeout)

    def _start(self, command: Command, space: PidSpace, pipes: _Pipes) -> int:
        """Have the runtime start the command; the runtime's exit code."""
        bundle = self.folder
        bundle.mkdir()
        plan = config(self.around, command, pid_namespace=space.path, cgroup=self.cgroup_path)
        (bundle / "config.json").write_text(json.dumps(plan), encoding="utf-8")
        argv = list(self.inside) + self.runtime.run(bundle / "state", bundle, bundle / "pid", self.name)
        with _stdin(command.stdin) as stdin:
            try:
                out, err = pipes.stdout_end, pipes.stderr_end
                starter = subprocess.Popen(argv, stdin=stdin, stdout=out, stderr=err, start_new_session=True)
            except OSError as error:
                raise EngineGone(f"{self.runtime.path} could not be started: {error}") from error
        pipes.close_our_ends()
        return self._await_starter(starter, space, pipes)

    def _await_starter(self, starter: subprocess.Popen[bytes], space: PidSpace, pipes: _Pipes) -> int:
        # an eviction waits for the start to be over: it takes milliseconds, and half a start has no owner
        try:
            handle = os.pidfd_open(starter.pid)
        except OSError:
            starter.kill()
            starter.wait()
            raise
        end = time.monotonic() + START_PATIENCE
        try:
            while not pipes.wait(end - time.monotonic(), handle):
                if time.monotonic() > end:
                    starter.kill()
                    space.kill()
                    _reap_strays(self.cgroup_path)
                    raise EngineGone(f"{self.runtime.path} started nothing in {START_PATIENCE:.0f} s")
        finally:
            os.close(handle)
            starter.wait()
        return starter.returncode

    def _watch(self, space: PidSpace, pipes: _Pipes, began: float, patience: float) -> tuple[Stop, int, bool]:
        """Read the output until the command ends or must be ended; why, the kernel's status, and whether
        somebody else ended the room."""
        pid = self._pid()
        handle = os.pidfd_open(pid)
        stop: Stop = ""
        try:
            while not stop and not _ready(handle):
                left = began + patience - time.monotonic()
                if _ready(self.wake):
                    stop = "evicted"
                elif left <= 0:
                    stop = "time"
                elif pipes.flooded:
                    stop = "output"
                else:
                    pipes.wait(min(left, _GLANCE), handle, self.wake)
                    self._filled = self._filled or self.scratch.full()
        finally:
            os.close(handle)
            # an ordinary user's init belongs to the same user as the command, which may have ended it itself
            lost = not space.alive and not self.around.rootless
            space.kill()
            status = _status(pid)
            self._reaped = True
        return stop, status, lost

    def _pid(self) -> int:
        try:
            pid = int((self.folder / "pid").read_text(encoding="ascii"))
        except (OSError, ValueError) as error:
            raise SandboxLost(f"the runtime did not say which process it started: {error}") from error
        if parent_of(pid) != os.getpid():
            raise SandboxLost(f"the runtime named process {pid}, which is none of this room")
        return pid

    def _never_ran(self, pipes: _Pipes, counters: Counters, code: int) -> Done:
        pipes.drain()
        words = last_words(pipes.err.output().text + pipes.out.output().text)
        end: EndWord
        if counters.memory_kills or says_no_memory(words):
            end = "limit_hit:memory"
        elif counters.refused_forks or says_no_processes(words):
            end = "limit_hit:pids"
        elif says_missing_binary(words):
            end = "missing_binary"
        else:
            raise ProvisionFailed(f"{self.runtime.path} (exit {code}): {words}")
        said = Collector(_CHUNK)
        said.feed(f"{words}\n".encode())
        return Done(end, None, None, Collector(0).output(), said.output(), 0.0, _usage(counters))

    def _judge(
        self, pipes: _Pipes, counters: Counters, status: int, stop: Stop, lost: bool, seconds: float
    ) -> Done:
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        end = self._end(pipes, counters, code, stop)
        if end == "exited" and code == 1 and says_not_executed(pipes.out.output(), pipes.err.output()):
            end, code = "missing_binary", None
        if not stop and end == "signalled" and lost:
            raise SandboxLost("the room's init was ended from outside, and the command with it")
        if not (end == "exited" and code == 0) and host_full(self.folder.parent):
            raise SandboxLost("the machine's own disk is full: what happens in a room now means nothing")
        out, err = pipes.out.output(), pipes.err.output()
        if end == "signalled" and number is not None:
            return Done(end, 128 + number, number, out, err, seconds, _usage(counters))
        return Done(end, code, None, out, err, seconds, _usage(counters))

    def _end(self, pipes: _Pipes, counters: Counters, code: int | None, stop: Stop) -> EndWord:
        limit = self.around.spec.limits.memory
        if counters.memory_kills:
            peak = counters.peak_memory
            if peak is not None and peak < limit * 0.9 and "memory" in self.around.enforced:
                raise SandboxLost("the machine itself ran out of memory and killed the command")
            return "limit_hit:memory"
        if code != 0 and counters.refused_forks:
            return "limit_hit:pids"
        if code != 0 and (self._filled or self.scratch.full()):
            return "limit_hit:disk"
        if stop == "output" or pipes.flooded:
            return "limit_hit:output"
        if stop == "time":
            return "limit_hit:time"
        return "exited" if code is not None else "signalled"


class _Pipes:
    """Both output streams of a command: read as they come, kept within bounds."""

    def __init__(self, sink: Sink | None, limit: int) -> None:
        self.out, self.err = Collector(limit), Collector(limit)
        self._sink = sink
        self._out_fd, self.stdout_end = os.pipe2(os.O_CLOEXEC)
        self._err_fd, self.stderr_end = os.pipe2(os.O_CLOEXEC)
        self._open: dict[int, tuple[Stream, Collector]] = {
            self._out_fd: ("stdout", self.out),
            self._err_fd: ("stderr", self.err),
        }
        for fd in self._open:
            os.set_blocking(fd, False)
            try:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
            except OSError:
                pass  # only fewer bytes at a time

    @property
    def flooded(self) -> bool:
        return self.out.flooded or self.err.flooded

    def close_our_ends(self) -> None:
        for fd in (self.stdout_end, self.stderr_end):
            if fd >= 0:
                os.close(fd)
        self.stdout_end = self.stderr_end = -1

    def wait(self, seconds: float, *others: int) -> bool:
        """Read what comes until something comes, `seconds` pass or one of `others` is ready (True)."""
        poll = select.poll()
        for fd in (*self._open, *others):
            poll.register(fd, select.POLLIN)
        ready = [fd for fd, _ in poll.poll(max(0.0, seconds) * 1000)]
        for fd in ready:
            if fd in self._open:
                self._read(fd)
        return any(fd in others for fd in ready)

    def drain(self) -> None:
        """Read what the dead left behind in the pipes."""
        for fd in list(self._open):
            while fd in self._open and self._read(fd):
                pass

    def close(self) -> None:
        self.close_our_ends()
        for fd in (self._out_fd, self._err_fd):
            os.close(fd)

    def _read(self, fd: int) -> bool:
        name, collector = self._open[fd]
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            del self._open[fd]
            return False
        collector.feed(data)
        if self._sink is not None:
            self._sink(name, data)
        return True


@contextmanager
def _pipes(sink: Sink | None, limit: int) -> Iterator[_Pipes]:
    pipes = _Pipes(sink, limit)
    try:
        yield pipes
    finally:
        pipes.close()


@contextmanager
def _stdin(data: bytes) -> Iterator[int]:
    """A file that holds the standard input; nobody can write to it any more."""
    if not data:
        yield subprocess.DEVNULL
        return
    handle = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
        yield handle
    finally:
        os.close(handle)


def _ready(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _status(pid: int) -> int:
    try:
        return os.waitpid(pid, 0)[1]
    except ChildProcessError:
        raise SandboxLost(f"process {pid} ended, but its end was told to somebody else") from None


def _reap_strays(cgroup: str) -> None:
    """Wait for processes of a broken-off start: they fall to us, and their namespace waits for us."""
    for listing in Path("/proc/self/task").glob("*/children"):
        for word in listing.read_text(encoding="ascii").split():
            try:
                ours = cgroup in Path(f"/proc/{word}/cgroup").read_text(encoding="utf-8")
                if ours:
                    os.waitpid(int(word), 0)
            except (OSError, ChildProcessError):
                continue


def _usage(counters: Counters) -> Usage:
    return Usage(counters.peak_memory, counters.cpu_seconds, counters.throttled_seconds)
