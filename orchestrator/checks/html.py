"""The first parse error of an HTML text, by the standard's own algorithm."""

from __future__ import annotations

import re
from typing import Any

import html5lib
from html5lib.constants import E
from html5lib.html5parser import HTMLParser, ParseError

DEEPEST = 512
"""Elements that may be open at once, as in browsers; it also bounds the time a hostile text can take."""
MOST_ATTRIBUTES = 256
"""Of one tag: html5lib compares each with all before it."""
_DOCUMENT = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype|html)[\s>]", re.IGNORECASE | re.DOTALL)


def problem_of(text: str) -> str:
    """The first parse error, with its place; empty when there is none."""
    parser = _Parser(tree=_tree_builder(), strict=True)
    try:
        if _DOCUMENT.match(text):
            parser.parse(text)
        else:
            parser.parseFragment(text, container="body")
    except ParseError as error:
        line, column = parser.tokenizer.stream.position()
        return f"line {line}, column {column}: {error}"
    return ""


class _Parser(HTMLParser):
    """Says an error in words, and reads no tag with endless attributes."""

    @property
    def tokenizer(self) -> Any:
        return self._tokenizer

    @tokenizer.setter
    def tokenizer(self, made: Any) -> None:
        read_name = made.attributeNameState

        def bounded() -> Any:
            if len(made.currentToken["data"]) > MOST_ATTRIBUTES:
                raise ParseError(f"a tag of more than {MOST_ATTRIBUTES} attributes")
            return read_name()

        made.attributeNameState = bounded
        self._tokenizer = made

    def parseError(self, errorcode: str = "XXX-undefined-error", datavars: Any = None) -> None:
        try:
            words = E[errorcode] % (datavars or {})
        except (KeyError, TypeError, ValueError):
            words = errorcode
        raise ParseError(words.rstrip("."))


class _Open(list[Any]):
    """The stack of open elements, never higher than DEEPEST."""

    def append(self, element: Any) -> None:
        if len(self) >= DEEPEST:
            raise ParseError(f"more than {DEEPEST} elements are open at once")
        super().append(element)


def _tree_builder() -> Any:
    builder: Any = html5lib.getTreeBuilder("etree")

    class Bounded(builder):  # type: ignore[misc]
        def reset(self) -> None:
            super().reset()
            self.openElements = _Open()

    return Bounded
