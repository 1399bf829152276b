"""What fetching a source gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fetched:
    """A source as trees."""

    tree: str
    broken: str | None = None
    """Of a release pair: `tree` with the swapped paths as in the broken release. Of a Debian package: without
    the patches to revert."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was fetched, for the records: commit, hashes."""
