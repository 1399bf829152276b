"""How soon proctor answers: `--help`, and from typing `run` to the first command in a room.

    python bench/startup.py [--rounds 10]

The second figure is a run of one task whose agent writes the time at which it got to work, so everything
counts: imports, documents, engine, state, room.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import tiny

PROCTOR = Path(sys.executable).with_name("proctor")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--providers", nargs="+", default=["oci", "docker"])
    asked = parser.parse_args()
    told("proctor --help", asked.rounds, help_once)
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        benchmark = tiny.write(Path(name) / "benchmark")
        for provider in asked.providers:
            told(f"first command, {provider}", asked.rounds, lambda p=provider: first_command(benchmark, p))
    return 0


def help_once() -> float:
    began = time.monotonic()
    subprocess.run([PROCTOR, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def first_command(benchmark: Path, provider: str) -> float:
    """Seconds until the agent's command runs. Its clock is the machine's: rooms share it."""
    with tempfile.TemporaryDirectory(prefix="proctor-bench-run-") as out:
        run = Path(out) / "run"
        argv = [PROCTOR, "run", benchmark, "--agent", "command:date +%s.%N", "--tasks", "task_0"]
        argv += ["--sandbox", provider, "--out", run, "--quiet"]
        began = time.time()
        subprocess.run(list(map(os.fspath, argv)), check=False, stdout=subprocess.DEVNULL)
        (response,) = run.glob("trials/*/1/response.txt")
        return float(response.read_text()) - began


def told(what: str, rounds: int, once: Callable[[], float]) -> None:
    once()
    times = [once() for _ in range(rounds)]
    print(
        f"{what:<24} median {statistics.median(times):.3f} s  least {min(times):.3f}  most {max(times):.3f}"
    )


if __name__ == "__main__":
    sys.exit(main())
