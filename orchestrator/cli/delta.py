"""proctor delta: what an analyser says of one state of a code base against another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.checks.delta_forms import Gate

NAME = "delta"
SUMMARY = "Compare what an analyser says of two states of a code base."


def command(
    before: Annotated[
        str,
        typer.Argument(
            metavar="BEFORE", help="A folder, REPOSITORY@REF (or, with --repo, a ref), or a saved report."
        ),
    ],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="The same kind of thing, later.")],
    tool: Annotated[
        str, typer.Option("--tool", metavar="TOOL", help="phpcs, phpstan, ruff, ... or one of proctor.yaml.")
    ],
    standard: Annotated[
        str | None,
        typer.Option("--standard", metavar="NAME", help="phpcs: the coding standard; PSR12 by default."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option("--target", metavar="PATH", help="Only this part of it; may be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="An option of the tool, as in a check's metadata."
        ),
    ] = None,
    min_delta: Annotated[
        float, typer.Option("--min-delta", metavar="N", help="Least improvement; 0 means no worse.")
    ] = 0.0,
    no_new: Annotated[
        bool, typer.Option("--no-new", help="No finding may be new, whatever was mended.")
    ] = False,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="GUARD", help="Loosen: parse, code_lines, deletions, suppressions."),
    ] = None,
    forbid: Annotated[
        list[str] | None, typer.Option("--forbid", metavar="GUARD", help="Fail on any: suppressions, config.")
    ] = None,
    no_renames: Annotated[bool, typer.Option("--no-renames", help="Do not look for renamed files.")] = False,
    repo: Annotated[
        str | None,
        typer.Option("--repo", metavar="DIR|URL", help="The repository of which BEFORE and AFTER are refs."),
    ] = None,
    before_root: Annotated[
        str, typer.Option("--before-root", metavar="DIR", help="Saved reports: folder their paths lie below.")
    ] = "",
    after_root: Annotated[str, typer.Option("--after-root", metavar="DIR", help="The same for AFTER.")] = "",
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="Saved reports: a file that was renamed."),
    ] = None,
    image: Annotated[
        str | None, typer.Option("--image", metavar="REF", help="An image that holds the tool.")
    ] = None,
    debian: Annotated[
        str | None,
        typer.Option("--debian", metavar="PACKAGES", help="Debian packages that hold the tool, with commas."),
    ] = None,
    pip: Annotated[
        list[str] | None,
        typer.Option("--pip", metavar="NAME==VERSION", help="The tool from PyPI; may be repeated."),
    ] = None,
    npm: Annotated[
        list[str] | None,
        typer.Option("--npm", metavar="NAME@VERSION", help="The tool from npm; may be repeated."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", metavar="NAME", help="A sandbox profile of --config.")
    ] = None,
    config: options.Config = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="SARIF 2.1.0 on stdout.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")] = False,
) -> int:
    """Run one analyser on two states in fresh sandboxes, the same way, and match what it finds.

    Both runs have the same tool and configuration, from outside the code; comments that suppress findings are
    ignored or counted back, and so are findings that vanish with their files. Saved reports are compared as
    they are. Exits 0 when the improvement reaches --min-delta, 1 when not.

    \b
    Examples:
      proctor delta old/ new/ --tool phpcs
      proctor delta .@main .@HEAD --tool phpcs --standard PSR2 --target src --markdown
      proctor delta old.json new.json --tool phpstan --json
      proctor delta old/ new/ --tool ruff --pip ruff==0.6.9 --no-new
    """
    from orchestrator.cli import comparing

    wish: dict[str, Any] = {"standard": standard, "target": target, "mode": "no_new" if no_new else None}
    wish |= {"allow": allow or None, "forbid": forbid or None}
    metadata = {name: value for name, value in wish.items() if value is not None} | _pairs(option or [])
    if Path(before).is_file() or Path(after).is_file():
        reports = ((before, before_root), (after, after_root))
        gate = comparing.saved(tool, *reports, min_delta, "no_new" if no_new else "net", _pairs(rename or []))
    else:
        check = {
            "kind": "score_delta",
            "id": NAME,
            "tool": tool,
            "min_delta": min_delta,
            "metadata": metadata,
        }
        gate = comparing.measured(
            check,
            (comparing.side(before, repo), comparing.side(after, repo)),
            comparing.place_of(tool, image, debian, profile, config),
            sandbox,
            {"pip": pip or [], "npm": npm or []},
            config,
            renames=not no_renames,
        )
    _print(gate, as_json=as_json, sarif=sarif, markdown=markdown)
    return 0 if gate.passed else 1


def _pairs(given: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE, the value read as YAML reads it. Raises AuthoringError."""
    import yaml

    from orchestrator.errors import AuthoringError

    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise AuthoringError(f"{pair}: write it as NAME=VALUE")
        try:
            found[name] = yaml.safe_load(value) if "\n" not in value else value
        except yaml.YAMLError:
            found[name] = value
    return found


def _print(gate: Gate, *, as_json: bool, sarif: bool, markdown: bool) -> None:
    from importlib.metadata import version

    from orchestrator.checks import delta_forms
    from orchestrator.cli.printing import json_out

    if as_json:
        json_out(delta_forms.as_json(gate))
    elif sarif:
        json_out(delta_forms.as_sarif(gate, version("proctor")))
    else:
        text = delta_forms.as_markdown(gate) if markdown else "\n".join(delta_forms.lines(gate)) + "\n"
        typer.echo(text, nl=False)
