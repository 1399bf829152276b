"""The `format` words of JSON Schema, enforced, each in time that grows with the text and no faster."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from jsonschema import FormatChecker

from orchestrator.checks.ecma import to_pcre
from orchestrator.checks.regex import PatternError, Regex

LONGEST = 10_000
"""Characters; a longer text satisfies none of the formats (all of them are short by nature)."""
_ADDRESS = re.compile(r'(?:"[^"\r\n]*"|[^@\s"]+)@[^@\s]+')
"""jsonschema itself only looks for an @."""
_NOT_IN_IRIS = re.compile("[\ue000-\uf8ff\ufdd0-\ufdef\ufff0-\uffff]")


def checker(base: FormatChecker, regex: Regex) -> FormatChecker:
    """The formats that `base`, a draft's own checker, knows, all of them bounded.

    iri and iri-reference are judged as RFC 3987 section 3.1 maps them to URIs: the grammar-based judge
    that jsonschema can use takes half a minute for 20,000 characters (rfc3987-syntax 1.1). regex asks
    PCRE2.
    """
    ours = FormatChecker(formats=())
    own = dict(base.checkers)
    for iri, uri in (("iri", "uri"), ("iri-reference", "uri-reference")):
        if uri in own:
            own[iri] = (_mapped(own[uri][0]), own[uri][1])
    own["email"] = own["idn-email"] = (_is_address, ())
    own["regex"] = (lambda value: _is_pattern(value, regex), ())
    ours.checkers = {name: (_bounded(judge), raises) for name, (judge, raises) in own.items()}
    return ours


def _bounded(judge: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def bounded(value: object) -> bool:
        return not (isinstance(value, str) and len(value) > LONGEST) and judge(value)

    return bounded


def _is_address(value: object) -> bool:
    return not isinstance(value, str) or _ADDRESS.fullmatch(value) is not None


def _mapped(judge: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def mapped(value: object) -> bool:
        if not isinstance(value, str):
            return True
        if _NOT_IN_IRIS.search(value) or not _encodable(value):
            return False
        return judge("".join(c if c.isascii() else quote(c) for c in value))

    return mapped


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_pattern(value: object, regex: Regex) -> bool:
    if not isinstance(value, str):
        return True
    if not _encodable(value):
        return False
    try:
        regex.search(to_pcre(value), "", "")
    except PatternError:
        return False
    return True
