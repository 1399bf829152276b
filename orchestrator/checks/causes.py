"""Why a command in a room did not do what was asked, in words for people and for records."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from orchestrator.contract import StepResult
from sandboxes.protocol import Output

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SHELL_SAYS = {
    126: " (the shell could not execute it)",
    127: " (the shell found no such command)",
}


@dataclass(frozen=True)
class Cause:
    """`end` is one of the record's end words; `cause` is finer: "exit:1", "signal:9", "limit_hit:time"."""

    end: str
    cause: str
    text: str
    """Reads on from "the command ...": "ended with exit code 1"."""


def cause_of(result: StepResult) -> Cause | None:
    """None when the command ran to its own end and said 0. The classes of C-9 never mix: a failed command,
    a limit, and a program that is not there."""
    done = result.done
    if done.ok:
        return None
    if done.limit == "time" and not done.seconds:
        return Cause(done.end, done.end, "was not started: the trial's time was used up before it")
    if done.limit:
        return Cause(done.end, done.end, f"hit its {done.limit} limit after {done.seconds:.1f} s")
    if done.end == "missing_binary":
        return Cause("missing_binary", "missing_binary", "could not be started: there is no such program")
    if done.end == "signalled":
        return Cause(
            "graded", f"signal:{done.signal}", f"was killed by {_signal(done.signal)}, by no limit of ours"
        )
    code = done.exit_code
    relayed = _relayed_signal(code)
    says = f" (a program in it died of {_signal(relayed)})" if relayed else _SHELL_SAYS.get(code or 0, "")
    return Cause("graded", f"exit:{code}", f"ended with exit code {code}{says}")


def is_test_failure(result: StepResult) -> bool:
    """A real non-zero exit: not 126, 127, a signal (also one the shell relays) or a limit (C-8)."""
    code = result.done.exit_code
    if result.done.end != "exited" or code in (None, 0, 126, 127):
        return False
    return _relayed_signal(code) is None


def last_words(result: StepResult, lines: int = 3, limit: int = 300) -> str:
    """The last lines the command wrote (stderr first), short, with nothing a terminal would obey."""
    for output in (result.done.stderr, result.done.stdout):
        text = printable(_end_of(output))
        kept = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
        if kept:
            return clip(" | ".join(kept), limit, keep_end=True)
    return ""


def printable(text: str) -> str:
    """Without escape sequences; other control characters and lone surrogates as backslash escapes."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], _ESCAPES.sub("", text))


def clip(text: str, limit: int, *, keep_end: bool = False) -> str:
    """At most `limit` characters, with "..." where some were left out.

    >>> clip("abcdefgh", 6)
    'abc...'
    """
    if len(text) <= limit:
        return text
    return "..." + text[3 - limit :] if keep_end else text[: limit - 3] + "..."


def _end_of(output: Output) -> str:
    return (output.tail or output.head)[-4096:].decode("utf-8", "replace")


def _relayed_signal(code: int | None) -> int | None:
    """Shells pass a child's death on as 128 + signal."""
    if code is None or not 128 < code <= 192:
        return None
    return code - 128


def _signal(number: int | None) -> str:
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"
