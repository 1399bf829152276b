"""proctor run: grade agents on a benchmark. The main job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.cli.work import Result, Wish

NAME = "run"
SUMMARY = "Grade agents on a benchmark."


def command(
    benchmark: options.Benchmark,
    agent: Annotated[
        list[str],
        typer.Option(
            "--agent",
            metavar="AGENT",
            help='gold | noop | predictions:FILE | command:"...". May be given several times.',
        ),
    ],
    sandbox: options.Sandbox = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", metavar="GLOB", help="Only these, such as 'fix_*,csv_quotes'.")
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=1, help="Trials of each task and agent.")
    ] = 1,
    slots: Annotated[
        int | None,
        typer.Option("-j", "--jobs", metavar="N", min=1, help="Trials at once; by default one per core."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Run folder; by default a new one below runs/."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, start nothing.")] = False,
    retries: Annotated[
        int,
        typer.Option(
            "--retries", metavar="N", min=0, help="More attempts when the machine, not the agent, failed."
        ),
    ] = 2,
    allow_unlimited: options.AllowUnlimited = False,
    config: options.Config = None,
    rubrics: options.Rubrics = None,
    executors: options.Executors = options.ExecutorSet.all,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the result.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON document on stdout.")] = False,
) -> int:
    """Give every task to every agent, grade what comes back, and keep it all in a run folder.

    Exit codes: 0 all passed, 1 some failed, 2 documents or tasks to mend, 3 trouble of the machine,
    4 a fault of proctor, 130 interrupted. The gravest decides.

    \b
    Examples:
      proctor run benchmarks/quickstart --agent gold --agent noop
      proctor run my-benchmark --agent predictions:answers.jsonl -j 4 --json
      proctor run my-benchmark --agent command:"./solve.sh" --repeats 3 --out runs/night
      proctor run my-benchmark --agent command:"./solve.sh" --repeats 3 --out runs/night --resume
    """
    import sys

    from orchestrator.cli.work import Wish, carry_out

    wish = Wish(
        benchmark,
        tuple(agent),
        sandbox=sandbox,
        tasks=tasks,
        repeats=repeats,
        slots=slots or os.cpu_count() or 1,
        retries=retries,
        out=out,
        resume=resume,
        allow_unlimited=allow_unlimited,
        config=config,
        rubrics=tuple(rubrics or ()),
        executors=executors.value,
        quiet=quiet,
        argv=tuple(sys.argv),
    )
    if dry_run:
        return _show_plan(wish, as_json)
    result = carry_out(wish)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(document(result))
    else:
        from orchestrator.cli.failure import say
        from orchestrator.cli.tables import print_report

        print_report(result.report, str(result.folder))
        if result.summary.gave_up:
            say(result.summary.gave_up)
        if result.summary.interrupted:
            say(f"interrupted; go on with the same command and --resume --out {result.folder}")
    return result.summary.exit_code


def document(result: Result) -> dict[str, Any]:
    """The one JSON document a run ends with."""
    from orchestrator.report import as_json

    facts = {
        "run": str(result.folder),
        "provider": result.provider,
        "interrupted": result.summary.interrupted,
    }
    return {**facts, **as_json(result.report), "exit_code": result.summary.exit_code}


def _show_plan(wish: Wish, as_json: bool) -> int:
    from orchestrator.cli.work import planned

    plan = planned(wish)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(plan.to_json())
        return 0
    from orchestrator.cli import words

    for job in plan.trials:
        print(words.safe(f"{job.task}  {job.agent}  {job.repeat}"))
    print(f"{len(plan.trials)} trials of {plan.benchmark} {plan.benchmark_version}; nothing was started")
    return 0
