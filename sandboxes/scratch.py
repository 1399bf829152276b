"""The space a room may write: an ext4 file system of fixed size in a sparse file, and mounts over it.

A room that fills it up gets ENOSPC and nobody else notices; nothing of it survives `close`. Needs root
and loop devices. Everything is a plain system call, so a scratch costs about two milliseconds.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from shutil import which

from sandboxes import drafts
from sandboxes.errors import ProvisionFailed
from sandboxes.home import home
from sandboxes.spec import MIB

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOATIME = 1, 2, 4, 1024
MS_REMOUNT, MS_BIND, MS_PRIVATE = 32, 4096, 1 << 18
MNT_DETACH = 2
FULL_BELOW = 2 * MIB
"""A scratch with less than this many bytes left counts as full: ext4 of Linux 6.x refuses a large write whole
while up to so much is free. An eighth of a small scratch, if that is less."""
HOST_FLOOR = 64 * MIB
"""With less than this left on the machine's own disk nothing that happens in a room is its own doing."""

_libc = ctypes.CDLL(None, use_errno=True)


class Scratch:
    """A mounted scratch file system. `path` is its top folder, owned by root.

    Make it with `Scratch.open`, give it back with `close` (idempotent; never raises for what is gone).
    """

    def __init__(self, path: Path, device: str, full_below: int = FULL_BELOW) -> None:
        self.path = path
        self.device = device
        self._full_below = full_below

    @classmethod
    def open(cls, folder: Path, size: int) -> Scratch:
        """Make one of `size` writable bytes (give or take a percent), mounted at `folder`/scratch.

        Raises ProvisionFailed, also when the machine itself is out of disk.
        """
        if host_full(folder):
            raise ProvisionFailed(f"the disk that holds {home()} is full: free some space and try again")
        path = folder / "scratch"
        path.mkdir(exist_ok=True)
        image = folder / "scratch.img"
        try:
            _copy_sparse(_template(size), image)
            device = _mount_loop(image, path)
        except OSError as error:
            raise ProvisionFailed(f"no scratch space of {size} bytes could be mounted: {error}") from error
        finally:
            image.unlink(missing_ok=True)  # the loop device keeps it alive, and nothing can leak it
        return cls(path, device, min(FULL_BELOW, size // 8))

    @classmethod
    def plain(cls, folder: Path) -> Scratch:
        """A plain folder instead, for machines without loop devices: its size is not limited."""
        path = folder / "scratch"
        path.mkdir(exist_ok=True)
        return cls(path, "")

    def full(self) -> bool:
        """Whether nothing more can be written: out of bytes or out of inodes."""
        try:
            seen = os.statvfs(self.path)
        except OSError:
            return False
        return seen.f_bavail * seen.f_frsize < self._full_below or seen.f_favail == 0

    def close(self) -> None:
        if self.device:
            unmount(self.path)


def sized_possible() -> bool:
    """Whether this process can make scratches of a fixed size: root, loop devices and mkfs.ext4 are there."""
    return os.geteuid() == 0 and Path("/dev/loop-control").exists() and which("mkfs.ext4") is not None


def host_full(folder: Path) -> bool:
    """Whether the machine's own disk under `folder` is (nearly) full."""
    seen = os.statvfs(folder)
    return seen.f_bavail * seen.f_frsize < HOST_FLOOR


def overlay(lowers: Sequence[Path], upper: Path, work: Path, at: Path) -> None:
    """Mount `lowers` (topmost first) with a writable `upper` at the folder `at`.

    Folders of a lower layer can be renamed, and fsync costs nothing: the upper is thrown away anyway.
    Raises ProvisionFailed.
    """
    for path in (upper, work, at):
        path.mkdir(parents=True, exist_ok=True)
    upper.chmod(0o755)
    lowerdir = ":".join(_escaped(path) for path in lowers)
    places = f"lowerdir={lowerdir},upperdir={_escaped(upper)},workdir={_escaped(work)}"
    if len(places) > 3900:
        raise ProvisionFailed(f"{len(lowers)} layers are more than one mount can name")
    error: OSError | None = None
    for extra in (",redirect_dir=on,index=off,metacopy=off,volatile", ",redirect_dir=on", ""):
        try:
            mount("overlay", at, "overlay", MS_NODEV | MS_NOATIME, places + extra)
            return
        except OSError as problem:
            error = problem
            if problem.errno != errno.EINVAL:
                break
    raise ProvisionFailed(f"the room's overlay could not be mounted: {error}") from error


def mount(source: str | Path, target: Path, kind: str | None, flags: int, data: str = "") -> None:
    """mount(2). Raises OSError."""
    result = _libc.mount(
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode(),
    )
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(target))


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    """Make a folder or file appear at `target` as well. Raises OSError."""
    mount(source, target, None, MS_BIND)
    if read_only:
        mount("none", target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def unmount(path: Path) -> bool:
    """Unmount now, or as soon as nobody uses it. False when nothing was mounted there."""
    if _libc.umount2(os.fsencode(path), 0) == 0:
        return True
    return bool(_libc.umount2(os.fsencode(path), MNT_DETACH) == 0)


def mounts_below(folder: Path) -> list[Path]:
    """Mount points at or below `folder`, the deepest and latest first."""
    prefix = os.fsencode(folder)
    found = []
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        point = _unescaped(line.split(b" ")[4])
        if point == prefix or point.startswith(prefix + b"/"):
            found.append(Path(os.fsdecode(point)))
    return found[::-1]


def _escaped(path: Path) -> str:
    text = str(path)
    if "," in text:
        raise ProvisionFailed(f"{path}: overlay mounts cannot take a path with a comma; set PROCTOR_HOME")
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _unescaped(raw: bytes) -> bytes:
    for code in (b"040", b"011", b"012", b"134"):
        raw = raw.replace(b"\\" + code, bytes([int(code, 8)]))
    return raw


def _template(size: int) -> Path:
    """A file system of this size, empty and unused, to be copied: ten times quicker than mkfs each time."""
    ready = home() / "scratch" / f"{size}-v2.ext4"
    whole = size + size // 32 + 8 * MIB  # what inode tables and the like take up
    if _is_template(ready, whole):
        return ready
    ready.parent.mkdir(exist_ok=True)
    with drafts.whole(ready) as draft:
        os.truncate(draft, whole)
        options = "lazy_itable_init=1,nodiscard,root_owner=0:0"
        argv = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "8192", "-m", "0", "-O", "^has_journal"]
        argv += ["-E", options, str(draft)]
        try:
            done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            raise ProvisionFailed("mkfs.ext4 is missing: install e2fsprogs") from None
        if done.returncode != 0:
            raise ProvisionFailed(f"mkfs.ext4 failed: {done.stderr.strip()}")
        _sync(draft)
    return ready


def _is_template(path: Path, size: int) -> bool:
    """Whether a file system of this size lies there: not what an interrupted removal or a full disk left."""
    try:
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_size == size and os.pread(file.fileno(), 2, _MAGIC_AT) == _MAGIC
    except FileNotFoundError:
        return False


_MAGIC_AT, _MAGIC = 1024 + 0x38, b"\x53\xef"
"""Where ext4's superblock says what it is."""


def _sync(path: Path) -> None:
    """Its bytes are on the disk before its name is: a power cut in between would leave every later room a
    file of the right size that holds nothing. Once for each size."""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy_sparse(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("wb") as write:
        size = os.fstat(read.fileno()).st_size
        os.ftruncate(write.fileno(), size)
        start = 0
        while start < size:
            try:
                start = os.lseek(read.fileno(), start, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return
                raise
            end = os.lseek(read.fileno(), start, os.SEEK_HOLE)
            os.lseek(write.fileno(), start, os.SEEK_SET)
            while start < end:
                start += os.sendfile(write.fileno(), read.fileno(), start, end - start)


_LOOP_CTL_GET_FREE, _LOOP_CONFIGURE, _LOOP_CLR_FD = 0x4C82, 0x4C0A, 0x4C01
_AUTOCLEAR = 4
_one_at_a_time = threading.Lock()


def _mount_loop(image: Path, at: Path) -> str:
    """Attach the image to a free loop device that frees itself at unmount, and mount it."""
    with image.open("r+b") as file:
        device, handle = _attach(file.fileno())
    try:
        # without barriers, unmounting does not wait for the disk: the data is garbage by then
        mount(
            device, at, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, "barrier=0,noinit_itable,errors=continue"
        )
    except OSError:
        fcntl.ioctl(handle, _LOOP_CLR_FD)
        raise
    finally:
        os.close(handle)
    return device


def _attach(image: int) -> tuple[str, int]:
    # struct loop_config: fd, block size, then loop_info64 (flags at byte 52 of it), then reserved words
    info = bytearray(232)
    struct.pack_into("=I", info, 52, _AUTOCLEAR)
    config = struct.pack("=II", image, 4096) + bytes(info) + bytes(64)
    for _ in range(64):
        with _one_at_a_time:
            control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
            try:
                number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            finally:
                os.close(control)
            device = f"/dev/loop{number}"
            if not Path(device).exists():
                os.mknod(device, 0o660 | 0o060000, os.makedev(7, number))
            handle = os.open(device, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(handle, _LOOP_CONFIGURE, config)
                return device, handle
            except OSError as error:
                os.close(handle)
                if error.errno != errno.EBUSY:
                    raise
    raise ProvisionFailed("no free loop device was found")
