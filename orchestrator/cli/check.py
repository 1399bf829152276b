"""proctor check: grade one text against one rubric, without any room."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.outcomes import CheckOutcome, Verdict

NAME = "check"
SUMMARY = "Grade one text against a rubric."
LARGEST = 64 << 20
"""Bytes of a response."""


def command(
    rubric: Annotated[Path, typer.Argument(metavar="RUBRIC", help="A rubric's file or name.")],
    response: Annotated[
        str, typer.Option("--response", metavar="FILE|-", help="The text; - reads standard input.")
    ],
    task: Annotated[
        Path | None, typer.Option("--task", metavar="FILE", help="The question, where a check looks into it.")
    ] = None,
    rubrics: options.Rubrics = None,
    executors: options.Executors = options.ExecutorSet.all,
    as_json: options.Json = False,
) -> int:
    """Grade a text alone. Checks that need a sandbox are skipped and named.

    Exits 0 when it passed or nothing could be executed, 1 when it failed, 2 when a document is wrong.

    \b
    Examples:
      proctor check rubrics/plain_answer.yaml --response answer.txt
      echo "All done." | proctor check direct_answer --response - --json
    """
    verdict, warnings = grade(rubric, read(response), task, rubrics or [], executors.value)
    if as_json:
        from orchestrator.cli.printing import json_out
        from orchestrator.grading import verdict_json

        json_out({**verdict_json(verdict), "warnings": warnings})
    else:
        tell(verdict, warnings)
    return 1 if verdict.passed is False else 0


def grade(
    rubric: Path, response: str | bytes, task: Path | None, rubrics: list[Path], executors: Any = "all"
) -> tuple[Verdict, list[str]]:
    """The verdict, and every warning about it. Raises AuthoringError."""
    from orchestrator.cli.given import beside, schemas
    from orchestrator.cli.rubric.places import locate
    from orchestrator.contract import Context
    from orchestrator.grading import evaluate
    from orchestrator.loading import load_rubric
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import FOLDER, RubricStore

    registry = Registry.load()
    schema = schemas(registry)
    rubric = rubric if rubric.exists() else locate(str(rubric), rubrics).path
    loaded = load_rubric(rubric, schema)
    row, ref = _question(task)
    store = RubricStore.load(rubrics, schema) if rubrics else beside(rubric, schema)
    folder = rubric.resolve().parent
    context = Context(row, root=folder.parent if folder.name == FOLDER else folder)
    verdict = evaluate(loaded, response, context, registry.executors, store.resolve, executors)
    warnings = [*verdict.warnings, *map(str, store.warnings() if rubrics else ())]
    if ref is not None and ref != loaded.ref:
        warnings.append(f"{task}: its rubric_ref is {ref}, but {loaded.ref} was asked for and decides")
    return verdict, warnings


def read(place: str) -> str | bytes:
    """The response; bytes when it is not UTF-8, so that every text check can say so (C-52).

    Raises AuthoringError for a file that is not there or is too large.
    """
    from orchestrator.agents import text_or_bytes
    from orchestrator.errors import AuthoringError

    if place != "-":
        from orchestrator.loading.texts import read_bytes

        return text_or_bytes(read_bytes(Path(place), LARGEST))
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise AuthoringError(f"standard input is larger than {LARGEST >> 20} MiB; a response is not")
    return text_or_bytes(data)


def _question(file: Path | None) -> tuple[dict[str, Any], str | None]:
    if file is None:
        return {}, None
    from orchestrator.loading import load_task

    task = load_task(file)
    return task.model_dump(mode="json"), task.rubric_ref


def tell(verdict: Verdict, warnings: list[str]) -> None:
    """The verdict for people: one line each."""
    from orchestrator.cli import words
    from orchestrator.cli.failure import say

    status = {True: "passed", False: "failed", None: "unscored"}[verdict.passed]
    scores = f"score {words.score(verdict.score)}, grade {words.grade(verdict.score)} of 5"
    print(f"{words.mark(status)} {words.word(status).text}  {verdict.rubric}  {scores}")
    print(f"  {words.safe(verdict.reason)}")
    for outcome in (*verdict.outcomes, *verdict.skipped):
        print(f"  {_line(outcome)}")
    for warning in warnings:
        say(f"warning: {warning}")


def _line(outcome: CheckOutcome) -> str:
    from orchestrator.cli import words

    return f"{words.mark(outcome.status)} {outcome.name}: {words.safe(words.shorten(outcome.reason, 200))}"
