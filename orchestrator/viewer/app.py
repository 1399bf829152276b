"""The viewer's addresses: which page answers to which."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import cache

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from orchestrator.dossier import Artifacts
from orchestrator.errors import AuthoringError
from orchestrator.pages.environment import render, static
from orchestrator.viewer import views
from orchestrator.viewer.guard import LOCAL, App, Guard
from orchestrator.viewer.library import EVERY, Library

TYPES = {"style.css": "text/css", "viewer.js": "text/javascript"}


def build(library: Library, hosts: frozenset[str] = LOCAL, leaving: asyncio.Event | None = None) -> App:
    """The whole viewer, as an ASGI application that answers to `hosts`. `leaving` ends what follows a run."""
    app = Starlette(
        routes=[
            Route("/", _runs),
            Route("/compare", _compare),
            Route("/trends", _trends),
            Route("/runs/{run}", _run),
            Route("/runs/{run}/events", _events),
            Route("/runs/{run}/trials/{trial}", _trial),
            Route("/runs/{run}/trials/{trial}/files/{name}", _file),
            Route("/static/{name}", _static),
        ],
        exception_handlers={AuthoringError: _not_there, 404: _not_there, 500: _broken},
    )
    app.state.library = library
    app.state.leaving = leaving or asyncio.Event()
    return Guard(app, hosts)


def _library(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


def _runs(request: Request) -> Response:
    return HTMLResponse(views.runs(_library(request), request.query_params))


def _run(request: Request) -> Response:
    return HTMLResponse(views.run(_library(request), request.path_params["run"], request.query_params))


def _trial(request: Request) -> Response:
    path = request.path_params
    return HTMLResponse(
        views.trial(_library(request), path["run"], path["trial"], _number(request, "attempt"))
    )


def _compare(request: Request) -> Response:
    return HTMLResponse(views.compare(_library(request), request.query_params))


def _trends(request: Request) -> Response:
    return HTMLResponse(views.trends(_library(request), request.query_params))


def _file(request: Request) -> Response:
    """What a trial kept, whole, as a download that no browser renders."""
    path = request.path_params
    library = _library(request)
    run = library.run(path["run"])
    record = views.chosen(library.places(run).attempts(path["trial"]), _number(request, "attempt"))
    data = Artifacts(run.folder).read(record, path["name"]) if record else None
    if data is None:
        raise AuthoringError(f"{path['name']} is not there")
    headers = {
        "content-disposition": 'attachment; filename="artifact.txt"',
        "content-security-policy": "sandbox; default-src 'none'",
    }
    return Response(data, media_type="application/octet-stream", headers=headers)


async def _events(request: Request) -> Response:
    library = _library(request)
    leaving: asyncio.Event = request.app.state.leaving
    run = await run_in_threadpool(library.run, request.path_params["run"])

    async def told() -> AsyncIterator[str]:
        """One event when the page would look different; a comment now and then keeps the line open."""
        known, quiet = await run_in_threadpool(library.version, run), 0
        yield "retry: 2000\n\n"
        while not await request.is_disconnected():
            if await _comes(leaving, EVERY):
                return
            version = await run_in_threadpool(library.version, run)
            quiet += 1
            if version != known:
                known, quiet = version, 0
                yield "event: changed\ndata: \n\n"
            elif quiet >= 15:
                quiet = 0
                yield ": still here\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


async def _comes(event: asyncio.Event, within: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), within)
    except TimeoutError:
        return False
    return True


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in TYPES:
        raise AuthoringError(f"{name} is not there")
    return Response(_text(name), media_type=TYPES[name])


@cache
def _text(name: str) -> str:
    return static(name)


def _not_there(request: Request, error: Exception) -> Response:
    said = str(error) if isinstance(error, AuthoringError) else "There is no such page."
    return HTMLResponse(render("error.html.jinja", title="Not there", text=said, here=""), status_code=404)


def _broken(request: Request, error: Exception) -> Response:
    said = f"A fault of the viewer, please report it: {type(error).__name__}"
    return HTMLResponse(
        render("error.html.jinja", title="Something broke", text=said, here=""), status_code=500
    )


def _number(request: Request, name: str) -> int | None:
    written = request.query_params.get(name, "")
    return int(written) if written.isascii() and written.isdecimal() and len(written) < 10 else None
