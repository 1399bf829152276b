"""Where the PHP stands in a response, and whether `php -l` would really look at it.

The rule, first match wins:

1. fenced blocks whose language is php (or php3 to php8, phtml): each is a file;
2. fenced blocks that hold an open tag, whatever their language: each is a file;
3. no fenced block at all, and the response holds an open tag: the whole response is one file;
4. with the wrapper: fenced blocks without a language, else the whole response where there is no fence.

A file needs an open tag, its own or the wrapper's, since `php -l` says fine to any text without one. The
same holds for what follows `__halt_compiler`: code that names it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.checks.commonmark import structure
from orchestrator.checks.fields import Mistake, flag
from orchestrator.contract import Check

DEFAULT_WRAPPER = "<?php\n{code}\n"
MOST_FILES = 100
"""Of one response; each costs a start of PHP."""
_LANGUAGES = frozenset({"php", *(f"php{version}" for version in range(3, 9)), "phtml"})
_TAG = re.compile(r"<\?(?:php(?=\s|\Z)|=)", re.IGNORECASE)
_CODE = re.compile(r"<\?(?:php(?=\s|\Z)|=)(.*?)(?:\?>|\Z)", re.IGNORECASE | re.DOTALL)
_HALT = re.compile(r"__halt_compiler", re.IGNORECASE)


class NoCode(Exception):
    """There is nothing that a lint could judge; the message says why."""


def wrapper_of(check: Check) -> str | None:
    """The template around fragments, None when fragments are not wrapped. Raises Mistake.

    `wrapper: true` takes `wrapper_template` or the default; a `wrapper` that is text is the template
    itself; a `wrapper_template` alone asks for wrapping.
    """
    template = check.get("wrapper_template", DEFAULT_WRAPPER)
    given = check.get("wrapper")
    if isinstance(given, str):
        template = given
    elif not flag(check, "wrapper", default="wrapper_template" in check):
        return None
    if not isinstance(template, str) or "{code}" not in template:
        raise Mistake("the wrapper must be text that holds {code}")
    if not _TAG.search(template):
        raise Mistake("the wrapper must hold an open tag <?php, or nothing in it is linted")
    return template


def files_of(text: str, wrapper: str | None) -> list[str]:
    """What each call of `php -l` is given. Raises NoCode."""
    files = [_file(code, wrapper) for code in _pieces(text, wrapped=wrapper is not None)]
    if not files:
        raise NoCode("no PHP code found")
    if len(files) > MOST_FILES:
        raise NoCode(f"{len(files)} blocks of PHP; at most {MOST_FILES} are linted")
    return files


def _pieces(text: str, *, wrapped: bool) -> Iterable[str]:
    fences = structure(text).fences
    named = [f.code for f in fences if f.language in _LANGUAGES]
    tagged = [f.code for f in fences if _TAG.search(f.code)]
    if named or tagged:
        return named or tagged
    if not fences:
        return [text] if _TAG.search(text) or (wrapped and text.strip()) else []
    return [f.code for f in fences if wrapped and not f.language]


def _file(code: str, wrapper: str | None) -> str:
    if not code.strip():
        raise NoCode("a block of PHP is empty")
    if not _TAG.search(code):
        if wrapper is None:
            raise NoCode("a block of PHP has no open tag <?php, and the check asks for no wrapper")
        code = wrapper.replace("{code}", code)
    elif not any(part.strip() for part in _CODE.findall(code)):
        raise NoCode("a block of PHP holds nothing between its tags")
    if _HALT.search(code):
        raise NoCode("a block of PHP names __halt_compiler, after which nothing is linted")
    return code
