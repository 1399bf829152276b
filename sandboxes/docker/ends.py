"""How a command came to its end, told from the engine's state and the kernel's counters. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sandboxes.cgroups import Counters
from sandboxes.docker.watch import Heard, Why
from sandboxes.errors import Evicted, SandboxLost
from sandboxes.protocol import Done, EndWord, Output, Usage

LAST_SIGNAL = 64


@dataclass(frozen=True)
class Facts:
    """All that is known about a container that has stopped."""

    state: Mapping[str, Any]
    """`State` of the engine's inspect."""
    why: Why
    """What we did, or that its streams ended by themselves."""
    heard: Heard
    counters: Counters = field(default_factory=Counters)
    disk_full: bool = False
    argv_given: bool = False
    """Whether argv was a tuple: only then can a binary be missing."""
    memory_limit: int = 0
    """Bytes, when the peak was counted for certain: a kill far below it was not the room's doing."""


def judge(facts: Facts) -> Done:
    """The command's end. Raises Evicted, StreamBroken, and SandboxLost when no exit code was read.

    Whether somebody else killed the container is asked before (see `room`): it cannot be told from here.
    """
    if facts.why == "evicted":
        raise Evicted("the room was closed while a command ran")
    if facts.heard.broken is not None and facts.why == "streams_ended":
        raise facts.heard.broken
    code = facts.state.get("ExitCode")
    if code is None or facts.state.get("Running") or facts.state.get("Dead"):
        raise SandboxLost(f"the engine gave no exit code ({facts.state.get('Error') or 'no reason told'})")
    if str(facts.state.get("StartedAt", "")).startswith("0001-"):
        raise SandboxLost("the engine says it started the container, and did not")
    end = _end(facts, code)
    out, err = facts.heard.stdout.output(), facts.heard.stderr.output()
    own = end in ("exited", "signalled") or (facts.why == "streams_ended" and code <= 128)
    return Done(
        end=end,
        exit_code=code if own and end != "missing_binary" else None,
        signal=code - 128 if end == "signalled" else None,
        stdout=out,
        stderr=err,
        seconds=facts.heard.seconds,
        usage=Usage(facts.counters.peak_memory, facts.counters.cpu_seconds, facts.counters.throttled_seconds),
    )


def _end(facts: Facts, code: int) -> EndWord:
    if facts.counters.memory_kills or facts.state.get("OOMKilled"):
        peak = facts.counters.peak_memory
        if peak is not None and peak < facts.memory_limit * 0.9:
            raise SandboxLost("the machine itself ran out of memory and killed the command")
        return "limit_hit:memory"
    if facts.counters.refused_forks and code != 0:
        return "limit_hit:pids"
    if facts.disk_full and code != 0:
        return "limit_hit:disk"
    if facts.why == "output":
        return "limit_hit:output"
    if facts.why == "time":
        return "limit_hit:time"
    if facts.argv_given and code in (126, 127) and _init_could_not_execute(facts.heard.stderr.output()):
        return "missing_binary"
    return "signalled" if 128 < code <= 128 + LAST_SIGNAL else "exited"


def _init_could_not_execute(stderr: Output) -> bool:
    """The init says so in one line of its own: "[FATAL tini (7)] exec x failed: ..." (tini 0.19), "ERROR
    (catatonit:7): failed to exec pid1: ..." (catatonit 0.1)."""
    return stderr.data.startswith((b"[FATAL tini (", b"ERROR (catatonit:")) and b"failed" in stderr.data


def silent_seconds(state: Mapping[str, Any], asked: float, streams_ended: float, same_clock: bool) -> float:
    """How long a container ran on after its streams had ended, at least; below zero when it did not.

    Its init holds the streams to its end, so whoever runs on without them has lost output to a broken
    connection (Docker 20.10 ends the streams some 20 ms or more after the exit it tells). Times are Unix
    seconds of ours: of the call to start, and of the end of the streams. Where the engine has a clock of its
    own only durations are compared, and the start call's own time is let pass.
    """
    began, ended = _seconds(state.get("StartedAt")), _seconds(state.get("FinishedAt"))
    if began is None or ended is None:
        return 0.0
    return ended - streams_ended if same_clock else asked + (ended - began) - streams_ended


def _seconds(text: Any) -> float | None:
    found = re.fullmatch(r"(\d+-\d+-\d+T\d+:\d+:\d+)(\.\d{1,6})?\d*(Z|[+-]\d\d:\d\d)", str(text))
    if found is None or found[1].startswith("0001-"):
        return None
    zone = "+00:00" if found[3] == "Z" else found[3]
    return datetime.fromisoformat(found[1] + (found[2] or ".0").ljust(7, "0") + zone).timestamp()


def not_started(reason: str) -> Done:
    """A command the runtime refused to start for the command's own sake."""
    text = f"proctor: the command could not be started: {reason}\n".encode("utf-8", "replace")
    return Done("missing_binary", None, None, Output(), Output(head=text, total=len(text)), 0.0)
