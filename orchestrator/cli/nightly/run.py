"""proctor nightly run: one night."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.nightly import given

if TYPE_CHECKING:
    from orchestrator.documents.nightly import Night, Nightly
    from orchestrator.history.nightly.night import Execute, Order, Ran

NAME = "run"
SUMMARY = "Do one night, and exit by its gates."


def command(
    file: given.File = given.DEFAULT,
    if_due: Annotated[
        bool, typer.Option("--if-due", help="Only when the night that was due last has not been done.")
    ] = False,
    telemetry: options.Telemetry = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> int:
    """Run every benchmark of the night, hold it against its baseline, confirm what looks like a regression,
    record the night, and tell whoever wants to hear of it.

    A night that was interrupted goes on where it stopped. Exits 0 when the gates are met, 1 when a hard one
    is missed, otherwise as `proctor run` does.

    \b
    Examples:
      proctor nightly run
      proctor nightly run ci/nightly.yaml --if-due
      proctor nightly run --json
    """
    from datetime import datetime

    from orchestrator.cli.failure import say
    from orchestrator.errors import EXIT_INTERRUPTED, EXIT_OK
    from orchestrator.history.nightly.due import missed
    from orchestrator.history.nightly.ledger import Ledger
    from orchestrator.history.nightly.night import run_night
    from orchestrator.loading import load_nightly

    config = load_nightly(file)
    if if_due:
        done = {night.night for night in Ledger(config.root, config.id).nights()}
        if not missed(done, config.at, datetime.now().astimezone()):
            if not quiet:
                say(f"nothing is due: the night of {max(done)} is done")
            return EXIT_OK
    night = run_night(
        config, executor(config, quiet=quiet, telemetry=telemetry), lambda: datetime.now().astimezone()
    )
    if night is None:
        say("interrupted; the same command goes on with this night")
        return EXIT_INTERRUPTED
    _print(night, as_json)
    return night.exit_code


def executor(config: Nightly, *, quiet: bool = False, telemetry: bool = False) -> Execute:
    """Runs carried out as `proctor run` does it."""
    from pathlib import Path

    def benchmark_of(name: str) -> Path:
        path = config.folder / name
        return path if path.exists() else Path(name)

    def execute(order: Order) -> Ran:
        from orchestrator.cli.wish import Wish
        from orchestrator.cli.work import carry_out
        from orchestrator.errors import EXIT_FAILED, EXIT_OK
        from orchestrator.history.nightly.night import Ran
        from orchestrator.store import HEADER

        about = order.benchmark
        wish = Wish(
            benchmark=benchmark_of(about.benchmark),
            agents=order.candidates,
            sandbox=config.sandbox,
            tasks=order.tasks,
            repeats=order.repeats,
            slots=config.slots or os.cpu_count() or 1,
            retries=config.retries,
            out=order.out,
            resume=(order.out / HEADER).is_file(),
            config=config.folder / about.config if about.config else None,
            quiet=quiet,
            telemetry=telemetry,
            argv=tuple(sys.argv),
            tags=order.tags,
            apart=order.apart,
        )
        try:
            done = carry_out(wish)
        except Exception as error:
            return _trouble(about.benchmark, error)
        code = done.summary.exit_code
        return Ran(
            EXIT_OK if code == EXIT_FAILED else code, _ended(about.benchmark, code, done.summary.gave_up)
        )

    return execute


def _trouble(benchmark: str, error: Exception) -> Ran:
    """A run that never came to its end; told like any other failure, and the night goes on."""
    from orchestrator.cli.failure import tell
    from orchestrator.history.nightly.night import Ran

    return Ran(tell(error), f"{benchmark}: {error or type(error).__name__}")


def _ended(benchmark: str, code: int, gave_up: str) -> str:
    from orchestrator.errors import EXIT_AUTHOR, EXIT_HARNESS, EXIT_INFRASTRUCTURE

    words = {
        EXIT_HARNESS: "a fault of proctor's own; see its errored trials",
        EXIT_INFRASTRUCTURE: "trouble of the machine; its errored trials have no score",
        EXIT_AUTHOR: "some tasks are invalid; see its invalid trials",
    }
    said = gave_up or words.get(code, "")
    return f"{benchmark}: {said}" if said else ""


def _print(night: Night, as_json: bool) -> None:
    from orchestrator.history.nightly.telling import message, summary
    from orchestrator.words import safe

    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(message(night))
        return
    for line in summary(night):
        print(safe(line))
