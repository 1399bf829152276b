"""Findings before against findings after, matched by what they are, not by where they stand (C-11).

Identity is rule, path (renames followed), the source line without white space (where the source is not at
hand, the message), and what the tool adds to it. Equal findings pair by their lines' fate in the file's diff
first, then in order; what is left pairs where a line was rewritten and the tool says the same of it.
Whatever happens: before - fixed - gone - suppressed + new == after.
"""

from __future__ import annotations

import bisect
import difflib
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.analyzers.measurement import Finding

Hidden = Callable[[Finding], bool]
"""Whether a finding that vanished only hides behind a new suppression."""

DIFF_LINES = 20_000
"""Files with more lines than this are paired in order only: a diff of theirs would cost minutes."""


@dataclass(frozen=True)
class Delta:
    """How the findings changed. Pairs are (before, after)."""

    fixed: tuple[Finding, ...] = ()
    """Gone from files that are still analysed."""
    new: tuple[Finding, ...] = ()
    unchanged: tuple[tuple[Finding, Finding], ...] = ()
    """Same place or moved; see `moved`."""
    gone: tuple[Finding, ...] = ()
    """Gone with files that left the analysed set: never counted as fixed."""
    suppressed: tuple[Finding, ...] = ()
    """Gone behind a comment that tells the tool to look away: never counted as fixed."""

    @property
    def moved(self) -> tuple[tuple[Finding, Finding], ...]:
        """Those unchanged that have another path or line now."""
        return tuple((b, a) for b, a in self.unchanged if (b.path, b.line) != (a.path, a.line))


def compare(
    before: Sequence[Finding],
    after: Sequence[Finding],
    *,
    renames: Mapping[str, str] | None = None,
    left: Collection[str] = (),
    line_map: LineMap | None = None,
    hidden: Hidden | None = None,
) -> Delta:
    """Match two runs. `renames` is old path -> new path; `left` are old paths that are not analysed any
    more; `line_map` helps to tell equal findings of one file apart; `hidden` tells what only hides."""
    renames = renames or {}
    old = _grouped(before, renames)
    new = _grouped(after, {})
    pairs: list[tuple[Finding, Finding]] = []
    lost: list[Finding] = []
    fresh: list[Finding] = []
    for key, olds in old.items():
        news = new.pop(key, None)
        if news is None:
            lost += olds
        else:
            _pair(olds, news, line_map, pairs, lost, fresh)
    for news in new.values():
        fresh += news
    if line_map is not None:
        lost, fresh = _pair_rewritten(lost, fresh, line_map, renames, pairs)
    left = set(left)
    lost.sort(key=_place)
    gone = tuple(f for f in lost if f.path in left)
    there = [f for f in lost if f.path not in left]
    suppressed = tuple(f for f in there if hidden(f)) if hidden else ()
    veiled = set(map(id, suppressed))
    return Delta(
        fixed=tuple(f for f in there if id(f) not in veiled) if veiled else tuple(there),
        new=tuple(sorted(fresh, key=_place)),
        unchanged=tuple(sorted(pairs, key=lambda pair: (pair[1].path, pair[1].line))),
        gone=gone,
        suppressed=suppressed,
    )


class LineMap:
    """Where lines went, from each changed file's old and new content (by old path). Files that are not named
    did not change. Diffs are made when first asked for."""

    def __init__(self, texts: Mapping[str, tuple[bytes | None, bytes | None]]) -> None:
        self._texts = texts
        self._kept: dict[str, tuple[list[int], list[int]]] = {}

    def now(self, path: str, line: int) -> int | None:
        """An old line's number in the new file; None when it is not there any more."""
        if path not in self._texts:
            return line
        old, new = self._lines(path)
        at = bisect.bisect_left(old, line)
        return new[at] if at < len(old) and old[at] == line else None

    def between(self, path: str, line: int) -> tuple[float, float]:
        """The new numbers of the nearest old lines that are still there, before and after `line`: whatever
        took the place of a line that is gone stands between them."""
        if path not in self._texts:
            return line, line
        old, new = self._lines(path)
        at = bisect.bisect_left(old, line)
        after = at + (at < len(old) and old[at] == line)
        return (new[at - 1] if at else 0), (new[after] if after < len(new) else math.inf)

    def _lines(self, path: str) -> tuple[list[int], list[int]]:
        if path not in self._kept:
            kept = sorted(kept_lines(*self._texts[path]).items())
            self._kept[path] = [old for old, _ in kept], [new for _, new in kept]
        return self._kept[path]


def squeezed(line: bytes) -> str:
    """A source line as part of an identity: without any white space."""
    return b"".join(line.split()).decode("utf-8", "backslashreplace")


def _grouped(findings: Iterable[Finding], renames: Mapping[str, str]) -> dict[tuple[str, ...], list[Finding]]:
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        path = renames.get(finding.path, finding.path) if renames else finding.path
        content = finding.content
        key: tuple[str, ...]
        if content is None:
            key = (finding.rule, path, finding.key, finding.message, "")
        else:
            key = (finding.rule, path, finding.key, content)
        group = groups.get(key)
        if group is None:
            groups[key] = [finding]
        else:
            group.append(finding)
    return groups


def _pair(
    old: list[Finding],
    new: list[Finding],
    line_map: LineMap | None,
    pairs: list[tuple[Finding, Finding]],
    lost: list[Finding],
    fresh: list[Finding],
) -> None:
    """Pair equal findings: first those whose line went where the other stands, then in order."""
    if line_map is not None and len(old) != len(new):
        old, new = _pair_by_line(old, new, line_map, pairs)
    old, new = sorted(old, key=_place), sorted(new, key=_place)
    pairs.extend(zip(old, new, strict=False))
    lost.extend(old[len(new) :])
    fresh.extend(new[len(old) :])


def _pair_by_line(
    old: list[Finding], new: list[Finding], line_map: LineMap, pairs: list[tuple[Finding, Finding]]
) -> tuple[list[Finding], list[Finding]]:
    waiting: dict[int, list[Finding]] = defaultdict(list)
    for finding in sorted(new, key=_place, reverse=True):
        waiting[finding.line].append(finding)
    unmatched = []
    for finding in sorted(old, key=_place):
        there = waiting.get(line_map.now(finding.path, finding.line) or -1)
        if there:
            pairs.append((finding, there.pop()))
        else:
            unmatched.append(finding)
    return unmatched, [finding for group in waiting.values() for finding in group]


def _pair_rewritten(
    lost: list[Finding],
    fresh: list[Finding],
    line_map: LineMap,
    renames: Mapping[str, str],
    pairs: list[tuple[Finding, Finding]],
) -> tuple[list[Finding], list[Finding]]:
    """A finding whose tool says what it is about (`key`) stays the same when its line was rewritten: the new
    one must stand where the old line's replacement stands. Returns what is left of both."""
    waiting: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in sorted(fresh, key=_place, reverse=True):
        if finding.key:
            waiting[(finding.rule, finding.path, finding.key)].append(finding)
    if not waiting:
        return lost, fresh
    unmatched, taken = [], set()
    for finding in sorted(lost, key=_place):
        path = renames.get(finding.path, finding.path)
        candidates = waiting.get((finding.rule, path, finding.key), [])
        above, below = line_map.between(finding.path, finding.line)
        found = next((f for f in reversed(candidates) if above < f.line < below), None)
        if found is None:
            unmatched.append(finding)
        else:
            candidates.remove(found)
            taken.add(id(found))
            pairs.append((finding, found))
    return unmatched, [finding for finding in fresh if id(finding) not in taken]


def kept_lines(old: bytes | None, new: bytes | None) -> dict[int, int]:
    """Old line number -> new line number, for lines that are in both (1-based, in order)."""
    a, b = (old or b"").splitlines(), (new or b"").splitlines()
    if max(len(a), len(b)) > DIFF_LINES:
        return {}
    head = _common(a, b)
    tail = _common(a[head:][::-1], b[head:][::-1])
    inner = difflib.SequenceMatcher(
        None, a[head : len(a) - tail], b[head : len(b) - tail], autojunk=len(a) > 500
    )
    kept = {n + 1: n + 1 for n in range(head)}
    for match in inner.get_matching_blocks():
        kept.update((head + match.a + i + 1, head + match.b + i + 1) for i in range(match.size))
    kept.update((len(a) - n, len(b) - n) for n in range(tail - 1, -1, -1))
    return kept


def _common(a: list[bytes], b: list[bytes]) -> int:
    """How many items both begin with."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


_place = operator.attrgetter("path", "line", "rule")
