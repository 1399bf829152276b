"""proctor run: grade agents on a benchmark. The main job."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.cli.wish import Result, Wish

NAME = "run"
SUMMARY = "Grade agents on a benchmark."


def command(
    benchmark: options.Benchmark,
    agent: options.Agents,
    sandbox: options.Sandbox = None,
    tasks: options.Tasks = None,
    repeats: options.Repeats = 1,
    slots: options.Slots = None,
    out: options.Out = None,
    resume: options.Resume = False,
    dry_run: options.DryRun = False,
    retries: options.Retries = 2,
    starts_per_second: options.StartsPerSecond = None,
    allow_unlimited: options.AllowUnlimited = False,
    config: options.Config = None,
    rubrics: options.Rubrics = None,
    executors: options.Executors = options.ExecutorSet.all,
    tag: options.Tags = None,
    telemetry: options.Telemetry = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> int:
    """Give every task to every agent, grade what comes back, and keep it all in a run folder.

    Exit codes: 0 all passed, 1 some failed, 2 documents or tasks to mend, 3 trouble of the machine,
    4 a fault of proctor, 130 interrupted. The gravest decides. Where the benchmark has gates, 1 means that
    a hard one was missed.

    \b
    Examples:
      proctor run benchmarks/quickstart --agent gold --agent noop
      proctor run my-benchmark --agent predictions:answers.jsonl -j 4 --json
      proctor run my-benchmark --agent command:"./solve.sh" --repeats 3 --out runs/night
      proctor run my-benchmark --agent command:"./solve.sh" --repeats 3 --out runs/night --resume
    """
    import sys

    from orchestrator.cli.wish import Wish
    from orchestrator.cli.work import carry_out

    wish = Wish(
        benchmark=benchmark,
        agents=tuple(agent),
        sandbox=sandbox,
        tasks=tasks,
        repeats=repeats,
        slots=slots or os.cpu_count() or 1,
        retries=retries,
        starts_per_second=starts_per_second,
        out=out,
        resume=resume,
        allow_unlimited=allow_unlimited,
        config=config,
        rubrics=tuple(rubrics or ()),
        executors=executors.value,
        tags=tuple(tag or ()),
        quiet=quiet,
        telemetry=telemetry,
        argv=tuple(sys.argv),
    )
    if dry_run:
        return _show_plan(wish, as_json)
    result = carry_out(wish)
    _tell(result, as_json)
    return result.exit_code


def _tell(result: Result, as_json: bool) -> None:
    from orchestrator.cli import words
    from orchestrator.cli.failure import say
    from orchestrator.cli.printing import json_out
    from orchestrator.cli.tables import print_report

    if as_json:
        json_out(document(result))
        return
    print_report(result.report, str(result.folder))
    if result.summary.gave_up:
        say(result.summary.gave_up)
    if result.summary.interrupted:
        say(f"interrupted; go on with the same command and --resume --out {words.typed(result.folder)}")


def document(result: Result) -> dict[str, Any]:
    """The one JSON document a run ends with."""
    from orchestrator.report import as_json

    facts = {
        "run": str(result.folder),
        "provider": result.provider,
        "interrupted": result.summary.interrupted,
    }
    return {**facts, **as_json(result.report), "exit_code": result.exit_code}


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
    trials = words.many(len(plan.trials), "trial")
    print(f"{trials} of {plan.benchmark} {plan.benchmark_version}; nothing was started")
    return 0
