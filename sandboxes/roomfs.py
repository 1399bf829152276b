"""Files of a room, touched from outside it: no link planted inside is ever followed.

Every function takes the room's root as a folder of this machine and absolute paths as the room sees
them. Names are raw bytes. Works while nothing runs in the room, and stays inside it even when something
does: each step is a system call relative to an open folder (`openat2` where the kernel has it).
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxes.spec import MIB, Entry

LARGEST_FILE = 256 * MIB
"""`export` refuses files beyond this size: a sparse file of a terabyte costs a room nothing."""
LONGEST_PATH = 4095
"""Bytes of a relative path; no system call takes a longer one."""

FILE, PROGRAM, LINK, FOLDER = 0o100644, 0o100755, 0o120000, 0o040000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class UnfitFile(ValueError):
    """A room holds something that cannot be taken out (too large, nested too deeply). Its maker's
    fault, not ours."""


def write(root: Path, entries: Iterable[Entry], target: str, owner: tuple[int, int] | None) -> None:
    """Put `entries` below `target`, replacing whatever stands at their paths or in their way.

    owner: (uid, gid) of what is made here; None leaves it to the caller's own user. Folders that exist
    already are kept as they are. Raises ValueError for a path that is not plain and relative.
    """
    with _root(root) as top, _Writer(top, parts_of(target), owner) as writer:
        for entry in entries:
            writer.put(entry)


def remove(root: Path, paths: Iterable[bytes], target: str) -> None:
    """Remove files, links or whole folders, given relative to `target`. Missing ones are no error."""
    with _root(root) as top:
        base = parts_of(target)
        for path in paths:
            *parents, name = base + plain(path)
            try:
                folder = open_beneath(top, parents, _FOLDER_FLAGS)
            except OSError as error:
                if error.errno in _NOT_THERE:
                    continue
                raise
            try:
                _delete(folder, name)
            finally:
                os.close(folder)


def read(root: Path, path: str, limit: int) -> bytes | None:
    """The bytes of a regular file at exactly this path; None when there is none (links count as none).

    Raises ValueError when it is larger than `limit` bytes.
    """
    with _root(root) as top:
        try:
            handle = open_beneath(top, parts_of(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return None
            raise
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            os.close(handle)
            return None
        with os.fdopen(handle, "rb") as file:
            if seen.st_size > limit:
                raise ValueError(f"{path}: {seen.st_size} bytes, more than the {limit} allowed")
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"{path}: grew beyond the {limit} bytes allowed")
        return data


def export(root: Path, target: str, largest: int = LARGEST_FILE) -> Iterator[Entry]:
    """Every file, link and empty folder below `target`, in byte order of their paths.

    Sockets, devices and pipes are left out; of a file's mode only "executable by its owner" is kept.
    Raises UnfitFile for a file beyond `largest` bytes and for paths no system call could take.
    """
    with _root(root) as top:
        base = parts_of(target)
        waiting: list[tuple[bytes, int]] = [(b"", FOLDER)]
        while waiting:
            path, kind = waiting.pop()
            if stat.S_IFMT(kind) != FOLDER:
                entry = _entry(top, base, path, kind, largest)
                if entry is not None:
                    yield entry
                continue
            children = _children(top, base, path)
            if children:
                waiting.extend(reversed(children))
            elif path and children is not None:
                yield Entry(path, FOLDER)


def is_folder(root: Path, path: str) -> bool:
    """Whether the room has a folder at `path`; links are resolved as the room itself would."""
    with _root(root) as top:
        try:
            handle = _openat2(top, b"/".join(parts_of(path)) or b".", os.O_PATH | os.O_DIRECTORY, _IN_ROOT)
        except OSError as error:
            return error.errno == errno.ENOSYS
        os.close(handle)
        return True


def parts_of(path: str | bytes) -> list[bytes]:
    """The components of an absolute path of a room. Raises ValueError when it is not absolute and plain."""
    raw = os.fsencode(path)
    if not raw.startswith(b"/"):
        raise ValueError(f"not an absolute path: {path!r}")
    return plain(raw.strip(b"/")) if raw.strip(b"/") else []


def plain(path: bytes) -> list[bytes]:
    """The components of a relative path. Raises ValueError for "", ".", "..", "//", a NUL, a leading "/"."""
    parts = path.split(b"/")
    if b"" in parts or b"." in parts or b".." in parts or b"\0" in path:
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts


def open_beneath(top: int, parts: list[bytes], flags: int) -> int:
    """Open below the folder `top` without following a link at any level; like os.open otherwise."""
    path = b"/".join(parts) or b"."
    flags |= os.O_CLOEXEC
    try:
        return _openat2(top, path, flags, _NO_LINKS)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    return _walk(top, parts, flags)


_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG)
_NO_LINKS = 0x02 | 0x04 | 0x08
"""RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH."""
_IN_ROOT = 0x02 | 0x10
"""RESOLVE_NO_MAGICLINKS | RESOLVE_IN_ROOT."""
_SYS_OPENAT2 = 437
_libc = ctypes.CDLL(None, use_errno=True)


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def _openat2(top: int, path: bytes, flags: int, resolve: int) -> int:
    how = _OpenHow(flags, 0, resolve)
    while True:
        handle = int(_libc.syscall(_SYS_OPENAT2, top, path, ctypes.byref(how), ctypes.sizeof(how)))
        if handle >= 0:
            return handle
        code = ctypes.get_errno()
        if code not in (errno.EINTR, errno.EAGAIN):
            raise OSError(code, os.strerror(code), os.fsdecode(path))


def _walk(top: int, parts: list[bytes], flags: int) -> int:
    folder = os.dup(top)
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        try:
            below = os.open(part, (flags | os.O_NOFOLLOW) if last else _FOLDER_FLAGS, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


@contextmanager
def _root(root: Path) -> Iterator[int]:
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


class _Writer:
    """Writes entries below one folder; keeps the folder of the last entry open, as they come sorted."""

    def __init__(self, top: int, base: list[bytes], owner: tuple[int, int] | None) -> None:
        self._top, self._base, self._owner = top, base, owner
        self._at: list[bytes] | None = None
        self._folder = -1

    def __enter__(self) -> _Writer:
        self._enter([])
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)

    def put(self, entry: Entry) -> None:
        *parents, name = plain(entry.path)
        kind = stat.S_IFMT(entry.mode)
        if kind == FOLDER:
            self._enter([*parents, name])
            return
        self._enter(parents)
        self._clear(name)
        if kind == LINK:
            os.symlink(entry.data, name, dir_fd=self._folder)
        else:
            self._file(name, entry)
        self._own(name)

    def _file(self, name: bytes, entry: Entry) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(name, flags, 0o600, dir_fd=self._folder)
        with os.fdopen(handle, "wb", buffering=0) as file:
            view = memoryview(entry.data)
            while view:
                view = view[file.write(view) :]
            os.fchmod(handle, 0o755 if entry.mode & 0o111 else 0o644)

    def _clear(self, name: bytes) -> None:
        """Make sure nothing stands at `name`."""
        try:
            os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        _delete(self._folder, name)

    def _own(self, name: bytes) -> None:
        if self._owner is not None:
            os.chown(name, *self._owner, dir_fd=self._folder, follow_symlinks=False)

    def _enter(self, parents: list[bytes]) -> None:
        if parents == self._at:
            return
        if self._folder >= 0:
            os.close(self._folder)
        self._folder, self._at = -1, None
        folder = os.dup(self._top)
        for depth, part in enumerate(self._base + parents):
            try:
                below = self._folder_at(folder, part, top_level=depth == 0)
            finally:
                os.close(folder)
            folder = below
        self._folder, self._at = folder, parents

    def _folder_at(self, folder: int, name: bytes, top_level: bool) -> int:
        try:
            return os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            if top_level:
                raise ValueError(f"/{os.fsdecode(name)} is not a folder of this image") from None
            os.unlink(name, dir_fd=folder)
        os.mkdir(name, 0o755, dir_fd=folder)
        below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        os.fchmod(below, 0o755)
        if self._owner is not None:
            os.fchown(below, *self._owner)
        return below


def _delete(folder: int, name: bytes) -> None:
    """Remove a file, a link or a whole tree at `name`; nothing there is no error."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        try:
            shutil.rmtree(name, dir_fd=folder)
        except (RecursionError, OSError):
            _delete_deep(folder, name)


def _delete_deep(folder: int, name: bytes) -> None:
    """For trees deeper than Python recurses or than files may be open: `rm` walks them in constant space."""
    argv = [b"rm", b"-rf", b"--", b"./" + name]
    subprocess.run(argv, cwd=f"/proc/self/fd/{folder}", pass_fds=(folder,), check=True, capture_output=True)


def _children(top: int, base: list[bytes], path: bytes) -> list[tuple[bytes, int]] | None:
    """What a folder holds, sorted as whole paths sort; None when there is no such folder."""
    parts = base + (path.split(b"/") if path else [])
    try:
        handle = open_beneath(top, parts, _FOLDER_FLAGS)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UnfitFile("folders are nested deeper than any path can name") from None
        if error.errno in _NOT_THERE:
            return None
        raise
    try:
        with os.scandir(handle) as listing:
            found = [(os.fsencode(item.name), _kind(item)) for item in listing]
    finally:
        os.close(handle)
    found.sort(key=lambda item: item[0] + b"/" if item[1] == FOLDER else item[0])
    prefix = path + b"/" if path else b""
    if found and len(prefix) + max(len(name) for name, _ in found) > LONGEST_PATH:
        raise UnfitFile("folders are nested deeper than any path can name")
    return [(prefix + name, kind) for name, kind in found if kind]


def _kind(item: os.DirEntry[str]) -> int:
    if item.is_symlink():
        return LINK
    if item.is_dir(follow_symlinks=False):
        return FOLDER
    return FILE if item.is_file(follow_symlinks=False) else 0


def _entry(top: int, base: list[bytes], path: bytes, kind: int, largest: int) -> Entry | None:
    *parents, name = base + path.split(b"/")
    folder = open_beneath(top, parents, _FOLDER_FLAGS)
    try:
        if kind == LINK:
            return Entry(path, LINK, os.readlink(name, dir_fd=folder))
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb", buffering=0) as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode):
            return None
        if seen.st_size > largest:
            raise UnfitFile(f"{path!r} has {seen.st_size} bytes; at most {largest} can be taken out")
        data = file.read(seen.st_size + 1) if seen.st_size else b""
        while seen.st_size and len(data) < seen.st_size and (more := file.read(seen.st_size - len(data))):
            data += more
        return Entry(path, PROGRAM if seen.st_mode & 0o100 else FILE, data[:largest])
