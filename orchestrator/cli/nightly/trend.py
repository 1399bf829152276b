"""proctor nightly trend: how things moved over the nights."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.nightly import given

if TYPE_CHECKING:
    from orchestrator.history.trends import Series, Trend

NAME = "trend"
SUMMARY = "How tasks, rubrics, checks and analyser rules moved over the nights."
BARS = " ▁▂▃▄▅▆▇█"
PLAIN_BARS = "_123456789"


class By(StrEnum):
    """What a line is about."""

    agent = "agent"
    task = "task"
    rubric = "rubric"
    check = "check"
    rule = "rule"


def command(
    file: given.File = given.DEFAULT,
    by: Annotated[By, typer.Option("--by", help="What a line is about.")] = By.agent,
    nights: Annotated[int, typer.Option("--nights", metavar="N", min=2, help="The newest N nights.")] = 30,
    moved: Annotated[bool, typer.Option("--moved", help="Only what is not as it was at first.")] = False,
    agent: Annotated[str | None, typer.Option("--agent", metavar="AGENT", help="Only this one.")] = None,
    as_json: options.Json = False,
) -> int:
    """Show values over the nights, what moved most first: pass rates by agent and task, mean scores by
    rubric, pass rates of checks, and findings mended by analyser rule.

    \b
    Examples:
      proctor nightly trend
      proctor nightly trend --by task --moved
      proctor nightly trend --by rule --nights 60 --json
    """
    from orchestrator.errors import AuthoringError
    from orchestrator.history.index import Index, RunFilter
    from orchestrator.history.trends import trend
    from orchestrator.loading import load_nightly

    config = load_nightly(file)
    if not config.root.is_dir():
        raise AuthoringError(f"there was no night yet: {config.root} is not there; see proctor nightly run")
    count = nights * len(config.benchmarks)
    with Index.current(config.root) as index:
        found = trend(index, RunFilter(tag=f"nightly:{config.id}"), by.value, limit=count)
    shown = [s for s in found.series if (not agent or s.agent == agent) and (not moved or s.change)]
    shown.sort(key=lambda s: -abs(s.change))
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(_plain(found, shown))
    else:
        _print(found, shown)
    return 0


def _plain(found: Trend, shown: list[Series]) -> dict[str, Any]:
    from dataclasses import asdict

    runs = [{"run_id": r.run_id, "started": r.started, "tags": r.tags} for r in found.runs]
    return {"by": found.by, "runs": runs, "series": [{**asdict(s), "change": s.change} for s in shown]}


def _print(found: Trend, shown: list[Series]) -> None:
    from rich.text import Text

    from orchestrator.cli.printing import console, draw, table
    from orchestrator.words import agent_name, many, safe

    out = console()
    right = frozenset(("first", "last", "change"))
    made = table(
        found.by, "agent", "first", "last", "change", "over time", terminal=out.is_terminal, right=right
    )
    for one in shown:
        if one.first is None or one.last is None:
            continue
        values = (f"{one.first.value:.3g}", f"{one.last.value:.3g}", f"{one.change:+.3g}")
        name = one.name or "every task"
        made.add_row(
            *(Text(safe(t)) for t in (name, agent_name(one.agent), *values, bars(one, out.encoding)))
        )
    draw(out, made)
    runs = len(found.runs)
    out.print(f"{many(runs, 'run')}, the oldest left", markup=False)


def bars(one: Series, encoding: str = "utf-8") -> str:
    """A letter a run: low to high between the least and the greatest value; a blank where there is none."""
    letters = BARS[1:] if encoding.lower().startswith("utf") else PLAIN_BARS[1:]
    values = [point.value for point in one.points if point is not None]
    least, width = min(values), max(values) - min(values)
    top = len(letters) - 1
    return "".join(
        " " if p is None else letters[round((p.value - least) / width * top) if width else top // 2]
        for p in one.points
    )
