"""Does a PCRE2 pattern match a text: the real engine, and an answer in bounded time whatever the pattern.

PCRE2's own match limit counts anew at every start position and does not count what a single-character
repeat walks over, so it bounds no time: `(?=x.*.*[bc])` on 4,000 letters takes 18 s under the default limit
(PCRE2 10.42). So there are two places to match:

- here, when the steps of the worst pattern of its kind stay below a budget of about half a second, with
  the match limit set so low that they do;
- otherwise, or when that low limit was hit, in a worker process whose CPU time the kernel bounds.

Nothing is refused for its shape: the shape only chooses the place.
"""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from typing import Any

from orchestrator.checks.regex_worker import (
    COMPILE_ERROR,
    FLAGS,
    LIMIT,
    MATCH,
    NO_MATCH,
    UNSUPPORTED,
    attempt,
)
from orchestrator.checks.regex_workers import Workers
from orchestrator.checks.responses import quoted

BUDGET = 400_000_000
"""Steps a match in this process may take at worst; measured at 0.5 to 2.1 ns each."""
LOWEST_LIMIT = 8
HIGHEST_LIMIT = 1_000_000
LONGEST_PATTERN = 2_000
"""Characters; longer ones are compiled in a worker too."""

_WALKS = re.compile(r"[*+{]|\(\?(?:R|[+-]?\d|&|P>)|\\[1-9gkX]")
"""What can walk over the text or go round again: repeats, recursion, back references, \\X."""


class PatternError(Exception):
    """The pattern gave no answer: it does not compile, is not supported, or hit a limit. Never a pass."""


class Regex:
    """PCRE2 with bounds. UTF and Unicode properties are always on (C-18). Safe to use from many threads.

    `seconds` is the CPU time a worker may take for one pattern on one text.
    """

    def __init__(self, seconds: float = 3.0) -> None:
        self.seconds = seconds
        self._workers = Workers(seconds)

    def search(self, pattern: str, flags: str | None, text: str) -> bool:
        """Whether `pattern` matches somewhere in `text`.

        `flags` is made of the letters i, m, s, x, u; None (not given) means ignore case, and the empty text
        means no flag at all (C-16). Raises PatternError, whose message names the pattern.
        """
        options = options_of(flags)
        limit = _limit_here(pattern, len(text))
        answer, detail = LIMIT, ""
        if limit:
            answer, detail = attempt(pattern, options, text, limit)
        if answer == LIMIT:
            answer, detail = self._workers.ask(pattern, options, text)
        if answer in (MATCH, NO_MATCH):
            return answer == MATCH
        raise PatternError(_said(answer, pattern, detail))

    def close(self) -> None:
        """End the worker processes, if any were started."""
        self._workers.close()


@lru_cache(maxsize=1)
def engine() -> str:
    """What matches, for records: "PCRE2 10.42" (B117)."""
    version = str(importlib.import_module("pcre_ext_c").get_library_version())
    return f"PCRE2 {version.partition(' ')[0]}"


@lru_cache(maxsize=256)
def options_of(flags: Any) -> int:
    """PCRE2 option bits of the flag letters. Raises PatternError for any other letter (C-17)."""
    if flags is None:
        return FLAGS["i"]
    if not isinstance(flags, str):
        raise PatternError(f"flags must be text made of i, m, s, x, u, not {type(flags).__name__}")
    unknown = sorted(set(flags) - set(FLAGS))
    if unknown:
        raise PatternError(f"unknown flags {''.join(unknown)!r}: only i, m, s, x, u are known")
    bits = 0
    for letter in flags:
        bits |= FLAGS[letter]
    return bits


def _limit_here(pattern: str, length: int) -> int:
    """The match limit under which matching in this process is surely quick; 0 when there is none.

    From each start position at most `limit` steps are counted. Each may walk once over the rest of the text
    uncounted, unless at most one thing in the pattern could walk: then it walks or it is counted.
    """
    if len(pattern) > LONGEST_PATTERN:
        return 0
    walks, size = len(_WALKS.findall(pattern)), max(1, length)
    one_or_other = walks == 0 or (walks == 1 and size * size <= BUDGET)
    limit = min(HIGHEST_LIMIT, BUDGET // (size if one_or_other else size * size))
    return limit if limit >= LOWEST_LIMIT else 0


def _said(answer: str, pattern: str, detail: str) -> str:
    named = f"pattern {quoted(pattern, most=400)}"
    if answer == COMPILE_ERROR:
        return f"{named} does not compile: {detail}"
    if answer == UNSUPPORTED:
        return f"{named} is not supported: {detail}"
    return f"{named} gave no answer within its limits: {detail or 'match limit exceeded'}"
