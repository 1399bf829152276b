"""A socket between proctor and a real engine that breaks chosen calls in chosen ways.

One connection carries one call: the proxy asks the engine to close after each answer, so calls can be counted
and told apart by their names ("POST /containers/ID/start").
"""

from __future__ import annotations

import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_HEAD_END = b"\r\n\r\n"
_CHUNK = 1 << 16
_NAMED = re.compile(r"^/(?:v[\d.]+/)?(containers|images|volumes|networks|exec)/([^/]+)(/.*)?$")
SLOW = 0.3
"""Seconds that a slow answer takes longer, on either way."""


@dataclass(frozen=True)
class Call:
    """One request, counted from 1 over the proxy's life."""

    number: int
    name: str
    target: str = ""
    """The container (or image, ...) that it is about."""


@dataclass(frozen=True)
class Fault:
    """What happens to a call. `do` gets the call, the client's connection and what it has sent so far."""

    name: str
    do: Callable[[Proxy, Call, socket.socket, bytes], None]


Plan = Callable[[Call], Fault | None]


class Proxy:
    """A context: `address` is what to give a provider. `plan` says which call meets which fault."""

    def __init__(self, engine: str, plan: Plan = lambda call: None) -> None:
        self.engine = engine.removeprefix("unix://")
        self.calls: list[Call] = []
        self._plan = plan
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="proxy-")
        self._path = Path(self._folder.name, "engine.sock")
        self.address = f"unix://{self._path}"
        self.over = threading.Event()

    def __enter__(self) -> Proxy:
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self._path))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.vanish()
        self._folder.cleanup()

    def vanish(self) -> None:
        """The engine is gone for good: nobody listens, and all connections are cut."""
        self.over.set()
        self._path.unlink(missing_ok=True)
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def forward(self, near: socket.socket, head: bytes, *, answer: Pass | None = None) -> None:
        """Send what came on to the engine and its answer back, the latter through `answer` when given."""
        far = socket.socket(socket.AF_UNIX)
        far.connect(self.engine)
        self._know(far)
        try:
            far.sendall(_closing(head))
            upwards = threading.Thread(target=_pump, args=(near, far), daemon=True)
            upwards.start()
            (answer or _pump)(far, near)
            with suppress(OSError):
                near.shutdown(socket.SHUT_RDWR)
            upwards.join()
        finally:
            self._forget(far)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._know(near)
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        try:
            head = _head(near)
            if not head:
                return
            with self._lock:
                call = Call(len(self.calls) + 1, *_named(head))
                self.calls.append(call)
            fault = self._plan(call)
            if fault is None:
                self.forward(near, head)
            else:
                fault.do(self, call, near, head)
        except OSError:
            pass  # one of the two hung up
        finally:
            self._forget(near)

    def _know(self, each: socket.socket) -> None:
        with self._lock:
            self._open.add(each)

    def _forget(self, each: socket.socket) -> None:
        with self._lock:
            self._open.discard(each)
        each.close()


Pass = Callable[[socket.socket, socket.socket], None]


def refused(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """The call never reaches the engine."""


def answer_lost(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """The engine does what it was asked, and nobody learns of it."""
    proxy.forward(near, head, answer=lambda far, _: _swallow(far))


def slow(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    time.sleep(SLOW)

    def late(far: socket.socket, near: socket.socket) -> None:
        time.sleep(SLOW)
        _pump(far, near)

    proxy.forward(near, head, answer=late)


def never_answered(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """Held until the client gives up or the proxy ends."""
    near.settimeout(0.1)
    while not proxy.over.is_set():
        with suppress(TimeoutError):
            if not near.recv(_CHUNK):
                return


def in_splinters(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """The answer comes whole, a byte or three at a time."""
    proxy.forward(near, head, answer=_splintered)


def cut_short(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """The answer breaks off in its middle."""

    def half(far: socket.socket, near: socket.socket) -> None:
        whole = _swallow(far)
        near.sendall(whole[: max(1, len(whole) * 2 // 3)])

    proxy.forward(near, head, answer=half)


def no_words(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """A good end and nothing to read: an answer that is no JSON."""
    _answer(near, "200 OK", b"<html>it works</html>")


def without_exit_code(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    """What the engine tells of a container lacks the code it exited with."""

    def changed(far: socket.socket, near: socket.socket) -> None:
        head, _, body = _swallow(far).partition(_HEAD_END)
        near.sendall(_without_length(head) + _HEAD_END + re.sub(rb'"ExitCode":\d+', b'"ExitCode":null', body))

    proxy.forward(near, head, answer=changed)


def gone_for_good(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
    proxy.vanish()


def says(status: str, message: str) -> Fault:
    """The engine answers, and says no."""
    body = json.dumps({"message": message}).encode()
    return Fault(
        f"{status.partition(' ')[0]}: {message[:24]}",
        lambda proxy, call, near, head: _answer(near, status, body),
    )


def outside(verb: str, path: str) -> Fault:
    """The call is served; then somebody else does something to every container that is there."""

    def do(proxy: Proxy, call: Call, near: socket.socket, head: bytes) -> None:
        ours = [c.target for c in proxy.calls if c.name == "POST /containers/ID/start"]
        proxy.forward(near, head)
        for container in dict.fromkeys(ours):
            ask(proxy.engine, *path.format(container).split(" ", 1))

    return Fault(verb, do)


FAULTS: tuple[Fault, ...] = (
    Fault("refused", refused),
    Fault("answer lost", answer_lost),
    Fault("slow", slow),
    Fault("never answered", never_answered),
    Fault("in splinters", in_splinters),
    Fault("cut short", cut_short),
    Fault("no JSON", no_words),
    Fault("no exit code", without_exit_code),
    Fault("gone for good", gone_for_good),
    says("404 Not Found", "No such container: it was here a moment ago"),
    says("404 Not Found", "No such image: it was here a moment ago"),
    says("409 Conflict", "removal of container is already in progress"),
    says("429 Too Many Requests", "toomanyrequests: You have reached your pull rate limit"),
    says("500 Internal Server Error", "could not find an available, non-overlapping IPv4 address pool"),
    says("500 Internal Server Error", "write /var/lib/x: no space left on device"),
    says("503 Service Unavailable", "the engine is starting"),
    outside("killed from outside", "POST /containers/{}/kill"),
    outside("stopped from outside", "POST /containers/{}/stop?t=0"),
    outside("removed from outside", "DELETE /containers/{}?force=1"),
    outside("paused from outside", "POST /containers/{}/pause"),
)


def ask(engine: str, method: str, path: str) -> bytes:
    """One call of our own, past the proxy. The whole answer."""
    with socket.socket(socket.AF_UNIX) as far:
        far.connect(engine)
        far.sendall(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        return _swallow(far)


def _head(near: socket.socket) -> bytes:
    got = b""
    while _HEAD_END not in got:
        piece = near.recv(_CHUNK)
        if not piece:
            return b""
        got += piece
    return got


def _named(head: bytes) -> tuple[str, str]:
    method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ", 2)
    path = path.partition("?")[0]
    found = _NAMED.match(path)
    if found is None or found[2] in ("json", "create", "load", "prune"):
        return f"{method} {re.sub(r'^/v[0-9.]+', '', path)}", ""
    return f"{method} /{found[1]}/ID{found[3] or ''}", found[2]


def _closing(got: bytes) -> bytes:
    head, end, rest = got.partition(_HEAD_END)
    if b"\r\nupgrade:" in head.lower():
        return got
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close"]) + end + rest


def _without_length(head: bytes) -> bytes:
    return b"\r\n".join(x for x in head.split(b"\r\n") if not x.lower().startswith(b"content-length:"))


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def _splintered(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            for start in range(0, len(data), 3):
                target.sendall(data[start : start + 3])
        target.shutdown(socket.SHUT_WR)


def _swallow(source: socket.socket) -> bytes:
    got = b""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            got += data
    return got


def _answer(near: socket.socket, status: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    near.sendall(head.encode() + b"\r\nConnection: close" + _HEAD_END + body)
