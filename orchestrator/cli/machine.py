"""How busy the machine is, for the live table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


class Machine:
    """Processor and memory in use, in a few words; looked up once a second at most."""

    def __init__(self, clock: Callable[[], float], proc: Path = Path("/proc")) -> None:
        self._clock, self._proc = clock, proc
        self._at = float("-inf")
        self._busy, self._all = 0, 0
        self._said = ""

    def said(self) -> str:
        """ "cpu 85 %, memory 3.1 of 23.5 GiB"; empty where the kernel does not tell."""
        now = self._clock()
        if now - self._at >= 1:
            self._at = now
            self._said = ", ".join(filter(None, (self._cpu(), self._memory())))
        return self._said

    def _cpu(self) -> str:
        try:
            first = (self._proc / "stat").read_text(encoding="ascii").split("\n", 1)[0]
            ticks = [int(part) for part in first.split()[1:9]]
        except (OSError, ValueError):
            return ""
        whole, idle = sum(ticks), ticks[3] + ticks[4]
        busy = whole - idle
        spent, passed = busy - self._busy, whole - self._all
        before, self._busy, self._all = self._all, busy, whole
        if not before or passed <= 0:
            return f"{os.cpu_count() or 1} cpus"
        return f"cpu {100 * spent / passed:.0f} %"

    def _memory(self) -> str:
        try:
            lines = (self._proc / "meminfo").read_text(encoding="ascii").splitlines()
            told = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
            used = told["MemTotal"] - told["MemAvailable"]
        except (OSError, ValueError, KeyError, IndexError):
            return ""
        return f"memory {used / 1048576:.1f} of {told['MemTotal'] / 1048576:.1f} GiB"
