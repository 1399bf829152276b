"""proctor compare: was it better?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.runs import places

if TYPE_CHECKING:
    from rich.console import Console

    from orchestrator.history.compare import Comparison
    from orchestrator.history.statistics import Interval

NAME = "compare"
SUMMARY = "Compare runs: what was fixed and broken, and what can be claimed."
LISTED = 20
"""Tasks of one fate that are listed."""


def command(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="A run folder, an id or how it begins, a tag, or LATEST.")
    ],
    new: Annotated[list[str], typer.Argument(metavar="NEW...", help="The runs to hold against it.")],
    level: Annotated[
        float,
        typer.Option(
            "--level",
            metavar="P",
            min=1e-6,
            max=0.5,
            callback=options.finite,
            help="How often a claim may be false.",
        ),
    ] = 0.05,
    base_agent: Annotated[
        str | None, typer.Option("--base-agent", metavar="AGENT", help="Which agent of BASE.")
    ] = None,
    new_agent: Annotated[
        str | None, typer.Option("--new-agent", metavar="AGENT", help="Which agent of NEW.")
    ] = None,
    across_versions: Annotated[
        bool,
        typer.Option(
            "--across-versions", help="Compare although rubrics have other major versions or names."
        ),
    ] = False,
    root: places.Root = places.DEFAULT,
    as_json: options.Json = False,
) -> int:
    """Compare runs by the tasks they share, each repeat with its counterpart.

    Agents of equal name are compared; where each run has one other agent, those two. Exits 1 when something
    is claimed to be worse, 3 or 2 when nothing could be compared, else 0.

    \b
    Examples:
      proctor compare runs/monday runs/tuesday
      proctor compare baseline LATEST --json
      proctor compare runs/old runs/new-a runs/new-b --level 0.01
      proctor compare LATEST LATEST --base-agent command:"./a" --new-agent command:"./b"
    """
    from orchestrator.history.compare import compare_all, exit_code

    known = {word: places.subject_of(word, root) for word in dict.fromkeys((base, *new))}
    found = compare_all(
        known[base],
        [known[word] for word in dict.fromkeys(new)],
        level=level,
        across=across_versions,
        base_agent=base_agent,
        new_agent=new_agent,
    )
    if as_json:
        from orchestrator.cli.printing import json_out
        from orchestrator.history.claims import as_json as plain

        json_out(plain(found))
    else:
        for number, one in enumerate(found):
            print_comparison(one, first=number == 0)
    return exit_code(found)


def print_comparison(one: Comparison, *, first: bool = True) -> None:
    """One comparison on stdout, its claim first."""
    from orchestrator.cli.printing import console
    from orchestrator.history.claims import claim
    from orchestrator.words import safe

    out = console()

    def say(text: str) -> None:
        out.print(safe(text), markup=False, soft_wrap=True)

    if not first:
        say("")
    say(claim(one))
    say("")
    for side, label in ((one.base, "base"), (one.new, "new")):
        say(f"  {label:<11} {side.subject.name}, {side.agent}")
    _rates(one, out)
    _lists(one, say)
    for line in _moved(one):
        say(f"  {line}")
    for warning in one.warnings:
        say(f"  Warning: {warning}.")


def _rates(one: Comparison, out: Console) -> None:
    from orchestrator.history.claims import percent, points
    from orchestrator.words import many, score

    rates, scores = one.rates, one.scores
    if rates is None or scores is None:
        return
    lines: list[tuple[str, tuple[float, float], Interval | None, Callable[[float], str]]]
    lines = [("pass rate", rates, one.rate_interval, percent)]
    if any(question.measure == "scores" for question in one.questions):
        lines.append(("mean score", scores, one.score_interval, score))
    for name, (base, new), interval, shown in lines:
        low, high = (points(end) for end in (interval.low, interval.high)) if interval else ("", "")
        told = f"{points(new - base)} points ({low} to {high})"
        out.print(f"  {name:<11} {shown(base)} -> {shown(new)}, {told}", markup=False, soft_wrap=True)
    pairs = f"{many(one.pairs, 'pair')} over {many(len(one.pairing.tasks), 'task')}"
    out.print(f"  {'compared':<11} {pairs}", markup=False)


def _lists(one: Comparison, say: object) -> None:
    assert callable(say)
    counts = {task.task: (task.passed, len(task.pairs)) for task in one.pairing.tasks}

    def told(task: str) -> str:
        if task not in counts or counts[task][1] == 1:
            return task
        (base, new), of = counts[task]
        return f"{task} ({base}/{of} -> {new}/{of})"

    for name, tasks in (
        ("broken", one.broken),
        ("fixed", one.fixed),
        ("flickering", one.flickering),
        ("new", one.pairing.new),
        ("missing", one.pairing.missing),
        ("invalid", one.pairing.invalid),
        ("ungraded", one.pairing.ungraded),
    ):
        if tasks:
            more = f" and {len(tasks) - LISTED} more" if len(tasks) > LISTED else ""
            say(f"  {name:<11} {len(tasks)}: {', '.join(map(told, tasks[:LISTED]))}{more}")


def _moved(one: Comparison) -> list[str]:
    """What analysers found, time and cost, a line each."""
    from orchestrator.words import many

    lines = []
    for move in one.moves:
        lines.append(
            f"{move.tool:<11} mean delta {move.base:+.4g} -> {move.new:+.4g} over {many(move.pairs, 'pair')}"
        )
        lines += [
            f"{'':<11} {rule.rule}: mended {rule.base:g} -> {rule.new:g}" for rule in move.rules[:LISTED]
        ]
    for name, spent in one.spent.items():
        if spent is not None and spent.ratio is not None and (name != "seconds" or spent.base >= 1):
            typical = "" if spent.median_ratio is None else f", typically {spent.median_ratio:.2f} times"
            lines.append(f"{name:<11} {spent.base:.6g} -> {spent.new:.6g} ({spent.ratio:.2f} times{typical})")
    return lines
