"""The floor of real_fixes: each task's command in bare containers, once without and once with its fix."""

from __future__ import annotations

import fnmatch
import json
import shutil
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from orchestrator.documents.benchmark import Task
from orchestrator.loading import load_benchmark
from orchestrator.tasks.states import TaskState, graded
from orchestrator.tools import Tools, image_of
from orchestrator.worktree.change import Change
from sandboxes import roomfs
from sandboxes.docker import DockerProvider
from sandboxes.home import home
from sandboxes.images import RootFs
from sandboxes.oci import OciProvider
from sandboxes.oci.images import resolve
from sandboxes.spec import DEFAULT_PATH, ROOM_UID, Entry, Owner

__all__ = ["FOLDER", "home", "jobs", "loop"]

FOLDER = Path(__file__).parents[1] / "benchmarks" / "real_fixes"
PROVIDERS = {"oci": OciProvider, "docker": DockerProvider}


@dataclass(frozen=True)
class Job:
    """One command over one tree."""

    name: str
    provider: str
    command: str
    tree: Path
    """Never written to: each go works on a copy."""
    layers: tuple[tuple[Path, str], ...]
    """(folder here, place inside), read-only."""
    env: dict[str, str]
    workdir: str
    image: str
    """The engine's name of it (docker)."""
    root: RootFs
    """Its files (oci)."""
    time: int
    """Seconds it may take."""


def jobs(provider: str, pattern: str, place: Path) -> list[Job]:
    """Before and after of every task whose id fits; trees and layers laid out below `place`."""
    benchmark = load_benchmark(FOLDER)
    engine = PROVIDERS[provider](Owner.current("bench"))
    tools = Tools(benchmark, engine, {}, (), lambda ref: None, home())
    try:
        found = []
        for task in benchmark.tasks:
            if fnmatch.fnmatchcase(task.id, pattern):
                found += _both(task, tools, provider, place)
        return found
    finally:
        engine.close()


def loop(work: list[Job], slots: int) -> float:
    """Seconds for all jobs, `slots` at a time. Copies are made before and removed after."""
    copies = [_copy(job) for job in work]
    try:
        began = time.monotonic()
        with ThreadPoolExecutor(slots) as pool:
            list(pool.map(lambda pair: RUN[pair[0].provider](*pair), zip(work, copies, strict=True)))
        return time.monotonic() - began
    finally:
        for copy in copies:
            shutil.rmtree(copy, ignore_errors=True)


def _both(task: Task, tools: Tools, provider: str, place: Path) -> list[Job]:
    state = tools.state(task)
    made = graded(state, Change.read(state.gold or b""))
    assert task.environment is not None
    image = image_of(task.environment, tools.benchmark.root)
    held, root = tools.provider.prepare(image), resolve(image)
    layers = tuple((_laid(place / layer.digest, layer.entries()), layer.target) for layer in state.layers)
    return [
        Job(
            name=f"{task.id}-{side}",
            provider=provider,
            command=_command(task),
            tree=_laid(place / tree, state.store.entries(tree)),
            layers=layers,
            env=_env(state),
            workdir=task.workdir,
            image=held,
            root=root,
            time=int(task.limits.oracle_time or 300),
        )
        for side, tree in (("before", made.before), ("after", made.tree))
    ]


def _command(task: Task) -> str:
    name = (task.rubric_ref or "").removeprefix("rubric/").partition("@")[0]
    document = yaml.safe_load((FOLDER / "rubrics" / f"{name}.yaml").read_text())
    return str(document["checks"][0]["command"])


def _env(state: TaskState) -> dict[str, str]:
    ours = {"PATH": DEFAULT_PATH, "HOME": "/tmp", "LANG": "C.UTF-8", "PROCTOR_REPORT": "/tmp/report.xml"}
    return {**ours, **state.env}


def _laid(folder: Path, entries: Iterable[Entry]) -> Path:
    if not folder.exists():
        folder.mkdir(parents=True)
        roomfs.write(folder, entries, "/", (ROOM_UID, ROOM_UID))
        shutil.chown(folder, ROOM_UID, ROOM_UID)
    return folder


def _copy(job: Job) -> Path:
    copy = job.tree.with_name(f"copy-{job.name}")
    subprocess.run(["cp", "-a", str(job.tree), str(copy)], check=True)
    return copy


def _docker(job: Job, tree: Path) -> None:
    binds = [f"--volume={path}:{path}:ro" for path in job.root.binds]
    binds += [f"--volume={folder}:{target}:ro" for folder, target in job.layers]
    env = [f"--env={name}={value}" for name, value in job.env.items()]
    user = f"--user={ROOM_UID}:{ROOM_UID}"
    argv = ["docker", "run", "--rm", "--network=none", user, *binds, *env, f"--volume={tree}:{job.workdir}"]
    argv += [f"--workdir={job.workdir}", job.image, "timeout", str(job.time), "/bin/sh", "-c", job.command]
    _call(argv, 125)


def _runc(job: Job, tree: Path) -> None:
    bundle = tree.with_name(f"bundle-{job.name}-{job.provider}")
    for name in ("upper", "work", "rootfs"):
        (bundle / name).mkdir(parents=True)
    lowers = ":".join(map(str, job.root.lowers))
    options = f"lowerdir={lowers},upperdir={bundle / 'upper'},workdir={bundle / 'work'}"
    _call(["mount", "-t", "overlay", "overlay", "-o", options, str(bundle / "rootfs")], 1)
    try:
        (bundle / "config.json").write_text(json.dumps(_config(job, tree)))
        _call(["runc", "run", "--bundle", str(bundle), f"bench-{job.name}"[:60]], 255)
    finally:
        _call(["umount", str(bundle / "rootfs")], 1)
        shutil.rmtree(bundle)


RUN = {"docker": _docker, "oci": _runc}


def _config(job: Job, tree: Path) -> dict[str, object]:
    binds = [(path, path, "ro") for path in job.root.binds]
    binds += [(str(folder), target, "ro") for folder, target in job.layers]
    mounts: list[dict[str, object]] = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "tmpfs"},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
    ]
    mounts += [
        {"destination": there, "type": "bind", "source": here, "options": ["rbind", mode]}
        for here, there, mode in [*binds, (str(tree), job.workdir, "rw")]
    ]
    return {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs"},
        "process": {
            "args": ["/usr/bin/timeout", str(job.time), "/bin/sh", "-c", job.command],
            "cwd": job.workdir,
            "env": [f"{name}={value}" for name, value in job.env.items()],
            "user": {"uid": ROOM_UID, "gid": ROOM_UID},
        },
        "mounts": mounts,
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")]},
    }


def _call(argv: list[str], broken: int) -> None:
    """Run it; tests may fail, but an exit code of `broken` means that nothing ran."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode == broken:
        raise RuntimeError(
            f"{argv[0]} exited {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}"
        )
