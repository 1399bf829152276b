"""How a project's tests could be run: a first guess, and what to change when a run says why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Sketch:
    """One way to run the tests, not proven yet."""

    command: str
    env: Mapping[str, str] = field(default_factory=dict)
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """pip and npm lists, pinned."""
    report: str = ""
    """The reader of what the command prints, where the command does not tell."""
    debian: tuple[str, ...] = ()
    """Packages of a Debian recipe to run in; none: the machine's own tools."""
    suite: str = "bookworm"
    """Of that recipe."""
    own: Mapping[str, str] = field(default_factory=dict)
    """Path in the work tree -> text of a file that the judge brings."""


class Language(Protocol):
    """What is known of one kind of project."""

    def first(self) -> Sketch:
        """Raises AuthoringError when its tests cannot be run by anything we know."""
        ...

    def mended(self, sketch: Sketch, output: str, end: str) -> Sketch | None:
        """Another way, after a run of the mended state that printed `output` and ended `end` without a
        result; None when nothing is left to try."""
        ...
