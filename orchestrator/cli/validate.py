"""proctor validate: are the documents right?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.errors import Problem
    from orchestrator.loading import Findings
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import RubricStore

NAME = "validate"
SUMMARY = "Check benchmarks and rubrics."


def command(
    documents: Annotated[
        list[Path], typer.Argument(metavar="BENCHMARK|RUBRIC...", help="Benchmark folders, or rubric files.")
    ],
    rubrics: options.Rubrics = None,
    config: options.Config = None,
    as_json: options.Json = False,
) -> int:
    """Check benchmarks and rubrics as strictly as can be done without running anything.

    Every problem is named at once, with its place and what to do. Exits 0 or 2; warnings do not count.

    \b
    Examples:
      proctor validate benchmarks/quickstart
      proctor validate rubrics/tests_pass.yaml --json
    """
    findings = look(documents, rubrics or [], config)
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
    found += Findings(loaded.rubrics.problems(), loaded.rubrics.warnings())
    return found + _linted(loaded.rubrics)


def _rubric(file: Path, rubrics: list[Path], plugins: Registry) -> Findings:
    """One rubric; the others in its folder are there to be referred to, and are not judged."""
    from orchestrator.cli.given import beside, schemas
    from orchestrator.loading import Findings, lint, read_document, rubric_of
    from orchestrator.rubrics import RubricStore, Stored

    schema = schemas(plugins)
    source = read_document(file)
    stored = Stored(rubric_of(source, schema), source)
    store = RubricStore.load([*rubrics, file], schema) if rubrics else beside(file, schema)
    return lint(stored.rubric, source, strict=True) + Findings(store.composite_problems(stored), ())


def _linted(store: RubricStore) -> Findings:
    from orchestrator.loading import Findings, lint

    return sum((lint(entry.rubric, entry.source, strict=True) for entry in store), Findings())


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


def _tell(documents: Iterable[Path], findings: Findings) -> None:
    from orchestrator.cli.failure import say

    for problem in findings.errors:
        say(str(problem))
    for problem in findings.warnings:
        say(f"warning: {problem}")
    names = ", ".join(str(document) for document in documents)
    if findings.errors:
        count = len(findings.errors)
        say(f"{names}: {count} problem{'s' * (count != 1)}")
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
