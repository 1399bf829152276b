"""proctor rubric lint: what is wrong with a rubric, and what is probably not meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.rubric import places

if TYPE_CHECKING:
    from orchestrator.loading import Findings

NAME = "lint"
SUMMARY = "Tell what is wrong with rubrics, and what is unwise."


def command(
    rubrics: Annotated[
        list[str], typer.Argument(metavar="RUBRIC...", help="Files, ids, or names of built-in rubrics.")
    ],
    folders: places.Folders = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    as_json: options.Json = False,
) -> int:
    """Name every problem of rubrics, and teach: trivial checks that outweigh the others, thresholds left out,
    weights for no check, refs that lead nowhere, patterns that match anything, an empty answer that passes.

    Exits 2 for errors (with --strict for warnings, too), otherwise 0.

    \b
    Examples:
      proctor rubric lint rubrics/*.yaml
      proctor rubric lint bug_fix --strict
    """
    findings = look(rubrics, folders)
    bad = findings.errors or (strict and findings.warnings)
    if as_json:
        from dataclasses import asdict

        from orchestrator.cli.printing import json_out

        json_out(
            {
                "valid": not bad,
                "errors": [asdict(problem) for problem in findings.errors],
                "warnings": [asdict(problem) for problem in findings.warnings],
            }
        )
    else:
        _tell(rubrics, findings)
    return 2 if bad else 0


def look(rubrics: list[str], folders: list[Path] | None) -> Findings:
    """The findings about all of them together; nothing is raised for what they hold."""
    from orchestrator.advice import advise
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import Findings
    from orchestrator.plugins import Registry

    registry = Registry.load()
    found = Findings()
    for word in rubrics:
        try:
            entry, store = places.load(word, folders, registry)
        except AuthoringError as error:
            found += Findings(error.problems, ())
            continue
        found += advise(entry, store, registry.executors) + Findings((), store.warnings())
    return Findings(tuple(sorted({*found.errors})), tuple(sorted({*found.warnings})))


def _tell(rubrics: list[str], findings: Findings) -> None:
    from orchestrator.cli.failure import say
    from orchestrator.words import many

    for problem in findings.errors:
        say(str(problem).removeprefix(": "))
    for problem in findings.warnings:
        say(f"warning: {problem}")
    errors, warnings = len(findings.errors), len(findings.warnings)
    told = f"{many(errors, 'error')}, {many(warnings, 'warning')}"
    print(f"{', '.join(rubrics)}: {told if errors or warnings else 'nothing to say'}")
