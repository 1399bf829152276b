"""What enable and disable have in common."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.rubric import places


def switch(rubric: str, folders: list[Path] | None, enabled: bool) -> str:
    """Do it, and say what was done. Raises AuthoringError; a built-in rubric is not ours to change here."""
    from orchestrator.edits import switch_file
    from orchestrator.errors import AuthoringError

    place = places.locate(rubric, folders)
    word = "enabled" if enabled else "disabled"
    if place.built_in:
        name = place.ref.removeprefix("rubric/").partition("@")[0]
        hint = f"`proctor rubric new my_{name} --from {name}` makes one of your own"
        raise AuthoringError(f"{place.ref} comes with proctor and cannot be {word}; {hint}")
    if not place.ref:
        raise AuthoringError(f"{place.path} is no rubric: it has no id or no checks")
    changed = switch_file(place.path, enabled)
    return f"{place.path}: {place.ref} {'is now' if changed else 'was already'} {word}"
