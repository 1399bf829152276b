"""What a Markdown text is made of, by the rules of CommonMark (no tables or other extensions)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEEPEST = 100
"""Levels of quotes and lists that are looked into; what nests deeper is not seen."""
_LONGEST_HEADING = 2_000
"""Characters up to which the markup inside a heading is taken off its text."""


@dataclass(frozen=True)
class Fence:
    """One fenced code block."""

    language: str
    """The first word after the opening fence, small letters; empty when there is none."""
    code: str


@dataclass(frozen=True)
class Structure:
    """A text's blocks, wherever they stand: also those inside quotes and list items."""

    headings: tuple[tuple[int, str], ...]
    """(level, text without markup), both styles of headings."""
    fences: tuple[Fence, ...]
    code_blocks: int
    """Fenced and indented ones."""
    structured: bool
    """Whether there is any block other than a paragraph."""


@lru_cache(maxsize=4)
def structure(text: str) -> Structure:
    """Read `text`. Every text is some Markdown, so nothing is raised.

    >>> structure("# One\\n\\nTwo\\n---\\n").headings
    ((1, 'One'), (2, 'Two'))
    """
    tokens = _parser().parse(text)
    fences = [Fence(_language(t.info), t.content) for t in tokens if t.type == "fence"]
    indented = sum(t.type == "code_block" for t in tokens)
    return Structure(
        headings=tuple(_headings(tokens)),
        fences=tuple(fences),
        code_blocks=len(fences) + indented,
        structured=any(t.type not in _PARAGRAPH for t in tokens),
    )


_PARAGRAPH = frozenset({"paragraph_open", "paragraph_close", "inline"})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # slow to load: only when a check asks for it

    parser = MarkdownIt("commonmark", {"maxNesting": DEEPEST})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def _headings(tokens: list[Token]) -> Iterable[tuple[int, str]]:
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open":
            yield int(opening.tag[1:]), _plain(inside.content)


def _plain(content: str) -> str:
    """An inline text without its markup."""
    if len(content) > _LONGEST_HEADING:
        return content
    parsed = _inline_parser().parseInline(content)[0].children or []
    shown = (" " if t.type in ("softbreak", "hardbreak") else t.content for t in parsed)
    return "".join(shown).strip()


def _language(info: str) -> str:
    words = info.split(maxsplit=1)
    return words[0].casefold() if words else ""
