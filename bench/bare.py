"""The floor: the same tests in containers started by a plain loop, with nothing around them."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tiny import COMMAND

IMAGE = "proctor-bench:floor"
HOST = ("/usr", "/etc/alternatives", "/etc/ld.so.cache")
LINKS = ("bin", "sbin", "lib", "lib64")


def docker_loop(trees: list[Path], slots: int) -> float:
    """Seconds for one `docker run --rm` per tree, `slots` at a time."""
    binds = [f"--volume={path}:{path}:ro" for path in HOST if Path(path).exists()]

    def one(tree: Path) -> None:
        _call(
            [
                *("docker", "run", "--rm", "--network=none", *binds, f"--volume={tree}:/workspace"),
                *("--workdir=/workspace", IMAGE, "/bin/sh", "-c", COMMAND),
            ]
        )

    return _timed(one, trees, slots)


def runc_loop(trees: list[Path], slots: int, scratch: Path) -> float:
    """Seconds for one `runc run` on a fresh overlay per tree, `slots` at a time."""
    base = rootfs(scratch / "rootfs")

    def one(tree: Path) -> None:
        bundle = scratch / f"bundle-{tree.name}"
        for name in ("upper", "work", "rootfs"):
            (bundle / name).mkdir(parents=True)
        options = f"lowerdir={base},upperdir={bundle / 'upper'},workdir={bundle / 'work'}"
        _call(["mount", "-t", "overlay", "overlay", "-o", options, str(bundle / "rootfs")])
        try:
            (bundle / "config.json").write_text(json.dumps(config(tree)))
            _call(["runc", "run", "--bundle", str(bundle), f"bench-{tree.name}"])
        finally:
            _call(["umount", str(bundle / "rootfs")])
            shutil.rmtree(bundle)

    return _timed(one, trees, slots)


def make_image() -> None:
    """An image that holds only the folders the machine's own are bound to."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in LINKS:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
    subprocess.run(
        ["docker", "import", "-", IMAGE], input=data.getvalue(), check=True, stdout=subprocess.DEVNULL
    )


def drop_image() -> None:
    subprocess.run(["docker", "rmi", "--force", IMAGE], check=False, capture_output=True)


def rootfs(folder: Path) -> Path:
    """An empty root with the mount points of `config`."""
    if not folder.exists():
        for name in ("usr", "etc/alternatives", "proc", "dev", "tmp", "workspace"):
            (folder / name).mkdir(parents=True)
        (folder / "etc" / "ld.so.cache").touch()
        for name in LINKS:
            (folder / name).symlink_to(f"usr/{name}")
    return folder


def config(
    tree: Path, argv: Sequence[str] = ("/bin/sh", "-c", COMMAND), *, host: bool = True
) -> dict[str, object]:
    """The smallest OCI configuration that runs `argv` over `tree`; `host`: with this machine's programs."""
    binds = [(path, path, "ro") for path in HOST if host and Path(path).exists()]
    binds.append((str(tree), "/workspace", "rw"))
    mounts: list[dict[str, object]] = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
    ]
    mounts += [
        {"destination": there, "type": "bind", "source": here, "options": ["rbind", mode]}
        for here, there, mode in binds
    ]
    return {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs"},
        "process": {
            "args": list(argv),
            "cwd": "/workspace",
            "env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
            "user": {"uid": 0, "gid": 0},
        },
        "mounts": mounts,
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")]},
    }


def _timed(one: Callable[[Path], None], trees: list[Path], slots: int) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(slots) as pool:
        list(pool.map(one, trees))
    return time.monotonic() - began


def _call(argv: list[str]) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{argv[0]} exited {done.returncode}: {done.stderr.decode(errors='replace')}")
