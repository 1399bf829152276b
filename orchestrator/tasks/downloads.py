"""Fetched files, kept by their hash: what is here is never fetched again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from sandboxes import drafts
from sandboxes.errors import SandboxError


class SourceUnavailable(SandboxError):
    """A registry or repository could not be reached, or its client is not installed. Nobody's score."""


class WrongHash(ValueError):
    """A file is not the one that was asked for."""

    def __init__(self, expected: str, seen: str) -> None:
        super().__init__(f"sha256 is {seen}, not {expected}")
        self.expected = expected
        self.seen = seen


class Downloads:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, sha256: str, fetch: Callable[[Path], None]) -> Path:
        """The file with this hash (any case); `fetch` writes it to the path it is given when it is not here.
        Raises WrongHash, and what `fetch` raises."""
        expected = sha256.lower().removeprefix("sha256:")
        kept = self.folder / expected
        if kept.is_file() and digest(kept) == expected:
            return kept
        self.folder.mkdir(parents=True, exist_ok=True)
        with drafts.whole(kept) as part:
            fetch(part)
            if (seen := digest(part)) != expected:
                raise WrongHash(expected, seen)
        return kept


def digest(path: Path) -> str:
    """A file's SHA-256, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
