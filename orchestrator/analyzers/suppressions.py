"""Comments that tell an analyzer to look away, counted in comments only (never in strings).

A suppression a change adds hides a finding without mending it, so it is counted back where the tool itself
cannot be told to ignore it, and named in any case (C-11).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.contract import ChangedFile

PATTERNS = {
    "phpcs": re.compile(
        r"phpcs:(?:ignoreFile|ignore|disable|set)\b|@codingStandards(?:IgnoreFile|IgnoreStart|IgnoreLine)\b"
        r"|@codingStandardsChangeSetting\b",
        re.IGNORECASE,
    ),
    "phpstan": re.compile(r"@phpstan-ignore(?:-next-line|-line)?\b", re.IGNORECASE),
}
"""Syntax name -> what it looks like inside a comment."""

_PHP_TOKENS = re.compile(
    rb"""
      (?P<block> /\*.*?(?:\*/|\Z) )
    | (?P<line>  (?://|\#(?!\[)) (?:(?!\?>)[^\r\n])* )
    | (?P<close> \?> )
    | (?P<heredoc> <<<[ \t]*(?P<quote>["']?)(?P<word>[A-Za-z_\x80-\xff][\w\x80-\xff]*)(?P=quote)\r?\n
        .*? (?:^[ \t]*(?P=word)\b|\Z) )
    | (?P<string> "(?:[^"\\]|\\.)*(?:"|\Z) | '(?:[^'\\]|\\.)*(?:'|\Z) | `(?:[^`\\]|\\.)*(?:`|\Z) )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PHP_OPENS = re.compile(rb"<\?(?:php\b|=|(?!xml))", re.IGNORECASE)


@dataclass(frozen=True)
class Suppression:
    """One comment that a change added."""

    path: str
    line: int
    text: str


def added(changes: Iterable[ChangedFile], syntax: str) -> tuple[Suppression, ...]:
    """What the change adds, file by file: what is there after beyond what was there before."""
    found: list[Suppression] = []
    for change in changes:
        if change.after is None:
            continue
        known = Counter(s.text for s in find(change.path, change.before or b"", syntax))
        for suppression in find(change.path, change.after, syntax):
            if known[suppression.text] > 0:
                known[suppression.text] -= 1
            else:
                found.append(suppression)
    return tuple(found)


def find(path: str, source: bytes, syntax: str) -> Iterator[Suppression]:
    """Every suppression in one PHP file."""
    for line, comment in php_comments(source):
        text = comment.decode("utf-8", "replace")
        for match in PATTERNS[syntax].finditer(text):
            yield Suppression(path, line + text.count("\n", 0, match.start()), match[0])


def php_comments(source: bytes) -> Iterator[tuple[int, bytes]]:
    """Comments of a PHP file with the line each begins on. Text outside `<?php ... ?>` is none."""
    position, line, counted = 0, 1, 0
    while (opening := _PHP_OPENS.search(source, position)) is not None:
        position = opening.end()
        while (token := _PHP_TOKENS.search(source, position)) is not None:
            position = token.end()
            if token.lastgroup == "close" or token["close"]:
                break
            if token["block"] or token["line"]:
                line += source.count(b"\n", counted, token.start())
                counted = token.start()
                yield line, token[0]
        else:
            return
