"""What proctor costs on real suites: benchmarks/real_fixes against its own commands run bare.

    python bench/real_fixes.py [--rounds 2] [--slots 2] [--providers oci docker] [--tasks 'a*'] [--cold]

Bare: for each task one container without and one with the fix, started by a plain loop with the same slots,
over copies of the trees that were laid out before the clock ran. proctor: `proctor run --agent gold`, whole,
from typing it to its exit, with everything fetched and built, but no before state remembered. Rounds are
interleaved. --cold adds one run per provider from an empty home, which fetches and builds everything. Needs
root; what is not fetched yet is fetched before the clock runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import suites

PROCTOR = Path(sys.executable).with_name("proctor")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--providers", nargs="+", default=["oci", "docker"], choices=["oci", "docker"])
    parser.add_argument("--tasks", default="*")
    parser.add_argument("--cold", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-bench-real-") as name:
        place = Path(name)
        for provider in asked.providers if asked.cold else ():
            with tempfile.TemporaryDirectory(prefix="proctor-bench-home-") as home:
                took = through(provider, asked.slots, asked.tasks, Path(home))
            print(f"cold {provider:<8}{took:>9.1f} s", flush=True)
        runs: dict[str, Callable[[], float]] = {}
        for provider in asked.providers:
            jobs = suites.jobs(provider, asked.tasks, place / provider)
            runs[f"bare {provider}"] = lambda jobs=jobs: suites.loop(jobs, asked.slots)
            runs[f"proctor {provider}"] = lambda name=provider: through(name, asked.slots, asked.tasks)
        told(measure(runs, asked.rounds), asked.slots)
    return 0


def through(provider: str, slots: int, tasks: str, home: Path | None = None) -> float:
    """Seconds of one `proctor run`; anything but passes is an error, not a time."""
    whole = home or suites.home()
    shutil.rmtree(whole / "befores", ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="proctor-bench-run-") as out:
        argv = [str(PROCTOR), "run", str(suites.FOLDER), "--agent", "gold", "--sandbox", provider]
        argv += ["-j", str(slots), "--tasks", tasks, "--json", "--out", str(Path(out) / "run")]
        env = {**os.environ, "PROCTOR_HOME": str(whole)}
        began = time.monotonic()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, env=env)
        took = time.monotonic() - began
    if done.returncode:
        failed = [t for t in json.loads(done.stdout or "{}").get("trials", []) if t["status"] != "passed"]
        sys.exit(f"{' '.join(argv)} exited {done.returncode}:\n{done.stderr.decode()}\n{failed}")
    return took


def measure(runs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return times


def told(times: dict[str, list[float]], slots: int) -> None:
    print(f"\n{slots} slots, medians of {len(next(iter(times.values())))} rounds")
    print(f"  {'':<16}{'seconds':>9}{'least':>8}{'most':>8}{'/ bare':>8}")
    for name, found in times.items():
        bare = statistics.median(times[f"bare {name.split()[1]}"])
        median = statistics.median(found)
        print(f"  {name:<16}{median:>9.1f}{min(found):>8.1f}{max(found):>8.1f}{median / bare:>8.2f}")


if __name__ == "__main__":
    sys.exit(main())
