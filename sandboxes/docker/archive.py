"""Entries as tar and back, the way an engine's archive calls take and give them."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from sandboxes import roomfs
from sandboxes.roomfs import FILE, FOLDER, LARGEST_FILE, LINK, PROGRAM, UnfitFile
from sandboxes.spec import MIB, Entry

LARGEST_TREE = 4096 * MIB
"""Bytes of file contents that one export may take through this machine's temporary folder."""
LONGEST_NAME = 3300
"""Bytes of a path: an engine names files by its own paths, which are longer, and passes over what is beyond
the kernel's 4095."""
_IN_MEMORY = 16 * MIB


@dataclass(frozen=True)
class Packed:
    """One entry on its way in, with its absolute path and its owner's number."""

    path: bytes
    mode: int
    user: int
    data: bytes = b""


def pack(entries: Iterable[Packed]) -> IO[bytes]:
    """A tar of these entries, to be unpacked at the root; rewound."""
    file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        for entry in entries:
            info = tarfile.TarInfo(os.fsdecode(entry.path.lstrip(b"/")))
            info.uid = info.gid = entry.user
            kind = entry.mode & 0o170000
            if kind == FOLDER:
                info.type, info.mode = tarfile.DIRTYPE, (entry.mode & 0o7777) or 0o755
            elif kind == LINK:
                info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, os.fsdecode(entry.data)
            else:
                info.mode, info.size = (0o755 if entry.mode & 0o111 else 0o644), len(entry.data)
            tar.addfile(info, io.BytesIO(entry.data) if info.size else None)
    file.seek(0)
    return file


def unpack(chunks: Iterable[bytes]) -> Iterator[Entry]:
    """The entries of an engine's tar of one folder, that folder's own name taken off, in byte order.

    Contents wait in a temporary file on this machine for their turn. Raises UnfitFile for a file or a tree
    that is too large and for paths so long that the engine may have left out what lies below them.
    """
    with tempfile.TemporaryFile() as file:
        # a stream is judged member by member: a sparse file of a terabyte must not be taken first
        with tarfile.open(
            fileobj=io.BufferedReader(_Reader(chunks), 1 << 16), mode="r|", errors="surrogateescape"
        ) as tar:
            members = {kept.name: kept for kept in _taken(tar, file)}
        yield from _sorted(members, file)


@dataclass(frozen=True)
class _Member:
    name: bytes
    mode: int
    at: int = 0
    size: int = 0
    link: bytes = b""


class _Reader(io.RawIOBase):
    """Chunks as a file that can only be read on."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(next(self._chunks, b""))
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _taken(tar: tarfile.TarFile, file: IO[bytes]) -> Iterator[_Member]:
    for member in tar:
        name = os.fsencode(member.name)
        if len(name) > LONGEST_NAME:
            raise UnfitFile("folders are nested deeper than an engine can be trusted to follow")
        if member.isdir():
            yield _Member(name, FOLDER)
        elif member.issym() or member.islnk():
            yield _Member(name, LINK if member.issym() else FILE, link=os.fsencode(member.linkname))
        elif member.isreg():
            yield _kept(tar, member, name, file)


def _kept(tar: tarfile.TarFile, member: tarfile.TarInfo, name: bytes, file: IO[bytes]) -> _Member:
    at = file.tell()
    if member.size > LARGEST_FILE:
        raise UnfitFile(f"{name!r} has {member.size} bytes; at most {LARGEST_FILE} can be taken out")
    if at + member.size > LARGEST_TREE:
        raise UnfitFile(f"more than {LARGEST_TREE} bytes of files cannot be taken out")
    content = tar.extractfile(member)
    if content is not None:
        shutil.copyfileobj(content, file)
    return _Member(name, PROGRAM if member.mode & 0o100 else FILE, at, member.size)


def _sorted(members: dict[bytes, _Member], file: IO[bytes]) -> Iterator[Entry]:
    inner = {name: member for name, member in members.items() if b"/" in name}
    parents = {name.rpartition(b"/")[0] for name in inner}
    for name in sorted(inner):
        member, path = inner[name], name.partition(b"/")[2]
        if member.mode == FOLDER:
            if name not in parents:
                yield Entry(path, FOLDER)
        elif member.mode == LINK:
            yield Entry(path, LINK, member.link)
        else:
            first = members[member.link] if member.link else member
            file.seek(first.at)
            yield Entry(path, first.mode, file.read(first.size))


def absolute(target: str, path: bytes) -> bytes:
    """`path` below `target`, both checked to be plain. Raises ValueError."""
    return b"/" + b"/".join(roomfs.parts_of(target) + roomfs.plain(path))
