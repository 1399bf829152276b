"""What a score_delta costs beyond its two analyser runs: phpcs on a PHP code base before and after a fix.

    python bench/delta.py [--rounds 7] [--copies 1 40 160] [--provider oci]

The floor is the same phpcs command in two bare containers, `runc run` on an overlay of the same image, with
nothing around them. Against it: one check in rooms that are open for business (nothing cached of the state
before), and the whole `proctor delta` command from typing it to its exit. Rounds are interleaved; ratios are
of medians. A last table matches 100,000 findings against 100,000 in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import bare
import floor as interleaved

from orchestrator.analyzers import Finding
from orchestrator.analyzers.delta import compare
from orchestrator.analyzers.phpcs import Phpcs
from orchestrator.checks.contest import Contest
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.cli.engine import opened
from orchestrator.evidence import RoomJudge
from orchestrator.plugins import Registry
from orchestrator.tasks.hostfiles import folder_entries
from orchestrator.worktree.trees import TreeStore
from sandboxes.home import home
from sandboxes.images.debian import debian_image
from sandboxes.protocol import Provider
from sandboxes.spec import Image, Limits, Owner, RoomSpec

PROCTOR = Path(sys.executable).with_name("proctor")
TILL = Path(__file__).parents[1] / "benchmarks" / "php_quality" / "till"
PACKAGES = ("php-cli", "php-codesniffer", "phpmd")
CHECK = {"kind": "score_delta", "id": "bench", "tool": "phpcs", "min_delta": 1, "metadata": {"target": "."}}
FINDINGS = 100_000


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 40, 160])
    parser.add_argument("--provider", default="oci")
    parser.add_argument("--matching", action="store_true", help="only the table of 100,000 findings")
    asked = parser.parse_args()
    if asked.matching:
        matched()
        return 0
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        for copies in asked.copies:
            place = Path(name) / str(copies)
            sides = written(place, copies)
            kinds = Registry.load().sandboxes
            with opened(kinds, asked.provider, Owner.current("bench")) as provider:
                told(
                    copies,
                    interleaved.measure(contestants(sides, place, provider, asked.provider), asked.rounds),
                )
    subprocess.run([sys.executable, __file__, "--matching"], check=True)
    return 0


def written(place: Path, copies: int) -> tuple[Path, Path]:
    """The code base, `copies` times over, and the same with a quarter of the copies mended."""
    before, after = place / "before", place / "after"
    fix = (TILL / "fix.patch").read_bytes()
    for number in range(copies):
        shutil.copytree(TILL / "repo", before / f"part{number}")
        shutil.copytree(TILL / "repo", after / f"part{number}")
        if number % 4:
            continue
        subprocess.run(["patch", "-s", "-p1"], cwd=after / f"part{number}", input=fix, check=True)
    return before, after


def contestants(
    sides: tuple[Path, Path], place: Path, provider: Provider, name: str
) -> dict[str, Callable[[], float]]:
    """Name -> something that compares both sides once and returns its seconds."""
    return {
        "bare runc": partial(floor, sides, place / "runc"),
        "score_delta": partial(checked, sides, provider),
        "proctor delta": partial(typed, sides, name),
    }


def floor(sides: tuple[Path, Path], scratch: Path) -> float:
    """Both runs of phpcs, in bare containers."""
    image = debian_image("bookworm", PACKAGES)
    argv = Phpcs().argv(Phpcs().options(CHECK), "/workspace")
    began = time.monotonic()
    for number, tree in enumerate(sides):
        bundle = scratch / str(number)
        for name in ("upper", "work", "rootfs"):
            (bundle / name).mkdir(parents=True)
        lower = ":".join(map(str, image.lowers))
        options = f"lowerdir={lower},upperdir={bundle / 'upper'},workdir={bundle / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "o", "-o", options, bundle / "rootfs"], check=True)
        try:
            (bundle / "config.json").write_text(json.dumps(bare.config(tree, argv, host=False)))
            done = subprocess.run(
                ["runc", "run", "--bundle", bundle, f"bench-delta-{os.getpid()}-{number}"],
                capture_output=True,
                stdin=subprocess.DEVNULL,
            )
            if done.returncode not in (0, 1, 2):
                sys.exit(f"phpcs ended with {done.returncode}: {done.stderr.decode()}{done.stdout.decode()}")
        finally:
            subprocess.run(["umount", bundle / "rootfs"], check=True)
    took = time.monotonic() - began
    shutil.rmtree(scratch)
    return took


def checked(sides: tuple[Path, Path], provider: Provider) -> float:
    """One check, the trees in the store already, as they are in a trial."""
    store = TreeStore(home() / "trees")
    before, after = (store.add(folder_entries(side)) for side in sides)
    began = time.monotonic()
    judge = RoomJudge(
        provider=provider,
        room=RoomSpec(Image("debian", "bookworm", PACKAGES), (), "/workspace", {}, Limits(), label="bench"),
        trees=store,
        judge_tree=before,
        graded_tree=after,
        changes=lambda: store.changes(before, after),
    )
    ask = ScoreDeltaExecutor({"phpcs": Phpcs()}).ask(CHECK)
    ruling = Contest(CHECK, judge, ask, lambda: datetime.now(UTC)).ruling()
    took = time.monotonic() - began
    if ruling.cause:
        sys.exit(f"the check fails: {ruling.cause} {ruling.reason}")
    return took


def typed(sides: tuple[Path, Path], provider: str) -> float:
    argv = [str(PROCTOR), "delta", *map(str, sides), "--tool", "phpcs", "--sandbox", provider]
    began = time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    took = time.monotonic() - began
    if done.returncode:
        sys.exit(f"{' '.join(argv)} exited {done.returncode}:\n{done.stderr.decode()}{done.stdout.decode()}")
    return took


def told(copies: int, times: dict[str, list[float]]) -> None:
    floor = statistics.median(times["bare runc"])
    print(f"\n{copies * 5} PHP files, medians of {len(times['bare runc'])} rounds")
    print(f"  {'':<16}{'seconds':>9}{'least':>8}{'most':>8}{'/ bare':>9}")
    for name, found in times.items():
        median = statistics.median(found)
        print(f"  {name:<16}{median:>9.2f}{min(found):>8.2f}{max(found):>8.2f}{median / floor:>9.2f}")


def matched() -> None:
    """CPU seconds and peak memory of matching; a tenth of the findings is new, a tenth is fixed."""
    before = [_finding(number) for number in range(FINDINGS)]
    after = [_finding(number, shift=3) for number in range(FINDINGS // 10, FINDINGS + FINDINGS // 10)]
    began = time.process_time()
    delta = compare(before, after)
    took = time.process_time() - began
    assert len(delta.fixed) == len(delta.new) == FINDINGS // 10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{FINDINGS:,} against {FINDINGS:,} findings: {took:.2f} s of processor time, {peak:.0f} MiB")


def _finding(number: int, shift: int = 0) -> Finding:
    path, line = f"src/part{number % 997}/File{number % 1009}.php", number // 997 + 1
    return Finding(
        f"PSR12.Rule{number % 41}", path, line + shift, f"message {number}", content=f"$x{number}=1;"
    )


if __name__ == "__main__":
    sys.exit(main())
