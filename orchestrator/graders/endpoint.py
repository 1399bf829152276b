"""One question to an OpenAI-compatible chat endpoint, and its answer or what kept it from coming."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential
from tenacity.wait import wait_base

from orchestrator.documents.scoring import JudgeModel
from orchestrator.errors import AuthoringError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

TRIES = 3
"""Requests for one answer, before the attempt is given up."""
BACK_OFF = wait_exponential(multiplier=0.5, max=8.0)
LONGEST_PAUSE = 30.0
"""Seconds; a longer Retry-After is not waited for."""
LARGEST = 1 << 20
"""Bytes of an answer; judges are asked for two lines."""
_AGAIN = frozenset({408, 409, 425, 429})
"""Refusals that a later request may not meet; so may any 5xx."""


class JudgeTrouble(Exception):
    """No usable answer. Nobody's score."""

    def __init__(self, said: str, *, usable: bool = False, again: bool = True, pause: float = 0.0) -> None:
        """`usable`: the endpoint answered, but not as it was asked to. `again`: another request may help."""
        super().__init__(said)
        self.end = "judge_unusable" if usable else "judge_unreachable"
        self.again = again
        self.pause = pause


@dataclass
class Transcript:
    """What went to the endpoint and what came back, byte for byte but for the key."""

    request: bytes = b""
    answers: list[bytes] = field(default_factory=list)
    usage: Mapping[str, Any] = field(default_factory=dict)


class Endpoint:
    """Shared by threads. Each request has a connection of its own, so that it can be cut."""

    def __init__(self, model: JudgeModel, wait: wait_base | None = None) -> None:
        self.model = model
        self._wait = wait or BACK_OFF
        self._abandoned = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def key(self) -> str:
        """Raises AuthoringError when the variable that should hold it does not hold one."""
        name = self.model.key_env
        if name is None:
            return ""
        key = os.environ.get(name, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            said = "holds no key (one line of ASCII)" if key else "is not set"
            raise AuthoringError(f"the environment variable {name}, which should hold a judge's key, {said}")
        return key

    def ask(self, messages: Sequence[Mapping[str, str]], read: Callable[[str], T], kept: Transcript) -> T:
        """What `read` makes of the answer; it raises JudgeTrouble for one that it cannot take.

        Asks again after trouble that may pass. Everything that was sent and received is put into `kept`.
        Raises JudgeTrouble, and AuthoringError when there is no key.
        """
        body = {**self.model.options, "model": self.model.model, "messages": list(messages), "stream": False}
        kept.request = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        key = self.key()
        tries = Retrying(
            stop=stop_after_attempt(TRIES),
            wait=self._pause,
            retry=retry_if_exception(
                lambda e: isinstance(e, JudgeTrouble) and e.again and not self._abandoned.is_set()
            ),
            sleep=self._sleep,
            reraise=True,
        )
        return tries(lambda: read(self._once(kept, key)))

    def abandon(self) -> None:
        """End every request that is going on, and make none any more. From any thread."""
        self._abandoned.set()
        with self._lock:
            for connection in self._open:
                _cut(connection)

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.pause if isinstance(error, JudgeTrouble) else 0.0
        return max(self._wait(state), min(asked, LONGEST_PAUSE))

    def _sleep(self, seconds: float) -> None:
        self._abandoned.wait(seconds)

    def _once(self, kept: Transcript, key: str) -> str:
        if self._abandoned.is_set():
            raise JudgeTrouble("the run was stopped", again=False)
        status, pause, body = self._answered(kept.request, key)
        kept.answers.append(body.replace(key.encode(), b"[key]") if key else body)
        if status != 200:
            again = status in _AGAIN or status >= 500
            raise JudgeTrouble(f"it answered with HTTP {status}", usable=not again, again=again, pause=pause)
        return _content(body, kept)

    def _answered(self, request: bytes, key: str) -> tuple[int, float, bytes]:
        """Status, Retry-After in seconds, body."""
        import httpx

        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        url = self.model.endpoint.rstrip("/") + "/chat/completions"
        ends = time.monotonic() + self.model.timeout
        try:
            with self._connections() as trace, httpx.Client(timeout=self.model.timeout) as client:
                sent = client.build_request(
                    "POST", url, content=request, headers=headers, extensions={"trace": trace}
                )
                answer = client.send(sent, stream=True)
                try:
                    return answer.status_code, _retry_after(answer), _body(answer, ends)
                finally:
                    answer.close()
        except httpx.TimeoutException:
            raise JudgeTrouble(f"no answer within {self.model.timeout:g} seconds") from None
        except httpx.HTTPError as error:
            raise JudgeTrouble(f"the connection failed ({type(error).__name__})") from error

    @contextmanager
    def _connections(self) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
        """A listener that learns this request's connections, so that `abandon` can cut them."""
        mine: list[socket.socket] = []

        def trace(event: str, facts: Mapping[str, Any]) -> None:
            stream = facts.get("return_value") if event.endswith("connect_tcp.complete") else None
            connection = stream.get_extra_info("socket") if stream is not None else None
            if connection is None:
                return
            with self._lock:
                mine.append(connection)
                self._open.add(connection)
                if self._abandoned.is_set():
                    _cut(connection)

        try:
            yield trace
        finally:
            with self._lock:
                self._open.difference_update(mine)


def _cut(connection: socket.socket) -> None:
    """Wake whoever reads from it. Not `connection.shutdown`: TLS has its own, which is not safe here."""
    try:
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        pass  # closed already


def _body(answer: httpx.Response, ends: float) -> bytes:
    """As it comes, and no longer than it may: a read's own time-out bounds one read, not their sum."""
    found = bytearray()
    for chunk in answer.iter_raw():
        found += chunk
        if len(found) > LARGEST:
            raise JudgeTrouble(f"its answer is larger than {LARGEST} bytes", usable=True, again=False)
        if time.monotonic() > ends:
            raise JudgeTrouble("its answer came too slowly")
    return bytes(found)


def _retry_after(answer: httpx.Response) -> float:
    written = answer.headers.get("retry-after", "").strip()
    return float(written) if written.isascii() and written.isdecimal() and len(written) < 10 else 0.0


def _content(body: bytes, kept: Transcript) -> str:
    """The first choice's text."""
    try:
        whole = json.loads(body)
        text = whole["choices"][0]["message"]["content"]
        kept.usage = whole["usage"] if isinstance(whole.get("usage"), Mapping) else {}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise JudgeTrouble("its answer is no chat completion with a text", usable=True)
    return text
