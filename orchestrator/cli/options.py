"""Options that several commands share, worded once."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Benchmark = Annotated[
    Path,
    typer.Argument(metavar="BENCHMARK", help="A benchmark's folder or file, or the name of a shipped one."),
]
Sandbox = Annotated[
    str | None,
    typer.Option(
        "--sandbox", metavar="oci|docker", help="Where rooms are made; by default the first that works."
    ),
]
AllowUnlimited = Annotated[
    bool, typer.Option("--allow-unlimited", help="Start although a limit asked for cannot be enforced here.")
]
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Sandbox profiles; by default proctor.yaml beside it."),
]
Rubrics = Annotated[
    list[Path] | None,
    typer.Option("--rubrics", metavar="DIR", help="More folders of rubrics; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def finite(value: float | None) -> float | None:
    """A bound that is a number: nan is within every range, and says nothing."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number")
    return value


class ExecutorSet(StrEnum):
    """Which kinds of checks are executed (C-4, C-55)."""

    all = "all"
    ai_eval = "ai_eval"


Executors = Annotated[
    ExecutorSet,
    typer.Option("--executors", help="ai_eval executes only the five kinds of the source system."),
]
Agents = Annotated[
    list[str],
    typer.Option(
        "--agent",
        metavar="AGENT",
        help='gold | noop | predictions:FILE | command:"...". May be given several times.',
    ),
]
Tasks = Annotated[
    str | None, typer.Option("--tasks", metavar="GLOB", help="Only these, such as 'fix_*,csv_quotes'.")
]
Repeats = Annotated[int, typer.Option("--repeats", metavar="N", min=1, help="Trials of each task and agent.")]
Slots = Annotated[
    int | None,
    typer.Option("-j", "--jobs", metavar="N", min=1, help="Trials at once; by default one per core."),
]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Run folder; by default a new one below runs/.")
]
Telemetry = Annotated[
    bool,
    typer.Option(
        "--telemetry",
        envvar="PROCTOR_TELEMETRY",
        help="Send spans and metrics by OTLP (docs/telemetry.md).",
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan, start nothing.")]
Retries = Annotated[
    int,
    typer.Option(
        "--retries", metavar="N", min=0, help="More attempts when the machine, not the agent, failed."
    ),
]
StartsPerSecond = Annotated[
    float | None,
    typer.Option(
        "--starts-per-second",
        metavar="N",
        min=0.001,
        callback=finite,
        help="Start trials no quicker than this, to spare an engine or a registry.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="WORD", help="To find the run by (`proctor runs list --tag`); repeatable."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")]
