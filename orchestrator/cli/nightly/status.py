"""proctor nightly status: how the last nights went, and when the next one is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.nightly import given

if TYPE_CHECKING:
    from datetime import datetime

    from orchestrator.documents.nightly import Night, Nightly

NAME = "status"
SUMMARY = "How the last nights went, and when the next is due."


def command(
    file: given.File = given.DEFAULT,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="The newest N nights.")] = 10,
    as_json: options.Json = False,
) -> int:
    """Show the last nights with their gates, whether one is running, and when the next is due.

    \b
    Examples:
      proctor nightly status
      proctor nightly status ci/nightly.yaml --limit 30 --json
    """
    from datetime import datetime

    from orchestrator.history.nightly.ledger import Ledger
    from orchestrator.loading import load_nightly

    config = load_nightly(file)
    ledger = Ledger(config.root, config.id)
    nights = ledger.nights()
    state = _state(config, nights, ledger.running(), datetime.now().astimezone())
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out({**state, "nights": [night.model_dump(mode="json") for night in nights[-limit:]]})
    else:
        _print(state, nights[-limit:])
    return 0


def _state(config: Nightly, nights: tuple[Night, ...], running: str, now: datetime) -> dict[str, Any]:
    from orchestrator.history.nightly.due import missed, next_due

    return {
        "nightly": config.id,
        "running": running or None,
        "due": missed({night.night for night in nights}, config.at, now),
        "next": next_due(config.at, now).isoformat(timespec="minutes"),
        "folder": str(config.root),
        "finished": len(nights),
    }


def _print(state: dict[str, Any], nights: tuple[Night, ...]) -> None:
    from rich.text import Text

    from orchestrator.cli.printing import console, draw, table
    from orchestrator.words import agent_name, place, safe

    out = console()
    made = table("night", "exit", "baseline", "what", terminal=out.is_terminal, folding="what")
    for night in reversed(nights):
        missed = [gate for gate in night.gates if not gate.met]
        said = [f"{gate.kind}: {agent_name(gate.agent)}: {gate.reason}" for gate in missed]
        against = " ".join(run.baseline or "none" for run in night.runs)
        what = "; ".join([*said, *night.problems]) or "passed"
        made.add_row(*(Text(safe(cell)) for cell in (night.night, str(night.exit_code), against, what)))
    draw(out, made)
    if state["running"]:
        out.print(f"A night is running (process {state['running']}).", markup=False)
    due = "One is due now; the" if state["due"] else "The"
    nights_in = place(state["folder"])
    out.print(f"{due} next is due {state['next']}. Nights: {nights_in}", markup=False, soft_wrap=True)
