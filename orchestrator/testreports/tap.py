"""TAP, the Test Anything Protocol, as test runners print it: versions 12 to 14, with indented subtests.

TAP is printed by the candidate's own process. What is read here must add up - numbers in order, a plan that
fits, nothing after a bail-out - and proves no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from orchestrator.testreports.report import Status

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_VERSION = re.compile(r"TAP version 1[2-4]\s*")
_POINT = re.compile(r"(?P<not>not )?ok\b(?: +(?P<number>\d+))?(?P<rest>.*)", re.DOTALL)
_PLAN = re.compile(r"1\.\.(?P<last>\d+)(?:\s*#.*)?\s*")
_DIRECTIVE = re.compile(r"(?<!\\)(?:^|\s)#\s*(?P<word>skip|todo)(?![A-Za-z])", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([#\\])")
_BAIL = re.compile(r"Bail out!(.*)")
_SUBTEST = re.compile(r"# Subtest: (.*)")


@dataclass(frozen=True)
class Point:
    """One test point. `titles` are the subtests it stands in."""

    name: str
    status: Status
    titles: tuple[str, ...] = ()
    children: int = 0
    """How many points its own subtest held."""


@dataclass
class Stream:
    """One TAP document."""

    points: list[Point] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    ended: bool = False
    """A plan at the left margin was seen and fits."""


def streams(text: str) -> list[Stream]:
    """The TAP documents that one command printed; none when there is no line of TAP.

    >>> [(p.name, p.status) for p in streams("1..2\\nok 1 - a\\nnot ok 2 b # TODO\\n")[0].points]
    [('a', 'passed'), ('b', 'xfailed')]
    """
    return [_Reader().read(lines) for lines in _documents(_ESCAPES.sub("", text).split("\n"))]


def _documents(lines: Iterable[str]) -> Iterator[list[str]]:
    document: list[str] = []
    for line in lines:
        if _VERSION.fullmatch(line):
            if any(map(_speaks, document)):
                yield document
            document = [line]
        else:
            document.append(line)
    if any(map(_speaks, document)):
        yield document


def _speaks(line: str) -> bool:
    return bool(
        _VERSION.fullmatch(line) or _POINT.fullmatch(line) or _PLAN.fullmatch(line) or _BAIL.match(line)
    )


@dataclass
class _Level:
    """The points of one subtest, or of the whole document."""

    title: str = ""
    seen: int = 0
    plan: int | None = None
    closed: bool = False
    """The plan stood after the points: nothing may follow."""


class _Reader:
    def __init__(self) -> None:
        self.stream = Stream()
        self.levels = [_Level()]
        self.yaml: int | None = None
        self.title: dict[int, str] = {}

    def read(self, lines: Iterable[str]) -> Stream:
        for line in lines:
            body = line.lstrip(" ")
            indent = len(line) - len(body)
            if not self._in_yaml(body.rstrip("\r"), indent):
                self._line(body.rstrip("\r"), indent)
        self._close_to(0)
        top = self.levels[0]
        self._check_plan(top, "the run")
        self.stream.ended = top.plan is not None and not self.stream.problems
        return self.stream

    def _in_yaml(self, body: str, indent: int) -> bool:
        """Diagnostics between --- and ... hold whatever a test wrote."""
        if self.yaml is not None:
            if body == "..." and indent <= self.yaml:
                self.yaml = None
            return True
        if body == "---" and indent >= 2:
            self.yaml = indent
            return True
        return False

    def _line(self, body: str, indent: int) -> None:
        depth, odd = divmod(indent, 4)
        opened = all(level in self.title for level in range(len(self.levels), depth))
        if odd or not opened:
            return
        if point := _POINT.fullmatch(body):
            self._point(point, depth)
        elif plan := _PLAN.fullmatch(body):
            self._plan(int(plan["last"]), depth)
        elif depth == 0 and (bail := _BAIL.match(body)):
            self.stream.problems.append(f"the run bailed out:{bail[1]}")
        elif subtest := _SUBTEST.fullmatch(body):
            self.title[depth + 1] = subtest[1]

    def _open_to(self, depth: int) -> None:
        while len(self.levels) <= depth:
            self.levels.append(_Level(self.title.pop(len(self.levels), "")))

    def _close_to(self, depth: int) -> int:
        """Leave deeper levels; how many points the last left held."""
        held = 0
        while len(self.levels) > depth + 1:
            level = self.levels.pop()
            held = level.seen
            self._check_plan(level, f"the subtest {level.title!r}")
        return held

    def _point(self, match: re.Match[str], depth: int) -> None:
        held = self._close_to(depth)
        self._open_to(depth)
        level = self.levels[depth]
        level.seen += 1
        if match["number"] is not None and int(match["number"]) != level.seen:
            self.stream.problems.append(f"point {match['number']} stands where point {level.seen} should")
        if level.closed:
            self.stream.problems.append(f"point {level.seen} stands after the plan")
        name, word = _named(match["rest"])
        titles = tuple(opened.title for opened in self.levels[1 : depth + 1])
        status = _status(match["not"] is None, word)
        self.stream.points.append(Point(name, status, titles, held))

    def _plan(self, last: int, depth: int) -> None:
        self._close_to(depth)
        self._open_to(depth)
        level = self.levels[depth]
        if level.plan is not None:
            self.stream.problems.append("a plan stands there twice")
        level.plan, level.closed = last, level.seen > 0 or last == 0

    def _check_plan(self, level: _Level, what: str) -> None:
        if level.plan is None and level.title == "" and level is self.levels[0]:
            self.stream.problems.append("the run never came to its plan, so it never came to its end")
        elif level.plan is not None and level.plan != level.seen:
            self.stream.problems.append(f"{what} planned {level.plan} points and printed {level.seen}")


def _named(rest: str) -> tuple[str, str]:
    """(description, directive) of what follows `ok 1`."""
    found = _DIRECTIVE.search(rest)
    words = rest[: found.start()] if found else rest
    name = words.lstrip(" ").removeprefix("-").strip()
    if "\\" in name:
        name = _ESCAPED.sub(r"\1", name)
    return name, found["word"].lower() if found else ""


def _status(ok: bool, word: str) -> Status:
    if word == "skip":
        return "skipped"
    if word == "todo":
        return "xpassed" if ok else "xfailed"
    return "passed" if ok else "failed"
