"""Files of a container, read through the engine: no link is followed at any level.

The container need not run, and nothing may run over the same files meanwhile.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from sandboxes.docker import archive
from sandboxes.docker.engine import Engine
from sandboxes.roomfs import parts_of
from sandboxes.spec import Entry

_FOLDER, _NOT_A_FILE = 1 << 31, 0x8F280000
"""Bits of a mode as the engine tells it (Go's os.FileMode)."""

Look = Callable[[bytes], Mapping[str, Any] | None]


def looker(engine: Engine, container: str) -> Look:
    """Asks what is at an absolute path, each path once: nothing changes while it is used."""
    known: dict[bytes, Mapping[str, Any] | None] = {}

    def look(path: bytes) -> Mapping[str, Any] | None:
        if path not in known:
            known[path] = engine.stat(container, path)
        return known[path]

    return look


def read(engine: Engine, container: str, path: str, limit: int) -> bytes | None:
    """See `Sandbox.read`."""
    raw = b"/" + b"/".join(parts_of(path))
    look = looker(engine, container)
    seen = look(raw) if reached(look, raw) else None
    if seen is None or seen["mode"] & _NOT_A_FILE:
        return None
    if seen["size"] > limit:
        raise ValueError(f"{path}: {seen['size']} bytes, more than the {limit} allowed")
    with engine.get_archive(container, path) as chunks:
        return None if chunks is None else _only_file(chunks)


def export(engine: Engine, container: str, target: str) -> Iterator[Entry]:
    """See `Sandbox.export`."""
    look = looker(engine, container)
    raw = b"/" + b"/".join(parts_of(target))
    if not reached(look, raw) or not is_folder(look(raw)):
        return
    with engine.get_archive(container, target) as chunks:
        if chunks is not None:
            yield from archive.unpack(chunks)


def parents(path: bytes) -> list[bytes]:
    """The folders above an absolute path, the outermost first, the root left out."""
    parts = path.split(b"/")[1:-1]
    return [b"/" + b"/".join(parts[: depth + 1]) for depth in range(len(parts))]


def is_folder(seen: Mapping[str, Any] | None) -> bool:
    """Whether what `Engine.stat` told is a real folder."""
    return seen is not None and bool(seen["mode"] & _FOLDER)


def reached(look: Look, path: bytes) -> bool:
    """Whether every folder on the way is a real one (no link) and something is there."""
    return all(is_folder(look(parent)) for parent in parents(path)) and look(path) is not None


def _only_file(chunks: Iterable[bytes]) -> bytes | None:
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks)), errors="surrogateescape") as tar:
        member = tar.next()
        content = tar.extractfile(member) if member is not None and member.isreg() else None
        return content.read() if content else None
