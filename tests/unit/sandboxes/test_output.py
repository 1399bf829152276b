"""Bounded output: exact to the byte, however the stream was cut into pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandboxes.output import Collector


@given(st.lists(st.binary(max_size=9), max_size=12), st.integers(0, 30))
def test_head_and_tail_are_exact_however_the_stream_is_cut(pieces: list[bytes], limit: int) -> None:
    whole = b"".join(pieces)
    kept = Collector(limit)
    for piece in pieces:
        kept.feed(piece)
    found = kept.output()

    assert found.total == len(whole)
    if len(whole) <= limit:
        assert found.head + found.tail == whole and not found.truncated
    else:
        assert (found.head, found.tail) == (whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :])
        assert found.truncated


def test_memory_stays_flat_while_a_stream_goes_on() -> None:
    kept = Collector(1000)
    for _ in range(1000):
        kept.feed(b"x" * 700)

    assert kept.flooded and len(kept._tail) <= 1000 + 700
