"""Path patterns as authors write them, in the manner of `.gitignore`.

Matched against a path's raw bytes, so that no encoding and no quoting hides a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache


def matcher(patterns: Iterable[str]) -> Callable[[bytes], bool]:
    """Whether a path relative to the work tree, or a folder it lies in, matches one of `patterns`.

    A pattern without a slash matches a name at any depth, one with a slash is read from the top. `*` and `?`
    stay within a name, `**` spans folders, `[abc]` and `[!abc]` name single characters.

    >>> protected = matcher(["conftest.py", "tests/**", "/Makefile"])
    >>> [protected(p) for p in (b"a/conftest.py", b"tests/x/y.py", b"Makefile", b"sub/Makefile")]
    [True, True, True, False]
    """
    found = _compiled(tuple(pattern for pattern in patterns if pattern.strip("/")))
    return lambda path: found is not None and found.fullmatch(path) is not None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[bytes] | None:
    """Many tasks of a run have the same patterns."""
    parts = [_regex(pattern) for pattern in patterns]
    return re.compile(b"(?:" + b"|".join(parts) + rb")(?:/.*)?", re.DOTALL) if parts else None


def _regex(pattern: str) -> bytes:
    text = os.fsencode(pattern.rstrip("/"))
    anchored = b"/" in text
    text = text.removeprefix(b"/")
    out = b"" if anchored else rb"(?:.*/)?"
    at = 0
    while at < len(text):
        piece, step = _piece(text, at)
        out += piece
        at += step
    return out


def _piece(text: bytes, at: int) -> tuple[bytes, int]:
    """The regular expression for what stands at `at`, and how much of the pattern it took."""
    rest = text[at:]
    if rest.startswith(b"**/") and (at == 0 or text[at - 1 : at] == b"/"):
        return rb"(?:.*/)?", 3
    if rest.startswith(b"**"):
        return rb".*", 2
    if rest.startswith(b"*"):
        return rb"[^/]*", 1
    if rest.startswith(b"?"):
        return rb"[^/]", 1
    if match := re.match(rb"\[(!?)([^\]/]+)\]", rest):
        inside = re.sub(rb"[\\\[^&~|]", rb"\\\g<0>", match[2])
        return b"[" + (b"^/" if match[1] else b"") + inside + b"]", match.end()
    return re.escape(rest[:1]), 1
