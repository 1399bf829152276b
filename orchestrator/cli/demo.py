"""proctor demo: the quickstart with three candidates, and whether its table is as it must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.report import Report

NAME = "demo"
SUMMARY = "Watch four small tasks being graded."
BENCHMARK = "quickstart"
WRONG_FIX = "candidates/wrong_fix.jsonl"


def command(
    sandbox: options.Sandbox = None,
    out: options.Out = None,
    quiet: options.Quiet = False,
) -> int:
    """Grade four small tasks in real sandboxes: the right fix, no fix, and a plausible wrong one.

    Exits 0 only when the right fix passes everywhere and the other two fail everywhere.

    \b
    Example:
      proctor demo --sandbox docker
    """
    from orchestrator.cli.failure import say
    from orchestrator.cli.given import shipped
    from orchestrator.cli.tables import print_report
    from orchestrator.cli.wish import Wish
    from orchestrator.cli.work import carry_out

    benchmark = shipped() / BENCHMARK
    wish = Wish(benchmark, agents(benchmark), sandbox=sandbox, out=out, quiet=quiet, argv=("proctor", "demo"))
    # Its code is ours and harmless: limits that cannot be enforced (rootless) are named, and it goes on.
    result = carry_out(replace(wish, allow_unlimited=True))
    print_report(result.report, str(result.folder))
    surprises = list(unexpected(result.report))
    for surprise in surprises:
        say(surprise)
    if not surprises:
        print("As it must be: gold passes every task, doing nothing and the wrong fixes fail every one.")
        print("Write your own: proctor init my-benchmark")
        return 0
    return result.summary.exit_code if result.summary.exit_code > 1 else 1


def agents(benchmark: Path) -> tuple[str, ...]:
    """The three candidates, as `--agent` takes them."""
    answers = benchmark / WRONG_FIX
    here = Path.cwd()
    shown = answers.relative_to(here) if answers.is_relative_to(here) else answers
    return ("gold", "noop", f"predictions:{shown}")


def unexpected(report: Report) -> Iterator[str]:
    """One sentence per trial whose end is not the one it must have."""
    for row in report.rows:
        wanted = "passed" if row.agent == "gold" else "failed"
        if row.status != wanted:
            seen = f"{row.task} with {row.agent} is {row.status}, not {wanted}"
            yield f"not as it must be: {seen}: {row.reason}"
