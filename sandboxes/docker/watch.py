"""Listen to one container until its streams end, a limit is reached or it is evicted."""

from __future__ import annotations

import select
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Literal

from sandboxes.docker.frames import Frames
from sandboxes.errors import StreamBroken
from sandboxes.output import Collector
from sandboxes.protocol import Sink

TICK = 0.05
"""Seconds between two looks at the clock, the eviction flag and the kernel's counters."""
_FIRST_TICK = 0.004
"""The looks come closer together at first: a short command takes its counters with it quickly."""
_CHUNK = 1 << 18
_DRAIN = 5.0
"""Seconds the streams may still take after the container was told to die."""

Why = Literal["streams_ended", "time", "output", "evicted"]


@dataclass
class Heard:
    """What came out of the container so far."""

    limit: int
    stdout: Collector = field(init=False)
    stderr: Collector = field(init=False)
    broken: StreamBroken | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.stdout, self.stderr = Collector(self.limit), Collector(self.limit)


class Listener:
    """Reads the attached socket of one container, and writes its standard input meanwhile.

    sink: gets output as it arrives. look: called about every TICK seconds while the container runs.
    """

    def __init__(
        self, sock: Any, limit: int, stdin: bytes, sink: Sink | None, look: Callable[[], None]
    ) -> None:
        self.heard = Heard(limit)
        self._sock = sock
        self._stdin = memoryview(stdin)
        self._sending = bool(stdin)
        self._sink = sink
        self._look = look
        self._frames = Frames()
        self._next_look = 0.0
        self._tick = _FIRST_TICK
        self._over = False
        sock.setblocking(False)

    def refuse_early_end(self) -> None:
        """Raises StreamBroken when there is something to read before the container was started: it can only
        be the stream's end, and a short command would seem to have said nothing."""
        if select.select([self._sock], [], [], 0)[0]:
            raise StreamBroken("the engine let go of the output of a command before it began")

    def listen(self, began: float, timeout: float, evicted: threading.Event) -> Why:
        """Until the streams end, or something has to be done about the container."""
        end = began + timeout
        while True:
            now = monotonic()
            self.heard.seconds = now - began
            if evicted.is_set():
                return "evicted"
            if now >= end:
                return "time"
            if self.heard.stdout.flooded or self.heard.stderr.flooded:
                return "output"
            if now >= self._next_look:
                self._look()
                self._next_look = now + self._tick
                self._tick = min(TICK, self._tick * 1.5)
            if not self._turn(min(self._tick, end - now)):
                self.heard.seconds = monotonic() - began
                self._look()
                return "streams_ended"

    def drain(self, until: Callable[[], bool], patience: float = _DRAIN) -> None:
        """Take what is still on its way from a container that is being killed, until the streams end."""
        end = monotonic() + patience
        self._sending = False
        while not self._over and not until() and monotonic() < end:
            self._over = not self._turn(TICK)

    def _turn(self, wait: float) -> bool:
        """One wait and one piece; False when the streams have ended."""
        pending = getattr(self._sock, "pending", None)
        if not (pending and pending()):
            readable, writable, _ = select.select(
                [self._sock], [self._sock] if self._sending else [], [], max(0.0, wait)
            )
            if writable:
                self._send()
            if not readable:
                return True
        try:
            piece = self._sock.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError as error:
            self.heard.broken = StreamBroken(f"the engine's output stream broke off: {error}")
            return False
        return self._take(piece)

    def _take(self, piece: bytes) -> bool:
        try:
            if not piece:
                self._frames.finish()
                return False
            for stream, data in self._frames.feed(piece):
                (self.heard.stdout if stream == "stdout" else self.heard.stderr).feed(data)
                if self._sink is not None:
                    self._sink(stream, data)
        except StreamBroken as broken:
            self.heard.broken = broken
            return False
        return True

    def _send(self) -> None:
        try:
            self._stdin = self._stdin[self._sock.send(self._stdin[:_CHUNK]) :]
            if not self._stdin:
                self._sending = False
                half_close(self._sock)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # the command does not want to read all of it
            self._sending = False


def half_close(sock: Any) -> None:
    """Tell the other side that no more input comes, and go on reading."""
    import socket

    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        pass
