"""What stands before every page: whose request it is, what may be asked, and what a browser may do with it.

Names, logs and patches are of agents' making. They are escaped where they are shown; should that fail
anywhere, the content security policy lets no script of theirs run and nothing be sent away.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """Lets only reading through, and only requests that name this viewer as their host.

    A page elsewhere can make a browser call a name that leads to this machine; the Host header gives that
    away (DNS rebinding).
    """

    def __init__(self, app: App, hosts: frozenset[str] = LOCAL) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headed = _with_headers(send)
        host = next((v for k, v in scope["headers"] if k == b"host"), b"").decode("latin-1")
        if bare(host) not in self._hosts:
            await _refuse(headed, 421, "This viewer does not answer to that host name.")
        elif scope["method"] not in ("GET", "HEAD"):
            await _refuse(headed, 405, "This viewer only reads.")
        else:
            await self._app(scope, receive, headed)


def bare(host: str) -> str:
    """A Host header without its port.

    >>> bare("LOCALHOST:80"), bare("[::1]:8080"), bare("127.0.0.1")
    ('localhost', '[::1]', '127.0.0.1')
    """
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> loopback("127.0.0.1"), loopback("::1"), loopback("localhost"), loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _with_headers(send: Send) -> Send:
    """A page's own header stays: a download may ask for more, never for less, as all of ours do."""

    async def headed(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            ours = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *ours]}
        await send(message)

    return headed


async def _refuse(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode() + b"\n"})
