"""validate --execute: every task run before, with and without its fix, and told in one table."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli import words
from orchestrator.cli.writing import may_write, write_file

if TYPE_CHECKING:
    from rich.text import Text

    from orchestrator.cli.wish import Result
    from orchestrator.documents.validation import TaskValidation, Validation
    from orchestrator.plan import Plan
    from orchestrator.validation.witness import Witness

SIGNS = {
    "valid": "passed",
    "invalid": "invalid",
    "flickering": "failed",
    "slow": "errored",
    "unknown": "not_run",
}
"""Verdict -> the trial status whose mark and colour it has."""
ORDER = tuple(SIGNS)


@dataclass(frozen=True)
class Wish:
    """What was asked for."""

    benchmark: Path
    rounds: int
    sandbox: str | None = None
    tasks: str | None = None
    slots: int | None = None
    out: Path | None = None
    run: Path | None = None
    """The run folder; None makes a new one below runs/."""
    write_quarantine: bool = False
    allow_unlimited: bool = False
    rubrics: tuple[Path, ...] = ()
    config: Path | None = None
    quiet: bool = False


def examine(wish: Wish, as_json: bool) -> int:
    """Run, judge, write the findings, tell them; returns the exit code."""
    if wish.out is not None:
        may_write(wish.out)
    result, found = carry_out(wish)
    file = write(found, wish.out or result.folder / "validation.json")
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(found.model_dump(mode="json"))
    else:
        _print(found, file)
    if wish.write_quarantine:
        _write_quarantine(wish, found)
    return exit_code(result, found)


def carry_out(wish: Wish) -> tuple[Result, Validation]:
    """The run and what it shows; nothing is printed but progress. Raises what `work.carry_out` raises."""
    import os

    from orchestrator.cli import work
    from orchestrator.cli.wish import Wish as RunWish
    from orchestrator.validation.rounds import AGENTS, watched
    from orchestrator.validation.witness import Witness

    witness = Witness()
    run = RunWish(
        benchmark=wish.benchmark,
        agents=AGENTS,
        sandbox=wish.sandbox,
        tasks=wish.tasks,
        repeats=wish.rounds,
        slots=wish.slots or os.cpu_count() or 1,
        out=wish.run,
        allow_unlimited=wish.allow_unlimited,
        config=wish.config,
        rubrics=wish.rubrics,
        quiet=wish.quiet,
        argv=tuple(sys.argv),
        quarantined=True,
    )
    result = work.carry_out(run, lambda tools: watched(tools, witness))
    return result, _found(wish, result, witness)


def _found(wish: Wish, result: Result, witness: Witness) -> Validation:
    from importlib.metadata import version

    from orchestrator.cli.given import find
    from orchestrator.documents.validation import Validation
    from orchestrator.loading import load_benchmark
    from orchestrator.plan import Plan
    from orchestrator.store import HEADER, RunFolder, now
    from orchestrator.validation.rounds import findings

    folder = RunFolder(result.folder)
    plan: Plan = Plan.from_json(folder.header.plan, str(folder.path / HEADER))
    tasks = findings(plan, load_benchmark(find(wish.benchmark)).tasks, folder.latest(), witness)
    counts = Counter(task.verdict for task in tasks)
    return Validation(
        benchmark=plan.benchmark,
        benchmark_version=plan.benchmark_version,
        proctor=version("proctor"),
        taken_at=now(),
        provider=result.provider,
        rounds=wish.rounds,
        run=str(result.folder),
        counts={verdict: counts[verdict] for verdict in ORDER},  # type: ignore[index]
        tasks=tasks,
    )


def exit_code(result: Result, found: Validation) -> int:
    """130, 4 and 3 as the run ended; else 2 unless every task is valid."""
    from orchestrator.errors import EXIT_AUTHOR, EXIT_HARNESS, EXIT_INFRASTRUCTURE, EXIT_INTERRUPTED, EXIT_OK

    if result.summary.exit_code in (EXIT_INTERRUPTED, EXIT_HARNESS, EXIT_INFRASTRUCTURE):
        return result.summary.exit_code
    return EXIT_OK if found.counts["valid"] == len(found.tasks) else EXIT_AUTHOR


def write(found: Validation, file: Path) -> Path:
    """The document as a file. Raises AuthoringError and OSError as `write_file` does."""
    text = json.dumps(found.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"
    write_file(file, text.encode("utf-8", "backslashreplace"))
    return file


def _write_quarantine(wish: Wish, found: Validation) -> None:
    from orchestrator.cli import given
    from orchestrator.cli.failure import say
    from orchestrator.validation.quarantine import update

    loaded = given.load(wish.benchmark, wish.rubrics, wish.config)
    file = update(loaded.benchmark.root, loaded.quarantine, found.tasks)
    say("no task is in quarantine" if file is None else f"wrote {file}")


def _print(found: Validation, file: Path) -> None:
    from orchestrator.cli.printing import console, draw, table

    out = console()
    told = ", ".join(f"{n} {verdict}" for verdict, n in found.counts.items() if n) or "none"
    name = words.safe(f"{found.benchmark} {found.benchmark_version}")
    out.print(
        f"{name}: {words.many(len(found.tasks), 'task')}, {words.many(found.rounds, 'round')}: {told}",
        markup=False,
    )
    columns = ("task", "before", "gold", "no-op", "seconds", "memory", "verdict", "why")
    drawn = table(*columns, terminal=out.is_terminal, folding="why", right=frozenset(("seconds", "memory")))
    for task in found.tasks:
        drawn.add_row(*_row(task))
    draw(out, drawn)
    for task in found.tasks:
        for note in task.notes:
            out.print(f"note: {words.safe(task.task)}: {words.safe(note)}", markup=False)
    out.print(f"Findings: {words.place(file)}", markup=False)
    out.print(f"Records: {words.place(found.run)}", markup=False)


def _row(task: TaskValidation) -> list[Text]:
    from rich.text import Text

    room = task.headroom
    sign = SIGNS[task.verdict]
    cells = [
        task.task,
        task.before.words,
        task.gold.words,
        task.noop.words,
        "-" if room is None else f"{room.seconds:.2f}",
        words.size(None if room is None else room.peak_memory),
    ]
    verdict = Text(f"{words.mark(sign)} {task.verdict}", style=words.word(sign).style)
    return [*(Text(words.safe(c)) for c in cells), verdict, Text(words.safe("; ".join(task.why)))]
