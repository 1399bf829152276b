"""proctor reap: remove what dead runs left behind."""

from __future__ import annotations

from typing import Any

from orchestrator.cli import options

NAME = "reap"
SUMMARY = "Remove what dead runs left behind."


def command(sandbox: options.Sandbox = None, as_json: options.Json = False) -> int:
    """Remove rooms, containers and mounts of runs that are dead; never anything of a live one.

    Every run does this when it starts; the command is for afterwards.

    \b
    Example:
      proctor reap
    """
    found = sweep(sandbox)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(found)
    else:
        for name, facts in found.items():
            removed = facts["removed"]
            told = f"removed {len(removed)}" if removed else "nothing was left behind"
            print(f"{name}: {facts['problem'] or told}")
            for thing in removed:
                print(f"  {thing}")
    return 0


def sweep(sandbox: str | None) -> dict[str, dict[str, Any]]:
    """Provider name -> what it removed, or why it could not look. Raises AuthoringError: unknown name."""
    from orchestrator.errors import AuthoringError
    from orchestrator.plugins import Registry
    from sandboxes.spec import Owner

    kinds = Registry.load().sandboxes
    if sandbox is not None and sandbox not in kinds:
        raise AuthoringError(f'there is no sandbox "{sandbox}"; known: {", ".join(sorted(kinds))}')
    found: dict[str, dict[str, Any]] = {}
    for name in [sandbox] if sandbox else sorted(kinds):
        provider = kinds[name](Owner.current("reap"))
        try:
            can = provider.capabilities()
            removed = list(provider.reap().removed) if can.available else []
            found[name] = {"removed": removed, "problem": "" if can.available else can.problem}
        finally:
            provider.close()
    return found
