"""PHP source as far as it matters to a judge: which bytes are comments, and which lines hold code.

Strings, heredocs and what they interpolate are followed as PHP does itself, so that neither a comment
in a string nor a string in a comment deceives anybody. Nothing is executed; any bytes will do.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["html", "comment", "text"]


@dataclass(frozen=True, slots=True)
class Span:
    """html: outside of `<?php ?>`. text: a string or heredoc, or a piece of one. The rest is code."""

    kind: Kind
    start: int
    end: int


_WORD = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_OPENS = re.compile(rb"<\?(?:php(?=\s|\Z)|=)", re.IGNORECASE)
_OPENS_SHORT = re.compile(rb"<\?(?:php(?=\s|\Z)|=|(?!xml))", re.IGNORECASE)
_SHORT = re.compile(rb"<\?(?!php(?=\s|\Z)|=|xml)", re.IGNORECASE)
_LINE_COMMENT = re.compile(rb"(?:(?!\?>)[^\r\n])*")
_CODE = re.compile(
    rb"(?P<block>/\*.*?(?:\*/|\Z))|(?P<line>//|\#(?!\[))|(?P<close>\?>\r?\n?)"
    rb"|(?P<single>'[^'\\]*(?:\\.[^'\\]*)*(?:'|\Z))|(?P<double>\")|(?P<tick>`)"
    rb"|(?P<heredoc><<<[ \t]*(?P<quote>[\"']?)(?P<word>" + _WORD + rb")(?P=quote)\r?\n)"
    rb"|(?P<open>\{)|(?P<shut>\})|(?P<halt>\b__halt_compiler\b)",
    re.DOTALL | re.IGNORECASE,
)
_IN_DOUBLE = re.compile(rb"\\.|(?P<end>\")|(?P<code>\{(?=\$)|\$\{)", re.DOTALL)
_IN_TICK = re.compile(rb"\\.|(?P<end>`)|(?P<code>\{(?=\$)|\$\{)", re.DOTALL)


def comments(source: bytes) -> Iterator[tuple[int, bytes]]:
    """Comments with the line each begins on, whether `<?` alone opens PHP or not (machines differ)."""
    known: set[int] = set()
    for short in (False, True) if _SHORT.search(source) else (False,):
        line, counted = 1, 0
        for span in spans(source, short_tags=short):
            if span.kind == "comment" and span.start not in known:
                known.add(span.start)
                line += source.count(b"\n", counted, span.start)
                counted = span.start
                yield line, source[span.start : span.end]


def code_lines(source: bytes) -> int:
    """Lines that hold at least one token that is no comment.

    >>> code_lines(b"<?php\\n// a\\n$a = 1;\\n\\n")
    2
    """
    return sum(map(bool, _without_comments(source)))


def squeezed_lines(source: bytes, *, strings: bool = True) -> list[bytes]:
    """Each line without its comments and white space; a line of comments is empty. Without `strings`, what
    stands in strings, heredocs and outside of PHP is none either: it is not code, whatever is made of it."""
    return _without_comments(source, strings=strings)


def _without_comments(source: bytes, *, strings: bool = True) -> list[bytes]:
    bare = bytearray(source)
    solid: set[int] = set()
    line, counted = 0, 0
    for span in _known(source):
        if span.kind == "comment" or not strings:
            bare[span.start : span.end] = re.sub(rb"[^\n]", b" ", source[span.start : span.end])
            continue
        line += source.count(b"\n", counted, span.start)
        counted = span.start
        last = line + source[span.start : span.end].rstrip(b"\n").count(b"\n")
        solid.update(range(line, last + 1) if span.end > span.start else ())
    lines = [b"".join(text.split()) for text in bytes(bare).split(b"\n")]
    return [text or (b"\0" if number in solid else b"") for number, text in enumerate(lines)]


@lru_cache(maxsize=4)
def _known(source: bytes) -> tuple[Span, ...]:
    """A judge looks at the lines of one file several times in a row."""
    return tuple(spans(source))


def spans(source: bytes, *, short_tags: bool = False) -> Iterator[Span]:
    """Everything that is not plain code, in order."""
    opens = _OPENS_SHORT if short_tags else _OPENS
    position = 0
    while position < len(source):
        opening = opens.search(source, position)
        end = opening.start() if opening else len(source)
        if end > position:
            yield Span("html", position, end)
        if opening is None:
            return
        position = yield from _code(source, opening.end())


@dataclass(slots=True)
class _Quoted:
    """A string that interpolates, left for the code within it."""

    inside: re.Pattern[bytes]
    depth: int
    """Braces open in the code around it."""


def _code(source: bytes, position: int) -> Generator[Span, None, int]:
    """Code until `?>` or the end; strings that interpolate are held on a stack. Returns where it ended."""
    stack: list[_Quoted] = []
    depth = 0
    while (token := _CODE.search(source, position)) is not None:
        position = token.end()
        match token.lastgroup:
            case "block":
                yield Span("comment", token.start(), position)
            case "line":
                position = _end_of(_LINE_COMMENT, source, position)
                yield Span("comment", token.start(), position)
            case "single":
                yield Span("text", token.start(), position)
            case "open":
                depth += 1
            case "shut" if depth == 0 and stack:
                quoted = stack.pop()
                depth = quoted.depth
                position, inside = yield from _string(source, position, position, quoted.inside)
                if inside:
                    stack.append(quoted)
                    depth = 0
            case "shut":
                depth = max(0, depth - 1)
            case "close" | "halt":
                return len(source) if token["halt"] else position
            case _:
                inside_of = _opened(token)
                start, begun = token.start(), position
                position, inside = yield from _string(source, start, begun, inside_of)
                if inside:
                    stack.append(_Quoted(inside_of, depth))
                    depth = 0
    return len(source)


def _opened(token: re.Match[bytes]) -> re.Pattern[bytes]:
    """What to look for within the string that `token` opens."""
    if token["double"]:
        return _IN_DOUBLE
    if token["tick"]:
        return _IN_TICK
    closing = rb"(?P<end>^[ \t]*" + re.escape(token["word"]) + rb"(?![\w\x80-\xff]))"
    code = rb"|(?P<code>(?!))" if token["quote"] == b"'" else rb"|\\.|(?P<code>\{(?=\$)|\$\{)"
    return re.compile(closing + code, re.MULTILINE | re.DOTALL)


def _string(
    source: bytes, start: int, position: int, inside: re.Pattern[bytes]
) -> Generator[Span, None, tuple[int, bool]]:
    """A piece of a string, to its end or to the code it interpolates. Returns (position, code follows)."""
    while (found := inside.search(source, position)) is not None:
        position = found.end()
        if found["end"] is not None or found["code"] is not None:
            yield Span("text", start, position)
            return position, found["code"] is not None
    yield Span("text", start, len(source))
    return len(source), False


def _end_of(pattern: re.Pattern[bytes], source: bytes, position: int) -> int:
    found = pattern.match(source, position)
    return found.end() if found else position
