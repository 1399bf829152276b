"""A pattern of JSON Schema (ECMA-262, Unicode mode) as PCRE2 understands it."""

from __future__ import annotations

import re

_WORD = "A-Za-z0-9_"
_OUTSIDE = {
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    r"\B": f"(?:(?<=[{_WORD}])(?=[{_WORD}])|(?<![{_WORD}])(?![{_WORD}]))",
}
"""Digits and words are ASCII in ECMA-262; PCRE2 with Unicode properties knows more of them."""
_IN_CLASS = {
    r"\d": "0-9",
    r"\D": r"\x{0}-\x{2f}\x{3a}-\x{10ffff}",
    r"\w": _WORD,
    r"\W": r"\x{0}-\x{2f}\x{3a}-\x{40}\x{5b}-\x{5e}\x{60}\x{7b}-\x{10ffff}",
}
_ANY_CHARACTER = r"[^\n\r\x{2028}\x{2029}]"
_PIECE = re.compile(
    r"\\u\{(?P<braced>[0-9A-Fa-f]+)\}"
    r"|\\u(?P<high>[dD][89abAB][0-9A-Fa-f]{2})\\u(?P<low>[dD][c-fC-F][0-9A-Fa-f]{2})"
    r"|\\u(?P<four>[0-9A-Fa-f]{4})"
    r"|(?P<escape>\\.)"
    r"|(?P<empty>\[\^?\])"
    r"|(?P<other>.)",
    re.DOTALL,
)


def to_pcre(pattern: str) -> str:
    """The same pattern for PCRE2 without flags.

    >>> to_pcre("^\\\\u0041$")
    '^\\\\x{0041}\\\\z'
    """
    return "".join(_pieces(pattern))


def _pieces(pattern: str) -> list[str]:
    found, in_class = [], False
    for piece in _PIECE.finditer(pattern):
        text = piece[0]
        if code := _code_point(piece):
            found.append(f"\\x{{{code}}}")
        elif piece["escape"]:
            found.append((_IN_CLASS if in_class else _OUTSIDE).get(text, text))
        elif in_class:
            in_class = text != "]"
            # PCRE2 would take [: for the start of a named class.
            found.append(text.replace("[", "\\["))
        elif piece["empty"]:
            found.append("(?!)" if text == "[]" else r"[\s\S]")
        else:
            in_class = text == "["
            found.append({"$": r"\z", ".": _ANY_CHARACTER}.get(text, text))
    return found


def _code_point(piece: re.Match[str]) -> str:
    if piece["high"]:
        high, low = int(piece["high"], 16), int(piece["low"], 16)
        return f"{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):x}"
    return piece["braced"] or piece["four"] or ""
