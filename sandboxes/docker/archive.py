"""Entries as tar and back, the way an engine's archive calls take and give them."""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from sandboxes import roomfs
from sandboxes.roomfs import FILE, FOLDER, LARGEST_FILE, LINK, PROGRAM, UnfitFile
from sandboxes.spec import MIB, Entry

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

    Goes through a temporary file on this machine. Raises UnfitFile for a file that is too large.
    """
    with tempfile.TemporaryFile() as file:
        for chunk in chunks:
            file.write(chunk)
        file.seek(0)
        with tarfile.open(fileobj=file, errors="surrogateescape") as tar:
            yield from _sorted(tar, {os.fsencode(member.name): member for member in tar})


def _sorted(tar: tarfile.TarFile, members: dict[bytes, tarfile.TarInfo]) -> Iterator[Entry]:
    kept = [(name, member) for name, member in members.items() if b"/" in name and _wanted(member)]
    parents = {name.rpartition(b"/")[0] for name, _ in kept}
    for name, member in sorted(kept, key=lambda item: item[0]):
        path = name.partition(b"/")[2]
        if member.isdir():
            if name not in parents:
                yield Entry(path, FOLDER)
        elif member.issym():
            yield Entry(path, LINK, os.fsencode(member.linkname))
        else:
            yield _file(
                tar, path, members[os.fsencode(member.linkname)] if member.islnk() else member, member.mode
            )


def _file(tar: tarfile.TarFile, path: bytes, member: tarfile.TarInfo, mode: int) -> Entry:
    if member.size > LARGEST_FILE:
        raise UnfitFile(f"{path!r} has {member.size} bytes; at most {LARGEST_FILE} can be taken out")
    content = tar.extractfile(member)
    return Entry(path, PROGRAM if mode & 0o100 else FILE, content.read() if content else b"")


def _wanted(member: tarfile.TarInfo) -> bool:
    return member.isdir() or member.issym() or member.isreg() or member.islnk()


def absolute(target: str, path: bytes) -> bytes:
    """`path` below `target`, both checked to be plain. Raises ValueError."""
    return b"/" + b"/".join(roomfs.parts_of(target) + roomfs.plain(path))
