"""Source files by language: their comments, and their code without them."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from orchestrator.analyzers import php

PHP = frozenset({"php", "inc", "module", "install", "phtml", "theme", "profile"})
PYTHON = frozenset({"py", "pyi"})
JAVASCRIPT = frozenset({"js", "mjs", "cjs", "jsx", "ts", "tsx"})

_HASH = re.compile(rb"#[^\r\n]*")
_SLASHES = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\r\n]*", re.DOTALL)


def language(path: str) -> str:
    """ "php", "python", "javascript" or "" by the file's suffix.

    >>> language("src/A.PHP")
    'php'
    """
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if suffix in PHP:
        return "php"
    return "python" if suffix in PYTHON else "javascript" if suffix in JAVASCRIPT else ""


def comments(path: str, source: bytes) -> Iterator[tuple[int, bytes]]:
    """Comments with the line each begins on. In JavaScript, and in Python that does not tokenise, whatever
    looks like one; in other languages none."""
    match language(path):
        case "php":
            yield from php.comments(source)
        case "python":
            yield from _python_comments(source)
        case "javascript":
            yield from _found(_SLASHES, source)


def bare_lines(path: str, source: bytes, *, strings: bool = True) -> list[bytes]:
    """Each line without its comments and white space, and, without `strings`, without what stands in strings
    (PHP and Python): code that was put into one is none any more."""
    match language(path):
        case "php":
            return php.squeezed_lines(source, strings=strings)
        case "python":
            gone = list(_python_spans(source, strings=not strings))
        case "javascript":
            gone = [found.span() for found in _SLASHES.finditer(source)]
        case _:
            gone = []
    bare = bytearray(source)
    for start, end in gone:
        bare[start:end] = re.sub(rb"[^\n]", b" ", source[start:end])
    return [b"".join(line.split()) for line in bytes(bare).split(b"\n")]


def code_lines(path: str, source: bytes) -> int:
    """Lines with anything but comments and white space on them."""
    return sum(map(bool, bare_lines(path, source)))


def _python_comments(source: bytes) -> Iterator[tuple[int, bytes]]:
    line, counted = 1, 0
    for start, end in _python_spans(source):
        line += source.count(b"\n", counted, start)
        counted = start
        yield line, source[start:end]


def _python_spans(source: bytes, *, strings: bool = False) -> Iterator[tuple[int, int]]:
    """Comments, and strings too if asked for."""
    # latin-1: one character for each byte.
    starts = [0, *(found.end() for found in re.finditer(rb"\n", source))]
    reader = io.StringIO(source.decode("latin-1"), newline="\n")
    wanted = (tokenize.COMMENT, tokenize.STRING) if strings else (tokenize.COMMENT,)
    found: list[tuple[int, int]] = []
    try:
        for token in tokenize.generate_tokens(reader.readline):
            if token.type in wanted:
                (row, column), (last, end) = token.start, token.end
                found.append((starts[row - 1] + column, starts[last - 1] + end))
    except (tokenize.TokenError, SyntaxError, RecursionError, ValueError):
        found = [match.span() for match in _HASH.finditer(source)]
    yield from found


def _found(pattern: re.Pattern[bytes], source: bytes) -> Iterator[tuple[int, bytes]]:
    line, counted = 1, 0
    for match in pattern.finditer(source):
        line += source.count(b"\n", counted, match.start())
        counted = match.start()
        yield line, match[0]
