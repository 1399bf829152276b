"""The properties of this folder, fed for minutes instead of seconds, by coverage where atheris is installed.

    python tests/fuzz/drive.py [--minutes 10] [--at-once 1] [loader regex chrf combiner]
    python tests/fuzz/drive.py --replay FILE loader

Every target runs in a process of its own, at low priority. A crash, an input that takes longer than a minute,
and a property that does not hold end it; the input is kept and named. Each file says at its top what a silent
pass would be. Exits 1 when anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGETS = ("loader", "regex", "chrf", "combiner")
KEPT = Path(".hypothesis/fuzz")
"""Inputs that reached something new, logs, and what was found."""
SLOWEST = 60
"""Seconds one input may take."""
LARGEST = 4096
"""Bytes of an input."""
SEEDS = 64

Property = Callable[[bytes], object]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--at-once", type=int, default=1, help="targets that run beside each other")
    parser.add_argument("--replay", type=Path, help="one kept input, once")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], default=[], metavar="target")
    asked = parser.parse_args()
    targets = asked.targets or list(TARGETS)
    if asked.replay:
        choose(properties(targets[0]), asked.replay.read_bytes())
        print("held")
        return 0
    if asked.one:
        return feed(targets[0], 60 * asked.minutes)
    return supervise(targets, asked.minutes, asked.at_once)


def supervise(targets: list[str], minutes: float, at_once: int) -> int:
    waiting, running, found = list(targets), {}, 0
    while waiting or running:
        while waiting and len(running) < at_once:
            target = waiting.pop(0)
            running[target] = start(target, minutes)
        target, child = next(iter(running.items()))
        code = child.wait()
        del running[target]
        found += code != 0
        print(f"{target:<9} {report(target, code)}", flush=True)
    return 1 if found else 0


def start(target: str, minutes: float) -> subprocess.Popen[bytes]:
    (KEPT / target).mkdir(parents=True, exist_ok=True)
    if not any((KEPT / target).iterdir()):
        for number in range(SEEDS):  # a short input draws nothing: begin with long ones
            (KEPT / target / f"seed-{number}").write_bytes(random.Random(number).randbytes(LARGEST // 4))
    argv = [sys.executable, __file__, "--one", "--minutes", str(minutes), target]
    with log_of(target).open("wb") as log:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=polite)


def polite() -> None:
    os.nice(15)


def report(target: str, code: int) -> str:
    log = log_of(target).read_text(errors="replace")
    counts = re.findall(r"#(\d+)\s.*?cov: (\d+)", log) or [("?", "?")]
    done = re.search(r"Done (\d+) runs in (\d+) second", log)
    runs, seconds = done.groups() if done else (counts[-1][0], "?")
    said = f"{runs} inputs in {seconds} s, {counts[-1][1]} branches reached"
    if code == 0:
        return f"{said}: held"
    kept = sorted(map(str, KEPT.glob(f"{target}-*-*")))
    return f"{said}: FOUND SOMETHING (exit code {code}), see {log_of(target)} {' '.join(kept)}"


def log_of(target: str) -> Path:
    return KEPT / f"{target}.log"


def feed(target: str, seconds: float) -> int:
    """In the target's own process."""
    try:
        import atheris  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return feed_blindly(target, seconds)
    with atheris.instrument_imports(include=["orchestrator"]):
        held = properties(target)
    options = [f"-max_total_time={seconds:.0f}", f"-timeout={SLOWEST}", f"-max_len={LARGEST}"]
    options += [
        f"-artifact_prefix={KEPT / target}-",
        "-rss_limit_mb=4096",
        "-len_control=0",
        str(KEPT / target),
    ]
    atheris.Setup([sys.argv[0], *options], lambda data: choose(held, data))
    atheris.Fuzz()
    return 0


def feed_blindly(target: str, seconds: float) -> int:
    """Without atheris: chance alone. A hang is not noticed here."""
    held, chance, began, runs = properties(target), random.Random(), time.monotonic(), 0
    while time.monotonic() - began < seconds:
        data = chance.randbytes(chance.randrange(LARGEST))
        try:
            choose(held, data)
        except BaseException:
            (KEPT / f"{target}-crash-{runs}").write_bytes(data)
            raise
        runs += 1
    print(f"Done {runs} runs in {seconds:.0f} second(s)")
    return 0


def properties(target: str) -> list[Property]:
    """The target's hypothesis tests, each as a function of bytes."""
    name = f"test_{target}"
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = [value for key, value in sorted(vars(module).items()) if key.startswith("test_")]
    return [test.hypothesis.fuzz_one_input for test in tests]


def choose(held: list[Property], data: bytes) -> None:
    """The first byte says which property looks at the rest."""
    if data:
        held[data[0] % len(held)](data[1:])


if __name__ == "__main__":
    sys.exit(main())
