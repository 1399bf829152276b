"""proctor rubric convert: a rubric of another format as one of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.convert import Converted
    from orchestrator.loading import Findings

NAME = "convert"
SUMMARY = "Convert a rubric of another format."


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The other rubric, in YAML or JSON.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there instead of to stdout.")
    ] = None,
    as_json: options.Json = False,
) -> int:
    """Convert a list of weighted checks ({check, weight} and a pass_threshold) or a rule configuration
    ({name, weight, pattern | allowed_values | forbidden_phrases | min_chars, max_chars} and a threshold).

    Nothing is dropped: a check that no kind of proctor's can express becomes a plug-in kind, and a warning
    on stderr names it.

    \b
    Examples:
      proctor rubric convert rubric_config.yaml
      proctor rubric convert portrait.yaml --out rubrics/portrait.yaml
    """
    made, findings = converted(file)
    if as_json:
        from dataclasses import asdict

        from orchestrator.cli.printing import json_out

        told = [*made.warnings, *findings.errors, *findings.warnings]
        json_out(
            {
                "rubric": made.rubric.model_dump(mode="json", exclude_defaults=True),
                "plugin_kinds": made.plugin_kinds,
                "warnings": [asdict(problem) for problem in told],
            }
        )
        return 0
    _write(made.yaml, out)
    _tell(made, findings)
    return 0


def converted(file: Path) -> tuple[Converted, Findings]:
    """The rubric, and what lint says of it. Raises AuthoringError."""
    from orchestrator.advice import advise
    from orchestrator.cli.given import schemas
    from orchestrator.convert import convert
    from orchestrator.loading import read_document
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import RubricStore, Stored, built_in

    made = convert(read_document(file), schemas(Registry.load()))
    entry = Stored(made.rubric)
    return made, advise(entry, RubricStore([entry], built_in))


def _write(text: str, out: Path | None) -> None:
    import sys

    from orchestrator.errors import AuthoringError

    if out is None:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.flush()
        return
    try:
        with out.open("xb") as stream:
            stream.write(text.encode())
    except FileExistsError:
        raise AuthoringError(f"{out} is there already; name another file") from None
    print(f"made {out}")


def _tell(made: Converted, findings: Findings) -> None:
    from orchestrator.cli.failure import say

    for problem in (*made.warnings, *findings.errors, *findings.warnings):
        say(f"warning: {problem}")
    if made.plugin_kinds:
        say(f"needs plug-ins for: {', '.join(made.plugin_kinds)} (docs/plugins.md tells how one is written)")
