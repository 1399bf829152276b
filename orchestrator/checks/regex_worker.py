"""One match with PCRE2, and the loop of the worker process that does it under a CPU limit.

Run as a script by `regex_workers`; imports nothing else of ours, so that it starts quickly.
"""

from __future__ import annotations

import json
import resource
import signal
import struct
import sys
from typing import IO, Final

import pcre

MATCH: Final = "match"
NO_MATCH: Final = "no match"
COMPILE_ERROR: Final = "compile error"
UNSUPPORTED: Final = "unsupported"
LIMIT: Final = "limit"

FLAGS: Final = {
    "i": int(pcre.Flag.CASELESS),
    "m": int(pcre.Flag.MULTILINE),
    "s": int(pcre.Flag.DOTALL),
    "x": int(pcre.Flag.EXTENDED),
    "u": 0,
}
"""u changes nothing: UTF and UCP are always on (C-18)."""
WORKER_MATCH_LIMIT: Final = 10_000_000
HEAP_KIB: Final = 256 * 1024
_ALWAYS: Final = int(pcre.Flag.NEVER_BACKSLASH_C)
_NO_JIT: Final = int(pcre.Flag.NO_JIT)
_HEADER: Final = struct.Struct("!I")
_LIMITS: Final = frozenset({"MATCHLIMIT", "DEPTHLIMIT", "RECURSIONLIMIT", "HEAPLIMIT"})
_UNSUPPORTED: Final = frozenset({"BACKSLASH_C_CALLER_DISABLED", "UNSUPPORTED_ESCAPE_SEQUENCE"})


def attempt(pattern: str, options: int, text: str, match_limit: int) -> tuple[str, str]:
    """(answer, detail) of one search under a match limit.

    The limits go before the pattern as PCRE2's own start-of-pattern items; a pattern may bring such items
    itself, but the lowest counts. A pattern that needs more stack than the JIT has is tried once without it.
    """
    bounded = f"(*LIMIT_MATCH={match_limit})(*LIMIT_HEAP={HEAP_KIB}){pattern}"
    try:
        return _search(bounded, options | _ALWAYS, text)
    except pcre.PcreError as error:
        if _macro(error) != "JIT_STACKLIMIT":
            return _failure(error)
    try:
        return _search(bounded, options | _ALWAYS | _NO_JIT, text)
    except pcre.PcreError as error:
        return _failure(error)


def _search(pattern: str, options: int, text: str) -> tuple[str, str]:
    found = pcre.compile(pattern, options).search(text)
    return (NO_MATCH if found is None else MATCH), ""


def _failure(error: pcre.PcreError) -> tuple[str, str]:
    macro, words = _macro(error), str(error.args[-1] if error.args else error)
    if macro in _LIMITS:
        return LIMIT, words
    code = int(getattr(error, "code", 0) or 0)
    return (COMPILE_ERROR if code > 0 and macro not in _UNSUPPORTED else UNSUPPORTED), words


def _macro(error: pcre.PcreError) -> str:
    code = getattr(error, "error_code", None)
    return str(code.name) if code is not None else ""


def write_message(stream: IO[bytes], message: object) -> None:
    body = json.dumps(message).encode("ascii")
    stream.write(_HEADER.pack(len(body)) + body)
    stream.flush()


def read_message(stream: IO[bytes]) -> list[object] | None:
    """The next message, or None when the other side is gone."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    body = stream.read(size)
    return list(json.loads(body)) if len(body) == size else None


def serve(seconds: float) -> None:
    """Answer requests until stdin closes. The kernel ends the process when one match takes too long.

    CPU time is what is limited, not time on the clock, so a busy machine changes no verdict.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    while (request := read_message(sys.stdin.buffer)) is not None:
        pattern, options, text = request
        assert isinstance(pattern, str) and isinstance(options, int) and isinstance(text, str)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        answer = attempt(pattern, options, text, WORKER_MATCH_LIMIT)
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_message(sys.stdout.buffer, answer)


if __name__ == "__main__":
    serve(float(sys.argv[1]))
