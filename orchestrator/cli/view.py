"""proctor view: runs in a browser, live while they go on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

NAME = "view"
SUMMARY = "Look at runs in a browser, live while they go on."
PORT = 8470


def command(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="The folder that runs are kept in, or one run of it.")
    ] = Path("runs"),
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")
    ] = PORT,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; by default this machine only.")
    ] = "127.0.0.1",
) -> int:
    """Serve pages about the runs in a folder: lists, trials, comparisons, trends. Reads only; Ctrl-C ends it.

    \b
    Examples:
      proctor view
      proctor view nights --port 9000
    """
    from orchestrator.cli.failure import say
    from orchestrator.errors import AuthoringError
    from orchestrator.store import HEADER, RunFolder
    from orchestrator.viewer.guard import loopback
    from orchestrator.viewer.serve import serve

    root, one = runs, ""
    if (runs / HEADER).is_file():
        root, one = runs.resolve().parent, f"runs/{RunFolder(runs).header.run_id}"
    if not root.is_dir():
        raise AuthoringError(f"{root}: there is no such folder of runs; name one, or start a run first")
    if not loopback(host):
        say(f"everybody who reaches {host} can read these runs: there is no password")

    def ready(address: str) -> None:
        typer.echo(f"{address}{one}", err=False)
        say(f"showing {root}; Ctrl-C ends it")

    serve(root, host, port, ready)
    return 0
