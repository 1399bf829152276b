"""The engine's multiplexed stream, whole and cut."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.docker.frames import Frames
from sandboxes.errors import StreamBroken

DATA = Path(__file__).parents[2] / "data" / "frames"
EXPECTED = json.loads((DATA / "expected.json").read_text())


def decoded(name: str) -> bytes:
    return base64.b64decode((DATA / name).read_text())


def fed(frames: Frames, data: bytes, size: int) -> dict[str, bytes]:
    got = {"stdout": b"", "stderr": b""}
    for at in range(0, len(data), size):
        for stream, piece in frames.feed(data[at : at + size]):
            got[stream] += piece
    return got


@pytest.mark.parametrize("size", EXPECTED["split_sizes_to_try"])
def test_the_same_bytes_come_out_however_the_stream_is_cut_up(size: int) -> None:
    frames = Frames()

    got = fed(frames, decoded("stream.b64"), size)
    frames.finish()

    assert got["stdout"] == base64.b64decode(EXPECTED["stdout_b64"])
    assert got["stderr"].decode() == EXPECTED["stderr"]


def test_a_stream_that_ends_inside_a_frame_is_broken_and_what_came_is_kept() -> None:
    frames = Frames()

    got = fed(frames, decoded("stream-cut.b64"), 4096)

    assert got["stdout"] or got["stderr"]
    with pytest.raises(StreamBroken, match="bytes short"):
        frames.finish()


def test_a_stream_that_ends_inside_a_header_is_broken() -> None:
    frames = Frames()

    list(frames.feed(b"\1\0\0"))

    with pytest.raises(StreamBroken, match="header"):
        frames.finish()


@pytest.mark.parametrize("header", [b"\7\0\0\0\0\0\0\1", b"\1\0\1\0\0\0\0\1", b"HTTP/1.1"])
def test_bytes_that_are_no_header_are_refused(header: bytes) -> None:
    with pytest.raises(StreamBroken, match="no frame"):
        list(Frames().feed(header))


def test_a_header_that_promises_four_gigabytes_costs_no_memory() -> None:
    frames = Frames()

    got = list(frames.feed(b"\1\0\0\0\xff\xff\xff\xff" + b"x" * 10))

    assert got == [("stdout", b"x" * 10)]


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=40)), max_size=20),
    st.integers(min_value=1, max_value=60),
)
def test_any_frames_in_any_pieces_come_out_in_order(frames_in: list[tuple[int, bytes]], size: int) -> None:
    raw = b"".join(bytes([n, 0, 0, 0]) + len(data).to_bytes(4, "big") + data for n, data in frames_in)
    frames = Frames()

    got = fed(frames, raw, size)
    frames.finish()

    assert got["stdout"] == b"".join(data for n, data in frames_in if n == 1)
    assert got["stderr"] == b"".join(data for n, data in frames_in if n == 2)
