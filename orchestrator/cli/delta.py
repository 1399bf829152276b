"""proctor delta: what an analyser says of one state of a code base against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options

if TYPE_CHECKING:
    from orchestrator.checks.delta_forms import Gate

NAME = "delta"
SUMMARY = "Compare what an analyser says of two states of a code base."


Before = Annotated[
    str,
    typer.Argument(
        metavar="BEFORE", help="A folder, REPOSITORY@REF, a ref of this repository, or a saved report."
    ),
]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The same, later.")]
Tool = Annotated[
    str, typer.Option("--tool", metavar="TOOL", help="phpcs, phpstan, ruff, ... or one of proctor.yaml.")
]
Standard = Annotated[
    str | None,
    typer.Option("--standard", metavar="NAME", help="phpcs: the coding standard; PSR12 by default."),
]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="PATH", help="Only this part of it; may be repeated."),
]
Option = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="An option of the tool, as in a check's metadata."),
]
MinDelta = Annotated[
    float,
    typer.Option(
        "--min-delta", metavar="N", callback=options.finite, help="Least improvement; 0 means no worse."
    ),
]
NoNew = Annotated[bool, typer.Option("--no-new", help="No finding may be new, whatever was mended.")]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="GUARD", help="Loosen: parse, code_lines, deletions, suppressions."),
]
Forbid = Annotated[
    list[str] | None, typer.Option("--forbid", metavar="GUARD", help="Fail on any: suppressions, config.")
]
NoRenames = Annotated[bool, typer.Option("--no-renames", help="Do not look for renamed files.")]
Repo = Annotated[
    str | None,
    typer.Option("--repo", metavar="DIR|URL", help="The repository of which BEFORE and AFTER are refs."),
]
BeforeRoot = Annotated[
    str, typer.Option("--before-root", metavar="DIR", help="Saved reports: folder their paths lie below.")
]
AfterRoot = Annotated[str, typer.Option("--after-root", metavar="DIR", help="The same for AFTER.")]
Rename = Annotated[
    list[str] | None,
    typer.Option("--rename", metavar="OLD=NEW", help="Saved reports: a file that was renamed."),
]
ImageRef = Annotated[str | None, typer.Option("--image", metavar="REF", help="An image that holds the tool.")]
Debian = Annotated[
    str | None,
    typer.Option("--debian", metavar="PACKAGES", help="Debian packages that hold the tool, with commas."),
]
Pip = Annotated[
    list[str] | None,
    typer.Option("--pip", metavar="NAME==VERSION", help="The tool from PyPI; may be repeated."),
]
Npm = Annotated[
    list[str] | None,
    typer.Option("--npm", metavar="NAME@VERSION", help="The tool from npm; may be repeated."),
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="A sandbox profile of --config.")
]
Sarif = Annotated[bool, typer.Option("--sarif", help="SARIF 2.1.0 on stdout.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Markdown on stdout.")]


def command(
    before: Before,
    after: After,
    tool: Tool,
    standard: Standard = None,
    target: Target = None,
    option: Option = None,
    min_delta: MinDelta = 0.0,
    no_new: NoNew = False,
    allow: Allow = None,
    forbid: Forbid = None,
    no_renames: NoRenames = False,
    repo: Repo = None,
    before_root: BeforeRoot = "",
    after_root: AfterRoot = "",
    rename: Rename = None,
    image: ImageRef = None,
    debian: Debian = None,
    pip: Pip = None,
    npm: Npm = None,
    profile: Profile = None,
    config: options.Config = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
    sarif: Sarif = False,
    markdown: Markdown = False,
) -> int:
    """Run one analyser on two states in fresh sandboxes, the same way, and match what it finds.

    Both runs have the same tool and configuration, from outside the code; comments that suppress findings are
    ignored or counted back, and so are findings that vanish with their files. Saved reports are compared as
    they are. Exits 0 when the improvement reaches --min-delta, 1 when not.

    \b
    Examples:
      proctor delta old/ new/ --tool phpcs
      proctor delta main HEAD --tool phpcs --standard PSR2 --target src --markdown
      proctor delta "$(git merge-base origin/main HEAD)" . --tool phpcs --no-new
      proctor delta old.json new.json --tool phpstan --json
      proctor delta old/ new/ --tool ruff --pip ruff==0.6.9 --no-new
    """
    from orchestrator.cli import comparing
    from orchestrator.cli.sides import sides
    from orchestrator.errors import AuthoringError

    if as_json + sarif + markdown > 1:
        raise AuthoringError("give only one of --json, --sarif and --markdown")
    mode = "no_new" if no_new else "net"
    if Path(before).is_file() or Path(after).is_file():
        _without_effect(
            "saved reports",
            {
                "--standard": standard,
                "--target": target,
                "--option": option,
                "--allow": allow,
                "--forbid": forbid,
                "--repo": repo,
                "--image": image,
                "--debian": debian,
                "--pip": pip,
                "--npm": npm,
                "--profile": profile,
            },
        )
        reports = ((before, before_root), (after, after_root))
        gate = comparing.saved(tool, *reports, min_delta, mode, _pairs(rename or []))
    else:
        roots = {"--before-root": before_root, "--after-root": after_root, "--rename": rename}
        _without_effect("states that are measured here", roots)
        wish: dict[str, Any] = {"standard": standard, "target": target, "allow": allow, "forbid": forbid}
        metadata = {name: value for name, value in wish.items() if value} | {"mode": mode}
        gate = comparing.measured(
            comparing.check_of(tool, min_delta, metadata | _pairs(option or [])),
            sides(before, after, repo),
            comparing.place_of(tool, image, debian, profile, config),
            sandbox,
            {"pip": pip or [], "npm": npm or []},
            config,
            renames=not no_renames,
        )
    _print(gate, as_json=as_json, sarif=sarif, markdown=markdown)
    return 0 if gate.passed else 1


def _without_effect(where: str, given: Mapping[str, object]) -> None:
    """What would silently do nothing is refused. Raises AuthoringError."""
    from orchestrator.errors import AuthoringError

    if idle := [name for name, value in given.items() if value]:
        raise AuthoringError(f"{', '.join(idle)} would have no effect on {where}")


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
