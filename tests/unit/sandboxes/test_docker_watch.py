"""Listening to a container, with a socket pair in the engine's place."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from time import monotonic

import pytest

from sandboxes.docker.watch import Listener
from sandboxes.errors import StreamBroken
from sandboxes.spec import OUTPUT_FLOOD


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, engines = socket.socketpair()
    yield ours, engines
    ours.close()
    engines.close()


def frame(data: bytes, stream: int = 1) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def listener(
    sock: socket.socket, limit: int = 1000, stdin: bytes = b"", seen: list[bytes] | None = None
) -> Listener:
    sink = None if seen is None else lambda stream, data: seen.append(data)
    return Listener(sock, limit, stdin, sink, look=lambda: None)


def test_output_is_kept_and_handed_on_as_it_comes(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engines = pair
    seen: list[bytes] = []
    engines.sendall(frame(b"out") + frame(b"err", 2))
    engines.close()
    listening = listener(ours, seen=seen)

    why = listening.listen(monotonic(), 5, threading.Event())

    assert why == "streams_ended"
    assert listening.heard.stdout.output().data == b"out"
    assert listening.heard.stderr.output().data == b"err"
    assert seen == [b"out", b"err"]


def test_a_stream_that_ends_before_the_command_begins_is_broken(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, engines = pair
    listener(ours).refuse_early_end()
    engines.close()

    with pytest.raises(StreamBroken, match="before it began"):
        listener(ours).refuse_early_end()


def test_silence_ends_at_the_time_limit(pair: tuple[socket.socket, socket.socket]) -> None:
    assert listener(pair[0]).listen(monotonic(), 0.01, threading.Event()) == "time"


def test_an_eviction_is_heard_in_silence(pair: tuple[socket.socket, socket.socket]) -> None:
    evicted = threading.Event()
    evicted.set()

    assert listener(pair[0]).listen(monotonic(), 60, evicted) == "evicted"


def test_a_flood_is_stopped_and_memory_stays_flat(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engines = pair
    flood = frame(b"x" * (100 * OUTPUT_FLOOD + 1))
    sender = threading.Thread(target=engines.sendall, args=(flood,), daemon=True)
    sender.start()
    listening = listener(ours, limit=100)

    why = listening.listen(monotonic(), 10, threading.Event())

    assert why == "output"
    assert len(listening.heard.stdout.output().head) == 50


def test_a_stream_cut_inside_a_frame_is_marked_broken(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, engines = pair
    engines.sendall(frame(b"whole") + frame(b"cut")[:-1])
    engines.close()
    listening = listener(ours)

    listening.listen(monotonic(), 5, threading.Event())

    assert listening.heard.broken is not None
    assert listening.heard.stdout.output().data == b"wholecu"


def test_large_input_and_large_output_do_not_wait_for_each_other(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, engines = pair
    stdin = b"i" * 3_000_000
    got = bytearray()

    def engine() -> None:
        while piece := engines.recv(65536):
            got.extend(piece)
            engines.sendall(frame(piece[:100]))
        engines.close()

    thread = threading.Thread(target=engine)
    thread.start()
    listening = listener(ours, limit=10_000_000, stdin=stdin)

    why = listening.listen(monotonic(), 30, threading.Event())
    thread.join()

    assert why == "streams_ended"
    assert got == stdin


def test_a_command_that_does_not_read_its_input_is_no_trouble(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    ours, engines = pair
    engines.sendall(frame(b"bye"))
    engines.shutdown(socket.SHUT_RDWR)
    listening = listener(ours, stdin=b"i" * 3_000_000)

    assert listening.listen(monotonic(), 5, threading.Event()) == "streams_ended"
    assert listening.heard.stdout.output().data == b"bye"
