"""Statuses out of a recorded pytest log (`-rA` or `-v`): the fallback where no report file can be had.

A log mixes the runner's words with whatever the tests print, so it proves less than a report: the totals
line is compared with what was read, and a mismatch is a problem that is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from orchestrator.testreports.report import ReportEnd, Status, TestReport

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_WORDS: dict[str, Status] = {
    "PASSED": "passed",
    "FAILED": "failed",
    "ERROR": "error",
    "XFAIL": "xfailed",
    "XPASS": "xpassed",
    "SKIPPED": "skipped",
}
_ANY = "|".join(_WORDS)
_SUMMARY = re.compile(r"=+ short test summary info =+")
_LINE = re.compile(rf"({_ANY}) (.+)", re.DOTALL)
_SKIPS = re.compile(r"\[(\d+)\] .*")
_VERBOSE = re.compile(rf"(\S+?::.+?) ({_ANY})(?:\s+\(.*\))?\s+\[ *\d+%\]\s*")
_WORKER = re.compile(rf"\[gw\d+\] \[ *\d+%\] ({_ANY}) (.+)", re.DOTALL)
_BEGUN = re.compile(r"(\S+\.py::\S+) .*")
_ALONE = re.compile(rf"({_ANY})(?:\s+\[ *\d+%\])?\s*")
_CRASHED = re.compile(r".*worker '\w+' crashed while running '(.+)'")
_TOTALS = re.compile(r"=* ?((?:\d+ \w+(?:, )?)+|no tests ran) in [\d.:]+ ?s.*")
_PLURALS = {"errors": "error", "warnings": "warning"}
_NOTHING = re.compile(r"collected 0 items\b.*|=+ no tests ran .*")
_INTERRUPTED = re.compile(r"!+ Interrupted: (.*?) !+")


@dataclass(frozen=True)
class LogReport:
    """A log's report, and the skips it counts without naming them."""

    report: TestReport
    unnamed_skips: int = 0


def read_log(log: str | bytes, known: Collection[str] = ()) -> LogReport:
    """`known` ids (the task's lists) settle where an id ends when its parameters hold "] - "."""
    text = log.decode("utf-8", "surrogateescape") if isinstance(log, bytes) else log
    # Split at newlines alone: an id may hold other separators.
    lines = [_cleaned(line) for line in text.split("\n")]
    summary = next((n for n, line in enumerate(lines) if _SUMMARY.fullmatch(line)), None)
    if summary is not None or not any(_VERBOSE.fullmatch(x) or _WORKER.fullmatch(x) for x in lines):
        found = list(_summary(lines[0 if summary is None else summary + 1 :], known))
    else:
        found = list(_verbose(lines, known))
    skips = sum(int(count) for count, status in found if status is None)
    named = [(i, s) for i, s in found if s is not None]
    statuses: dict[str, Status] = {}
    for test_id, status in named:
        statuses[test_id] = "ambiguous" if test_id in statuses else status
    problems = [*_totals_problems(lines, named, skips), *_stops(lines)]
    return LogReport(TestReport(_end(lines, statuses), statuses, tuple(problems), tool="pytest"), skips)


def _cleaned(line: str) -> str:
    """Without colours and links; of a line that was overwritten, what stands at the end."""
    line = _ESCAPES.sub("", line).removesuffix("\r")
    return line.rpartition("\r")[2]


def _summary(lines: list[str], known: Collection[str]) -> Iterator[tuple[str, Status | None]]:
    """The lines of the short summary, until its totals. (count, None) stands for skips without ids."""
    for line in lines:
        if _TOTALS.fullmatch(line):
            return
        matched = _LINE.fullmatch(line)
        if matched is None:
            continue
        word, rest = matched.groups()
        skips = _SKIPS.fullmatch(rest) if word == "SKIPPED" else None
        if skips is not None:
            yield skips[1], None
        else:
            test_id, message = _split(rest, known)
            not_run = word == "XFAIL" and message.startswith("[NOTRUN]")
            yield test_id, "not_run" if not_run else _WORDS[word]


def _verbose(lines: list[str], known: Collection[str]) -> Iterator[tuple[str, Status | None]]:
    """Lines of `-v`, also of xdist; a status that stands alone belongs to the test begun before it."""
    begun = None
    for line in lines:
        crashed = _CRASHED.fullmatch(line)
        whole = _VERBOSE.fullmatch(line)
        worker = _WORKER.fullmatch(line)
        alone = _ALONE.fullmatch(line)
        if crashed is not None:
            yield crashed[1], "error"
        elif worker is not None:
            yield _split(worker[2].rstrip(" "), known)[0], _WORDS[worker[1]]
        elif whole is not None:
            yield whole[1], _WORDS[whole[2]]
            begun = None
        elif alone is not None and begun is not None:
            yield begun, _WORDS[alone[1]]
            begun = None
        else:
            start = _BEGUN.fullmatch(line)
            begun = start[1] if start is not None else begun


def _split(rest: str, known: Collection[str]) -> tuple[str, str]:
    """(id, message) of "id - message"; the id keeps spaces and " - " inside its brackets."""
    matching = [i for i in known if rest == i or rest.startswith(i + " - ")]
    if matching:
        test_id = max(matching, key=len)
        return test_id, rest[len(test_id) + 3 :]
    bracket, dash = rest.find("["), rest.find(" - ")
    if bracket >= 0 and (dash < 0 or bracket < dash):
        closing = re.compile(r"\](?= - |\Z)").search(rest, bracket)
        if closing is not None:
            return rest[: closing.end()], rest[closing.end() + 3 :]
    return (rest, "") if dash < 0 else (rest[:dash], rest[dash + 3 :])


def _totals_problems(lines: list[str], found: list[tuple[str, Status]], skips: int) -> Iterator[str]:
    totals = next((m for m in map(_TOTALS.fullmatch, reversed(lines)) if m is not None), None)
    if totals is None:
        yield "the log has no totals line: the run never came to its end"
        return
    said = Counter[str]()
    for part in totals[1].split(", "):
        count, _, word = part.partition(" ")
        if count.isdigit():
            said[_PLURALS.get(word, word)] = int(count)
    read = Counter[str]("xfailed" if s == "not_run" else s for _, s in found)
    read["skipped"] += skips
    for word in ("failed", "passed", "skipped", "xfailed", "xpassed", "error"):
        if said[word] != read[word]:
            yield f"the totals line says {said[word]} {word}, but {read[word]} were read"


def _stops(lines: list[str]) -> Iterator[str]:
    for line in lines:
        interrupted = _INTERRUPTED.fullmatch(line)
        if interrupted is not None:
            word = "collection error" if "collection" in interrupted[1] else "interrupted"
            yield f"{word}: {interrupted[1]}"


def _end(lines: list[str], statuses: dict[str, Status]) -> ReportEnd:
    if any(_INTERRUPTED.fullmatch(line) for line in lines):
        return "run_incomplete"
    if not any(_TOTALS.fullmatch(line) for line in lines):
        return "run_incomplete"
    if not statuses and any(_NOTHING.fullmatch(line) for line in lines):
        return "nothing_ran"
    return "graded"
