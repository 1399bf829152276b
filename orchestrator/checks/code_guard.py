"""The guard of the code itself: what a change may not do with it to have less found in it.

- an analysed file loses most of its code and no other one has gained it: emptied, stubbed, minified;
- lines of code become text (in a string) or move to a file that is not analysed: executed, not looked at;
- code is evaluated that was not before.

What is in comments and strings is no code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.analyzers.source import bare_lines, language
from orchestrator.checks.comparison import Comparison
from orchestrator.checks.guards import Guard
from orchestrator.contract import ChangedFile

MANY_LINES = 10
"""A file with fewer lines of code is only held to keep any at all."""
LEAST_KEPT = 0.5
"""Of a file's lines of code."""
TELLING = 8
"""Characters, white space aside, from which on a line is known again elsewhere."""
HIDDEN = 3
"""So many telling lines found again where nobody looks are no accident."""

_EVALUATES = {
    "php": re.compile(rb"(?<![\w>:$\\])(?:eval|create_function)\(", re.IGNORECASE),
    "python": re.compile(rb"(?<![\w.])(?:eval|exec)\("),
}


@dataclass(frozen=True)
class Side:
    """One file on one side of the change."""

    code: Counter[bytes]
    """Its lines of code, strings left out."""
    whole: Counter[bytes]
    """The same lines with their strings."""
    text: Counter[bytes]
    """Lines that are nothing but text."""
    evaluates: int

    @classmethod
    def of(cls, path: str, source: bytes | None) -> Side:
        with_text = bare_lines(path, source or b"")
        bare = bare_lines(path, source or b"", strings=False)
        pairs = list(zip(bare, with_text, strict=True))
        calls = _EVALUATES.get(language(path))
        return cls(
            Counter(code for code in bare if code),
            Counter(whole for code, whole in pairs if code),
            Counter(whole for code, whole in pairs if whole and not code),
            sum(len(calls.findall(code)) for code in bare) if calls else 0,
        )


def code_lines(changes: Collection[ChangedFile], compared: Comparison, allowed: bool) -> Guard:
    """The verdict. Files that are not analysed any more are the `files` guard's."""
    analysed = compared.after.files
    if analysed is None:
        return Guard("code_lines", "unavailable", f"{compared.after.tool} does not say what it analysed")
    sides = [(c, Side.of(c.old_path or c.path, c.before), Side.of(c.path, c.after)) for c in changes]
    looked_at = [side for side in sides if side[0].path in analysed]
    elsewhere = [side for side in sides if side[0].path not in analysed and side[0].after is not None]
    places = (*_collapses(looked_at), *_hideouts(looked_at, elsewhere), *_evaluations(sides))
    if not places:
        return Guard("code_lines", "passed")
    says = (
        "code was lost or hidden" if len(places) == 1 else f"code was lost or hidden in {len(places)} places"
    )
    return Guard("code_lines", "loosened" if allowed else "failed", says, places)


Sides = Sequence[tuple[ChangedFile, Side, Side]]


def _collapses(sides: Sides) -> Iterator[str]:
    gained: Counter[bytes] = Counter()
    for _, old, new in sides:
        gained += new.code - old.code
    for change, old, new in sides:
        kept, total = new.code.total(), old.code.total()
        if not total or not _collapsed(kept, total):
            continue
        found_again = (old.code - new.code) & (gained - (new.code - old.code))
        if _collapsed(kept + found_again.total(), total):
            yield f"{change.path}: {total} lines of code before, {kept} after"


def _collapsed(kept: int, total: int) -> bool:
    return kept == 0 if total < MANY_LINES else kept < total * LEAST_KEPT


def _hideouts(sides: Sides, elsewhere: Sides) -> Iterator[str]:
    lost: Counter[bytes] = Counter()
    for _, old, new in sides:
        lost += old.whole - new.whole
    for _, old, new in sides:
        lost -= new.whole - old.whole
    for change, old, new in sides:
        if number := _telling(lost & (new.text - old.text)):
            yield f"{change.path}: {number} lines of code became text"
    for change, old, new in elsewhere:
        if number := _telling(lost & ((new.whole + new.text) - (old.whole + old.text))):
            yield f"{change.path}: {number} lines of code moved here, where the tool does not look"


def _telling(lines: Counter[bytes]) -> int:
    number = sum(count for line, count in lines.items() if len(line) >= TELLING)
    return number if number >= HIDDEN else 0


def _evaluations(sides: Sides) -> Iterator[str]:
    for change, old, new in sides:
        if new.evaluates > old.evaluates:
            yield f"{change.path}: evaluates code that is put together at run time"
