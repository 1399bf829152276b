"""What proctor costs over bare containers: 24 tiny tasks, ratios of medians.

    python bench/floor.py [--rounds 5] [--slots 2 8] [--providers docker oci]

Rounds are interleaved, so that a busy minute of the machine hits every contestant alike. Wall time of the
whole `proctor run` command counts, from typing it to its exit; one warm-up round is not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bare
import tiny

PROCTOR = Path(sys.executable).with_name("proctor")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slots", type=int, nargs="+", default=[2, 8])
    parser.add_argument("--providers", nargs="+", default=["docker", "oci"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        place = Path(name)
        benchmark, trees = tiny.write(place / "benchmark"), tiny.solved(place / "trees")
        bare.make_image()
        try:
            for slots in asked.slots:
                told(
                    slots, measure(contestants(benchmark, trees, place, slots, asked.providers), asked.rounds)
                )
        finally:
            bare.drop_image()
    return 0


def contestants(
    benchmark: Path, trees: list[Path], place: Path, slots: int, providers: list[str]
) -> dict[str, Callable[[], float]]:
    """Name -> something that does the 24 tests once and returns its seconds."""
    runs: dict[str, Callable[[], float]] = {
        "bare docker": lambda: bare.docker_loop(trees, slots),
        "bare runc": lambda: bare.runc_loop(trees, slots, place / "runc"),
    }
    for provider in providers:
        runs[f"proctor {provider}"] = lambda provider=provider: through(benchmark, provider, slots)
    return runs


def through(benchmark: Path, provider: str, slots: int) -> float:
    """Seconds of one `proctor run`; anything but 24 passes is an error, not a time."""
    with tempfile.TemporaryDirectory(prefix="proctor-bench-run-") as out:
        argv = [str(PROCTOR), "run", str(benchmark), "--agent", "gold", "--sandbox", provider]
        argv += ["-j", str(slots), "--json", "--out", str(Path(out) / "run")]
        began = time.monotonic()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        took = time.monotonic() - began
    if done.returncode or json.loads(done.stdout)["counts"]["passed"] != tiny.TASKS:
        sys.exit(
            f"{' '.join(argv)} exited {done.returncode}:\n{done.stderr.decode()}\n{done.stdout.decode()}"
        )
    return took


def measure(runs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(run())
    return times


def told(slots: int, times: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"\n{tiny.TASKS} tasks, {slots} slots, medians of {len(next(iter(times.values())))} rounds")
    print(f"  {'':<16}{'seconds':>9}{'least':>8}{'most':>8}{'/ docker':>10}{'/ runc':>8}")
    for name, found in times.items():
        docker, runc = (medians[name] / medians[f"bare {floor}"] for floor in ("docker", "runc"))
        spread = f"{min(found):>8.2f}{max(found):>8.2f}"
        print(f"  {name:<16}{medians[name]:>9.2f}{spread}{docker:>10.2f}{runc:>8.2f}")


if __name__ == "__main__":
    sys.exit(main())
