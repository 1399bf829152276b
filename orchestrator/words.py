"""The words and colours of a trial's fate: one vocabulary for terminal, reports, viewer and progress."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    """How one status is shown. The colour is never the only sign: word and mark stand beside it."""

    text: str
    style: str
    """A Rich style."""
    mark: str
    ascii_mark: str
    meaning: str
    """Half a sentence for people who meet the word for the first time."""


STATUS: dict[str, Word] = {
    "passed": Word("passed", "green", "✔", "+", "graded, and good enough"),
    "failed": Word("failed", "red", "✘", "x", "graded, and not good enough"),
    "unscored": Word("unscored", "cyan", "\u2013", "-", "nothing of it could be graded"),
    "errored": Word("errored", "yellow", "!", "!", "the machine or proctor failed, so there is no score"),
    "invalid": Word("invalid", "magenta", "?", "?", "the task itself is wrong, so there is no score"),
    "not_run": Word("not run", "bright_black", "·", ".", "planned, but never finished"),
    "running": Word("running", "blue", "▸", ">", "at work"),
}
"""Status word of a record (and "running") -> how it is shown, in the order counts are told."""

CHECK: dict[str, Word] = {
    "passed": STATUS["passed"],
    "failed": STATUS["failed"],
    "skipped": Word("skipped", "cyan", "\u2013", "-", "could not be executed, and does not count"),
    "error": Word("error", "yellow", "!", "!", "the machine failed while checking"),
}
"""Status word of one check -> how it is shown."""

AGENT_WIDTH = 40
"""Letters of an agent's name in a table."""
RULER = re.compile(r"[-=*_]{5,} *\|? *")
"""A line of dashes that a test runner drew, and the mark that joins it to the next line."""
COMBINED = re.compile(r"(?<=.); (?:all_pass|any_pass|weighted_avg|min|max|median)\b[^;]*: .*$")
"""What the combiner adds after the failed checks' own words."""

FAR = re.compile(r"(?:\b[A-Za-z_]\w*\.){2,}(?=test)|\b[\w./-]+\.py::(?:\w+::)*(?=\w)")
"""Module and class before a test's own name."""
WORDY = {"the command ended with exit": "exit", "the guard command ended with exit": "guard: exit"}
"""Said shorter where there is little room."""


def word(status: str) -> Word:
    """The word for a trial's or a check's status; an unknown one is shown as it is."""
    return STATUS.get(status) or CHECK.get(status) or Word(status, "", "*", "*", "")


def mark(status: str, encoding: str | None = None) -> str:
    """One character for `status` that the terminal can show."""
    known = word(status)
    try:
        known.mark.encode(encoding or getattr(sys.__stdout__, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return known.ascii_mark
    return known.mark


def score(value: float | None) -> str:
    """A 0..1 score as people read it (four places at most, C-36).

    >>> score(1.0), score(0.25), score(2 / 3), score(None)
    ('1', '0.25', '0.6667', '-')
    """
    return "-" if value is None else f"{value:.4f}".rstrip("0").rstrip(".") or "0"


def grade(value: float | None) -> str:
    """The same score on the 0..5 scale (C-41).

    >>> grade(0.5), grade(None)
    ('2.5', '-')
    """
    return score(None if value is None else 5 * value)


def seconds(value: float) -> str:
    """A duration, short.

    >>> seconds(0.042), seconds(3.21), seconds(75), seconds(3725)
    ('0.04s', '3.2s', '1m15s', '1h02m')
    """
    if value < 1:
        return f"{value:.2f}s"
    if value < 60:
        return f"{value:.1f}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def size(value: int | None) -> str:
    """Bytes, short.

    >>> size(512), size(2048), size(3 << 20), size(None)
    ('512 B', '2.0 KiB', '3.0 MiB', '-')
    """
    if value is None:
        return "-"
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def shorten(text: str, width: int = 100) -> str:
    """The first line that says something, cut at `width` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def agent_name(spec: str) -> str:
    """What a table calls an agent: a file without its folders, a command as one short line.

    >>> agent_name("predictions:a/b/c.jsonl"), agent_name("command:a\\nb")
    ('predictions:c.jsonl', 'command:a b')
    """
    name, colon, arg = spec.partition(":")
    if name == "predictions":
        arg = arg.rstrip("/").rpartition("/")[2]
    return shorten(" ".join(f"{name}{colon}{arg}".split()), AGENT_WIDTH)


def short_names(agents: Iterable[str]) -> dict[str, str]:
    """Agent -> what a table calls it: a file without its folders, a command as one short line. Names that
    would look alike are told apart.

    >>> short_names(["gold", "predictions:a/b/c.jsonl"])["predictions:a/b/c.jsonl"]
    'predictions:c.jsonl'
    >>> list(short_names(["command:a\\nb", "command:a b"]).values())
    ['command:a b (1)', 'command:a b (2)']
    """
    short = {spec: agent_name(spec) for spec in agents}
    taken, met = Counter(short.values()), Counter[str]()
    called = {}
    for spec, name in short.items():
        met[name] += 1
        if taken[name] > 1:
            name = spec if spec.startswith("predictions:") else f"{name} ({met[name]})"
        called[spec] = safe(name)
    return called


def brief(reason: str, width: int = 100) -> str:
    """A trial's reason for a table: what the failing check said, without the combiner's sum and rulers.

    >>> brief("tests: exit code 1: ------- | FAILED; all_pass: 0 of 1 executed checks passed")
    'tests: exit code 1: FAILED'
    >>> brief("2 of 6 went wrong: tests.test_a.A.test_b, tests/test_a.py::A::test_c")
    '2 of 6 went wrong: test_b, test_c'
    >>> brief("all_pass: 1 of 1 executed checks passed")
    'all_pass: 1 of 1 executed checks passed'
    """
    line = next((line.strip() for line in reason.splitlines() if line.strip()), "")
    line = COMBINED.sub("", line) or line
    for long, short in WORDY.items():
        line = line.replace(long, short)
    return shorten(RULER.sub("", FAR.sub("", line)), width)


def many(count: int, noun: str) -> str:
    """How many there are, with the noun's number.

    >>> many(1, "trial"), many(2, "trial"), many(0, "trial")
    ('1 trial', '2 trials', '0 trials')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def safe(text: str) -> str:
    """Text of a candidate's making, without control characters: it must not steer the terminal.

    >>> safe("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "\n".join(_safe_line(line) for line in text.split("\n"))


def place(path: object) -> str:
    """A path, or a sentence with one in it, as one line that does not steer the terminal.

    >>> place("a\\x1b[2Jb\\nc")
    'a\\\\x1b[2Jb\\\\nc'
    """
    return safe(str(path)).replace("\n", "\\n")


def typed(path: object) -> str:
    """A path as it is typed in a shell.

    >>> typed("runs/night"), typed("my runs"), typed("a\\x1b'b")
    ('runs/night', "'my runs'", "$'a\\\\x1b\\\\'b'")
    """
    text = str(path)
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_typed, text)) + "'"


def _typed(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    return letter if letter.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))


def _safe_line(line: str) -> str:
    if line.replace("\t", "").isprintable():
        return line
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in line)
