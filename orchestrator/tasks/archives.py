"""Tar and zip files as entries: nothing is unpacked to disk, and nothing in one can reach out of its tree."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.worktree import patches
from orchestrator.worktree.trees import EXECUTABLE, FILE, LINK
from sandboxes.spec import MIB, Entry

UNPACKED_LIMIT = 2048 * MIB
"""Bytes an archive may hold, unpacked."""
MEMBER_LIMIT = 200_000
"""Files and links an archive may hold."""


class ArchiveTrouble(ValueError):
    """An archive that is broken, too large, or holds what a source may not hold. One sentence."""


@dataclass(frozen=True)
class _Member:
    path: bytes
    mode: int
    size: int
    read: Callable[[], bytes]


def unpack(file: Path | IO[bytes]) -> Iterator[Entry]:
    """The files and links of a tar (any compression) or (by path) zip file; a single top folder is stripped
    and `.git` left out. Raises ArchiveTrouble: absolute and parent paths, links that leave the tree, devices,
    more than `UNPACKED_LIMIT`."""
    try:
        if isinstance(file, Path) and zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                yield from _entries(list(_zip_members(archive)))
        else:
            with tarfile.open(file) if isinstance(file, Path) else tarfile.open(fileobj=file) as tar:
                yield from _entries(list(_tar_members(tar)))
    except (
        tarfile.TarError,
        zipfile.BadZipFile,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
    ) as error:
        raise ArchiveTrouble(f"it cannot be unpacked: {error}") from error


def tar_entries(stream: IO[bytes]) -> Iterator[Entry]:
    """A tar stream of files for a layer, read once from front to end: links may point anywhere (they are
    only ever followed inside a room)."""
    with tarfile.open(fileobj=stream, mode="r|*") as tar:
        for info in tar:
            path = _clean(info.name)
            if info.isreg():
                yield Entry(path, _file_mode(info.mode), _read_tar(tar, info))
            elif info.issym():
                yield Entry(path, LINK, info.linkname.encode("utf-8", "surrogateescape"))


def _entries(members: list[_Member]) -> Iterator[Entry]:
    if len(members) > MEMBER_LIMIT:
        raise ArchiveTrouble(f"it holds more than {MEMBER_LIMIT} files")
    if sum(m.size for m in members) > UNPACKED_LIMIT:
        raise ArchiveTrouble(f"it holds more than {UNPACKED_LIMIT // MIB} MiB")
    tops = {m.path.partition(b"/")[0] for m in members}
    strip = len(tops) == 1 and all(b"/" in m.path for m in members)
    for member in members:
        path = member.path.partition(b"/")[2] if strip else member.path
        if b".git" in path.split(b"/"):
            continue
        data = member.read()
        if member.mode == LINK and _leaves(path, data):
            message = f"the link {patches.show(path)} leads out of the tree, to {patches.show(data)}"
            raise ArchiveTrouble(message)
        yield Entry(path, member.mode, data)


def _leaves(path: bytes, target: bytes) -> bool:
    if target.startswith(b"/"):
        return True
    depth = path.count(b"/")
    for part in target.split(b"/"):
        depth += -1 if part == b".." else 0 if part in (b"", b".") else 1
        if depth < 0:
            return True
    return False


def _tar_members(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:
        if info.isdir():
            _clean(info.name)
            continue
        path = _clean(info.name)
        if info.issym():
            target = info.linkname.encode("utf-8", "surrogateescape")
            yield _Member(path, LINK, len(target), lambda target=target: target)  # type: ignore[misc]
        elif info.isreg() or info.islnk():
            yield _Member(path, _file_mode(info.mode), info.size, lambda info=info: _read_tar(tar, info))  # type: ignore[misc]
        else:
            raise ArchiveTrouble(f"{patches.show(path)} is a device or a pipe")


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        path = _clean(info.filename.rstrip("/"))
        mode = info.external_attr >> 16
        if info.is_dir():
            continue
        kind = LINK if stat.S_ISLNK(mode) else _file_mode(mode)
        yield _Member(path, kind, info.file_size, lambda info=info: archive.read(info))  # type: ignore[misc]


def _read_tar(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    """A file's bytes, also of a hard link (whose target must be in the archive)."""
    try:
        file = tar.extractfile(info)
    except KeyError:
        file = None
    if file is None:
        raise ArchiveTrouble(f"{info.name} is a link to nothing in the archive")
    return file.read()


def _clean(name: str) -> bytes:
    path = name.encode("utf-8", "surrogateescape")
    if path.startswith(b"/"):
        raise ArchiveTrouble(f"{name} is absolute")
    parts = [part for part in path.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise ArchiveTrouble(f"{name} leaves the tree")
    return b"/".join(parts)


def _file_mode(mode: int) -> int:
    return EXECUTABLE if mode & 0o100 else FILE
