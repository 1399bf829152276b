"""proctor validate: are the documents right, and, with --execute, do the tasks judge rightly?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.documents.benchmark import Benchmark
    from orchestrator.errors import Problem
    from orchestrator.loading import Findings
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import RubricStore

NAME = "validate"
SUMMARY = "Check benchmarks and rubrics; with --execute, the tasks themselves."
ROUNDS = 3
"""How often --execute runs each state when no number is given."""


def command(
    documents: Annotated[
        list[Path], typer.Argument(metavar="BENCHMARK|RUBRIC...", help="Benchmark folders, or rubric files.")
    ],
    execute: Annotated[
        bool,
        typer.Option("--execute", help="Run before, gold and no-op 3 times; --execute 5 runs them 5 times."),
    ] = False,
    tasks: options.Tasks = None,
    sandbox: options.Sandbox = None,
    slots: options.Slots = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Findings as JSON; by default validation.json in the run folder."
        ),
    ] = None,
    write_quarantine: Annotated[
        bool,
        typer.Option(
            "--write-quarantine", help="Keep invalid and flickering tasks apart: write quarantine.yaml."
        ),
    ] = False,
    allow_unlimited: options.AllowUnlimited = False,
    rubrics: options.Rubrics = None,
    config: options.Config = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> int:
    """Check benchmarks and rubrics: documents, references, and that the patches of sources at hand apply.

    With --execute [N] every task is run N times (3 by default) in fresh rooms, before its fix, with it and
    with no change at all: its tests must fail, pass and fail, every time. Nothing is fetched without it.

    Every problem is named at once, with its place and what to do. Exits 0 when all is right, 2 when
    something is not (3, 4 and 130 as `proctor run`); warnings do not count.

    \b
    Examples:
      proctor validate benchmarks/quickstart
      proctor validate rubrics/tests_pass.yaml --json
      proctor validate my-benchmark --execute
      proctor validate my-benchmark --execute 5 --tasks 'fix_*' --write-quarantine
    """
    documents, rounds = counted(documents) if execute else (documents, 0)
    findings = look(documents, rubrics or [], config)
    if not execute:
        _refuse_unused({"--tasks": tasks, "--out": out, "--write-quarantine": write_quarantine})
    if not execute or findings.errors:
        return _answer(documents, findings, as_json)
    from orchestrator.cli.examine import Wish, examine

    _refuse_unless_one_benchmark(documents)
    wish = Wish(
        benchmark=documents[0],
        rounds=rounds,
        sandbox=sandbox,
        tasks=tasks,
        slots=slots,
        out=out,
        write_quarantine=write_quarantine,
        allow_unlimited=allow_unlimited,
        rubrics=tuple(rubrics or ()),
        config=config,
        quiet=quiet,
    )
    _warn(findings)
    return examine(wish, as_json)


def counted(documents: list[Path]) -> tuple[list[Path], int]:
    """The documents without the number that may follow --execute, and that number.

    >>> counted([Path("my-benchmark"), Path("5")])
    ([PosixPath('my-benchmark')], 5)
    """
    numbers = [d for d in documents if str(d).isascii() and str(d).isdecimal() and not d.exists()]
    rest = [d for d in documents if d not in numbers]
    return rest, max(1, int(str(numbers[0]))) if numbers else ROUNDS


def _refuse_unused(options: dict[str, object]) -> None:
    from orchestrator.errors import AuthoringError

    idle = [name for name, value in options.items() if value]
    if idle:
        raise AuthoringError(f"{' and '.join(idle)}: only with --execute")


def _refuse_unless_one_benchmark(documents: list[Path]) -> None:
    from orchestrator.errors import AuthoringError

    if len(documents) != 1 or _is_rubric(documents[0]):
        raise AuthoringError("--execute takes one benchmark; rubrics alone have no states to run")


def look(documents: Iterable[Path], rubrics: list[Path], config: Path | None) -> Findings:
    """The findings about all documents together; nothing is raised for what they hold."""
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import Findings
    from orchestrator.plugins import Registry

    plugins = Registry.load()
    found = Findings()
    for document in documents:
        try:
            if _is_rubric(document):
                found += _rubric(document, rubrics, plugins)
            else:
                found += _benchmark(document, rubrics, config, plugins)
        except AuthoringError as error:
            found += Findings(error.problems, ())
    return Findings(tuple(dict.fromkeys(found.errors)), tuple(dict.fromkeys(found.warnings)))


def _benchmark(place: Path, rubrics: list[Path], config: Path | None, plugins: Registry) -> Findings:
    from orchestrator.cli import given
    from orchestrator.loading import Findings, lint_references

    loaded = given.load(place, rubrics, config, plugins)
    found = lint_references(loaded.benchmark, loaded.rubrics)
    found += Findings((), loaded.rubrics.warnings())
    return found + _linted(loaded.rubrics) + _states(loaded.benchmark)


def _states(benchmark: Benchmark) -> Findings:
    """What is wrong with patches and sources that can be looked into without the network."""
    from orchestrator.loading import Findings
    from orchestrator.validation import offline
    from sandboxes.home import home

    seen = offline.look(benchmark, home())
    warnings = list(seen.warnings)
    if seen.absent:
        from orchestrator.errors import Problem
        from orchestrator.words import many

        names = ", ".join(seen.absent[:5]) + (", ..." if seen.absent[5:] else "")
        said = f"the sources of {many(len(seen.absent), 'task')} are not on this machine yet ({names})"
        hint = "--execute, or a run, fetches them"
        warnings.append(Problem(benchmark.file, 0, "", said, hint))
    return Findings(seen.errors, tuple(warnings))


def _rubric(file: Path, rubrics: list[Path], plugins: Registry) -> Findings:
    """One rubric; the others in its folder are there to be referred to, and are not judged."""
    from orchestrator.advice import advise
    from orchestrator.cli.given import beside, schemas
    from orchestrator.loading import read_document, rubric_of
    from orchestrator.rubrics import RubricStore, Stored

    schema = schemas(plugins)
    source = read_document(file)
    stored = Stored(rubric_of(source, schema), source)
    store = RubricStore.load([*rubrics, file], schema) if rubrics else beside(file, schema)
    return advise(stored, store)


def _linted(store: RubricStore) -> Findings:
    from orchestrator.advice import advise
    from orchestrator.loading import Findings

    return sum((advise(entry, store) for entry in store), Findings())


def _is_rubric(document: Path) -> bool:
    """By its content: tasks make a benchmark, checks a rubric. Unreadable ones are left to the loader."""
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import read_document

    if not document.is_file():
        return False
    try:
        data = read_document(document).data
    except AuthoringError:
        return False
    return isinstance(data, dict) and not {"tasks", "questions"} & set(data)


def _answer(documents: list[Path], findings: Findings, as_json: bool) -> int:
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(
            {
                "valid": not findings.errors,
                "errors": [_plain(problem) for problem in findings.errors],
                "warnings": [_plain(problem) for problem in findings.warnings],
            }
        )
    else:
        _tell(documents, findings)
    return 2 if findings.errors else 0


def _warn(findings: Findings) -> None:
    from orchestrator.cli.failure import say

    for problem in findings.warnings:
        say(f"warning: {problem}")


def _tell(documents: Iterable[Path], findings: Findings) -> None:
    from orchestrator.cli.failure import say
    from orchestrator.words import many

    for problem in findings.errors:
        say(str(problem))
    _warn(findings)
    names = ", ".join(str(document) for document in documents)
    if findings.errors:
        count = len(findings.errors)
        say(f"{names}: {many(count, 'problem')}")
    else:
        print(f"{names}: valid")


def _plain(problem: Problem) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "path": problem.path,
        "message": problem.message,
        "hint": problem.hint,
    }
