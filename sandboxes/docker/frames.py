"""Docker's multiplexed stream, taken apart: a byte of stream, three zero bytes, four of length, payload.

>>> frames = Frames()
>>> list(frames.feed(bytes([1, 0, 0, 0, 0, 0, 0, 2]) + b"o"))
[('stdout', b'o')]
>>> list(frames.feed(b"k"))
[('stdout', b'k')]
>>> frames.finish()
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from sandboxes.errors import StreamBroken

Stream = Literal["stdout", "stderr"]
HEADER = 8
_STREAMS: dict[int, Stream] = {0: "stdout", 1: "stdout", 2: "stderr"}


class Frames:
    """Takes pieces of any size and gives payload as it comes: memory stays flat whatever a header claims."""

    def __init__(self) -> None:
        self._header = bytearray()
        self._stream: Stream = "stdout"
        self._missing = 0

    def feed(self, piece: bytes) -> Iterator[tuple[Stream, bytes]]:
        """Yield (stream, payload) for what `piece` completes. Raises StreamBroken for bytes that cannot be
        a header. An empty frame is no end."""
        at = 0
        while at < len(piece):
            if self._missing:
                part = piece[at : at + self._missing]
                self._missing -= len(part)
                at += len(part)
                yield self._stream, part
            else:
                taken = piece[at : at + HEADER - len(self._header)]
                self._header += taken
                at += len(taken)
                if len(self._header) == HEADER:
                    self._open()

    def finish(self) -> None:
        """The stream has ended. Raises StreamBroken when it ended inside a frame."""
        if self._missing or self._header:
            what = f"{self._missing} bytes short" if self._missing else "inside a header"
            raise StreamBroken(f"the engine's output stream ended {what}; its tail is lost")

    def _open(self) -> None:
        number, padding = self._header[0], bytes(self._header[1:4])
        if number not in _STREAMS or padding != b"\0\0\0":
            raise StreamBroken(f"the engine's output stream holds no frame at {bytes(self._header)!r}")
        self._stream = _STREAMS[number]
        self._missing = int.from_bytes(self._header[4:], "big")
        self._header.clear()
