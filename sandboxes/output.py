"""What is kept of a stream that may never end: its head and its tail, and how much there was."""

from __future__ import annotations

from collections import deque

from sandboxes.protocol import Output
from sandboxes.spec import OUTPUT_FLOOD


class Collector:
    """Takes a stream bit by bit and holds at most `limit` bytes of it (plus one chunk).

    >>> kept = Collector(limit=4)
    >>> for piece in (b"abc", b"defg", b"h"):
    ...     kept.feed(piece)
    >>> kept.output()
    Output(head=b'ab', tail=b'gh', total=8)
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._flood = limit * OUTPUT_FLOOD
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    @property
    def flooded(self) -> bool:
        """Whether so much came that the command must be ended (`limit_hit:output`)."""
        return self.total > self._flood

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream; empty ones are fine."""
        self.total += len(data)
        if self._head_room:
            self._head.append(data[: self._head_room])
            taken = len(self._head[-1])
            self._head_room -= taken
            data = data[taken:]
        if data:
            self._tail.append(data[-self._tail_room :] if self._tail_room else b"")
            self._tail_size += len(self._tail[-1])
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        while self._tail and self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    def output(self) -> Output:
        """What was kept so far, exact to the byte."""
        tail = b"".join(self._tail)
        return Output(b"".join(self._head), tail[-self._tail_room :] if self._tail_room else b"", self.total)
