"""What is kept of a stream that may never end: its head and its tail, and how much there was."""

from __future__ import annotations

from sandboxes.protocol import Output
from sandboxes.spec import OUTPUT_FLOOD


class Collector:
    """Takes a stream bit by bit and holds at most twice `limit` bytes of it, plus one piece.

    >>> kept = Collector(limit=4)
    >>> for piece in (b"abc", b"defg", b"h"):
    ...     kept.feed(piece)
    >>> kept.output()
    Output(head=b'ab', tail=b'gh', total=8)
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._flood = limit * OUTPUT_FLOOD
        self._head_size = limit // 2
        self._tail_size = limit - self._head_size
        self._head = bytearray()
        self._tail = bytearray()

    @property
    def flooded(self) -> bool:
        """Whether so much came that the command must be ended (`limit_hit:output`)."""
        return self.total > self._flood

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream; empty ones are fine."""
        self.total += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_size:  # seldom, so that a byte at a time costs no more
            self._trim()

    def output(self) -> Output:
        """What was kept so far, exact to the byte."""
        self._trim()
        return Output(bytes(self._head), bytes(self._tail), self.total)

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_size)]
