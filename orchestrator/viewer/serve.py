"""Running the viewer: one process, this machine only unless somebody says otherwise."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from orchestrator.errors import AuthoringError
from orchestrator.viewer.app import build
from orchestrator.viewer.guard import LOCAL
from orchestrator.viewer.library import Library


def serve(root: Path, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs below `root` until interrupted. `port` 0 takes a free one; `ready` is told the address.

    Raises AuthoringError when nothing can listen there, and what opening the index raises.
    """
    listening = _listen(host, port)
    with Library(root) as library:
        library.start()
        hosts = LOCAL | {host.lower(), f"[{host.lower()}]"}
        leaving = asyncio.Event()
        config = uvicorn.Config(
            build(library, hosts, leaving),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=1,
        )
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}/")
        _Server(config, leaving).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Tells those who follow a run that it ends; they would be cut off with a traceback otherwise."""

    def __init__(self, config: uvicorn.Config, leaving: asyncio.Event) -> None:
        super().__init__(config)
        self._leaving = leaving

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._leaving.set()
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    """Bound here, so that the port is known and its being taken is one sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        made.close()
        why = getattr(error, "strerror", None) or error
        raise AuthoringError(
            f"nothing can listen at {host} port {port}: {why}; choose another --port or --host"
        ) from None
    return made
