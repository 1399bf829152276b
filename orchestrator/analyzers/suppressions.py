"""Comments that tell an analyzer to look away, counted in comments only (never in strings).

A suppression a change adds hides a finding without mending it, so it is counted back where the tool itself
cannot be told to ignore it, and named in any case (C-11).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.analyzers.source import bare_lines, comments
from orchestrator.contract import ChangedFile

PATTERNS = {
    "phpcs": re.compile(
        r"phpcs:(?P<wide>ignoreFile|disable|set)\b|phpcs:ignore\b"
        r"|@codingStandards(?P<wide2>IgnoreFile|IgnoreStart|ChangeSetting)\b|@codingStandardsIgnoreLine\b",
        re.IGNORECASE,
    ),
    "phpstan": re.compile(r"@phpstan-ignore(?:-next-line|-line)?\b", re.IGNORECASE),
    "phpmd": re.compile(r"(?P<wide>@SuppressWarnings)\b|(?P<soft>@inheritdoc)\b", re.IGNORECASE),
    "python": re.compile(
        r"\b(?P<wide>(?:ruff|flake8)\s*:\s*noqa|ruff\s*:\s*(?:disable|file-ignore))\b|(?<![\w:])noqa\b|\bnosec\b"
        r"|\btype\s*:\s*ignore\b|\bmypy\s*:\s*(?P<wide2>[\w-]+)"
        r"|\bpylint\s*:\s*disable-next\b|\bpylint\s*:\s*(?P<wide3>skip-file|disable(?:-msg)?)\b",
        re.IGNORECASE,
    ),
    "eslint": re.compile(
        r"\b(?:eslint-disable-(?:next-)?line|(?P<wide>eslint-disable|eslint\s+[\w@/-]+\s*:))"
    ),
}
"""Syntax name -> what it looks like inside a comment. A group named wide...: it reaches beyond a
line; soft: it has another use, too."""


@dataclass(frozen=True)
class Suppression:
    """One comment that a change added."""

    path: str
    line: int
    text: str
    wide: bool = False
    """Reaches beyond its own or the next line: to a block, or to the whole file."""
    soft: bool = False
    """Has an honest use, too: only what vanishes behind it is counted back."""


def added(changes: Iterable[ChangedFile], syntax: str) -> tuple[Suppression, ...]:
    """What the change adds, file by file: what is there after beyond what was there before."""
    found: list[Suppression] = []
    for change in changes:
        if change.after is None:
            continue
        known = Counter(s.text for s in find(change.old_path or change.path, change.before or b"", syntax))
        for suppression in find(change.path, change.after, syntax):
            if known[suppression.text] > 0:
                known[suppression.text] -= 1
            else:
                found.append(suppression)
    return tuple(found)


def find(path: str, source: bytes, syntax: str) -> Iterator[Suppression]:
    """Every suppression in one file."""
    if PATTERNS[syntax].search(source.decode("utf-8", "replace")) is None:
        return
    for line, comment in comments(path, source):
        text = comment.decode("utf-8", "replace")
        for match in PATTERNS[syntax].finditer(text):
            at = line + text.count("\n", 0, match.start())
            groups = match.groupdict()
            soft = bool(groups.pop("soft", None))
            top = match[0].startswith("type") and _on_top(path, source, line)
            wide = top or any(groups.values())
            yield Suppression(path, at, match[0], wide, soft)


def _on_top(path: str, source: bytes, line: int) -> bool:
    """Whether a comment stands before all code: mypy takes it for the whole file then."""
    return not any(bare_lines(path, source)[:line])
