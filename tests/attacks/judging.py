"""Whether a candidate came out as it must."""

from __future__ import annotations

import atexit
import ctypes
import re
import shutil
import signal
import subprocess
import traceback
from functools import cache

from sandboxes.protocol import Provider
from tests import engines

from .arena import Seen, grade
from .corpus import Attack, Candidate, load

_PR_SET_PDEATHSIG = 1
_open: list[Provider] = []


def open_rooms(sandbox: str) -> None:
    """Once in each process of a pool, which ends with the one that made it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    provider = engines.made(sandbox)
    _open.append(provider)
    atexit.register(provider.close)


@cache
def without_node() -> str:
    """What keeps JavaScript candidates from being run here; empty when nothing does."""
    node = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout if node else ""
    major = re.match(r"v(\d+)", said)
    return "" if major and int(major[1]) >= 20 else "needs Node 20 or newer with npm below /usr"


def cannot_run(candidate: Candidate) -> str:
    """Why a candidate is left out on this machine; empty when it is not."""
    return without_node() if candidate.task.startswith("slug") else ""


def judged(name: str) -> str:
    """`wrong` for a candidate by name, in this process's rooms."""
    return wrong(load().named(name), _open[0])


def wrong(candidate: Candidate, provider: Provider, *, control: bool = True) -> str:
    """What is wrong with the verdict on a candidate, or with its control; empty when all is right."""
    try:
        if isinstance(candidate, Attack):
            return _attack(candidate, provider, control)
        seen = grade(candidate, provider)
        return "" if seen.record.status == "passed" else f"honest, but {_told(seen)}"
    except Exception:
        return f"could not be graded: {traceback.format_exc(limit=-4)}"


def _attack(attack: Attack, provider: Provider, control: bool) -> str:
    seen = grade(attack, provider)
    if attack.known_to_win:
        return "" if seen.reached(attack) else f"is listed as one that wins, but {_told(seen)}"
    if seen.record.status != "failed" or seen.escaped:
        return f"must fail, but {_told(seen)}"
    if seen.record.end != attack.end or attack.says not in seen.record.reason:
        return f"must fail with {attack.end} ({attack.says!r}), but {_told(seen)}"
    if not control or not attack.controlled:
        return ""
    off = (attack.stopped_by, *attack.also_off)
    won = grade(attack, provider, off)
    return "" if won.reached(attack) else f"does not win with {', '.join(off)} off: {_told(won)}"


def _told(seen: Seen) -> str:
    record = seen.record
    return f"it {record.status} ({record.end}): {record.reason[:400]}{(record.error or '')[-600:]}"
