"""proctor rubric show: one rubric, as it will be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.rubric import places

if TYPE_CHECKING:
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import Stored

NAME = "show"
SUMMARY = "Show one rubric: its checks, weights and threshold."


def command(
    rubric: places.RubricName,
    folders: places.Folders = None,
    as_written: Annotated[bool, typer.Option("--yaml", help="The file itself, byte for byte.")] = False,
    as_json: options.Json = False,
) -> int:
    """Show a rubric: what passes, each check with its share of the weight, what judges read of it.

    \b
    Examples:
      proctor rubric show bug_fix
      proctor rubric show bug_fix --yaml > rubrics/bug_fix.yaml
    """
    from orchestrator.plugins import Registry

    if as_written:
        import sys

        from orchestrator.loading.texts import read_bytes

        sys.stdout.buffer.write(read_bytes(places.locate(rubric, folders).path))
        sys.stdout.flush()
        return 0
    registry = Registry.load()
    entry, _ = places.load(rubric, folders, registry)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out({**entry.rubric.model_dump(mode="json"), "ref": entry.rubric.ref, "file": entry.file})
    else:
        _tell(entry, registry)
    return 0


def _tell(entry: Stored, registry: Registry) -> None:
    from orchestrator.cli import words
    from orchestrator.cli.printing import console, draw, table
    from orchestrator.criteria import merge

    rubric = entry.rubric
    print(f"{rubric.ref}" + (f"  {words.safe(rubric.label)}" if rubric.label else ""))
    if rubric.description:
        print(words.safe(rubric.description))
    print(f"{entry.file}: {_standing(entry)}")
    print(f"{_rule(entry)}\n")
    out = console()
    made = table(
        "check",
        "kind",
        "weight",
        "needs",
        "asks",
        terminal=out.is_terminal,
        folding="asks",
        right=frozenset(("weight",)),
    )
    for name, check, share in rows(entry):
        made.add_row(name, check["kind"], share, _needs(check, registry), words.safe(_asks(check)))
    draw(out, made)
    read = merge("", rubric)
    if read:
        print(f"\nWhat judges read of it:\n{words.safe(read)}")


def rows(entry: Stored) -> list[tuple[str, Any, str]]:
    """(name, check, share of the weight) for each check; no share where weights do not count."""
    from orchestrator.calibrate import shares

    weighted = entry.rubric.scoring.combine == "weighted_avg"
    return [
        (name, check, f"{share:.0%}" if weighted else "-")
        for (name, share), check in zip(shares(entry.rubric).items(), entry.rubric.checks, strict=True)
    ]


def _standing(entry: Stored) -> str:
    state = "enabled" if entry.rubric.enabled else "disabled: a rubric_ref to it resolves to nothing"
    bundles = ", ".join(entry.rubric.applicable_bundles) or "any bundle"
    return f"{state}; for {bundles}"


def _rule(entry: Stored) -> str:
    from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES

    scoring = entry.rubric.scoring
    if scoring.combine not in NUMERIC_MODES:
        return {
            "all_pass": "Passes when every executed check passes.",
            "any_pass": "Passes when one check passes.",
        }[scoring.combine]
    level = DEFAULT_THRESHOLD if scoring.threshold is None else scoring.threshold
    return f"Passes when the {scoring.combine} of its checks' scores is at least {level:g}."


def _needs(check: Any, registry: Registry) -> str:
    """What it takes to execute the check."""
    if check["kind"] == "composite":
        return "rubric"
    if check["kind"] == "llm_judge":
        return "judges"
    executor = next((e for e in registry.executors if e.applies(check)), None)
    if executor is None:
        return "nobody"
    words = {"judge": "sandbox", "trajectory": "trajectory"}
    return " ".join(words.get(need, need) for need in sorted(getattr(executor, "needs", ()))) or "text"


def _asks(check: Any) -> str:
    from orchestrator.cli import words
    from orchestrator.criteria import line_of

    return words.shorten(
        line_of(check) or ", ".join(f"{k}: {v}" for k, v in check.items() if k not in ("kind", "id")), 160
    )
