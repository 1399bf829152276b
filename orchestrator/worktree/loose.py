"""Objects of the store read straight from disk, where git left them loose.

Asking git costs a process; grading one small change asks twice. What is packed, or more than a small change
needs, is left to git: `Elsewhere` says so.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

FOLDER_MODE = 0o040000
MOST = 64
"""Objects read for one answer; beyond that a process is cheaper."""

_HEAD = re.compile(rb"(blob|tree|commit|tag) (\d+)\0")

Item = tuple[int, str]
"""Mode and id of one name in a tree."""


def _content(path: str) -> bytes:
    """What an object's file holds, in as few calls as it takes: a change is graded by a handful of them."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(file, _PIECE):
            pieces.append(piece)
    finally:
        os.close(file)
    return b"".join(pieces)


_PIECE = 1 << 16


class Elsewhere(Exception):
    """The answer is not to be had here: ask git."""


class Loose:
    """Reads for one answer: a fresh one for each question, since it counts what it reads."""

    def __init__(self, repository: Path) -> None:
        self._objects = repository / "objects"
        self._left = MOST

    def blob(self, name: str) -> bytes:
        """A file's bytes. Raises Elsewhere."""
        return self._read(name, b"blob")

    def differences(self, old: str | None, new: str | None, above: bytes = b"") -> Iterator[_Found]:
        """(path, old, new) for what differs between two trees, folders included, in git's own order.

        A name that changes between file and folder is told twice, once for each side, as git does.
        Raises Elsewhere.
        """
        olds, news = self._tree(old), self._tree(new)
        for key in sorted(olds.keys() | news.keys()):
            before, after = olds.get(key), news.get(key)
            if before == after:
                continue
            path = above + key.rstrip(b"/")
            yield path, before, after
            if key.endswith(b"/"):
                below = before[1] if before else None, after[1] if after else None
                yield from self.differences(*below, path + b"/")

    def _tree(self, name: str | None) -> dict[bytes, Item]:
        """A tree's items; the names of folders end in "/", which is how git sorts them."""
        if name is None:
            return {}
        content = self._read(name, b"tree")
        items: dict[bytes, Item] = {}
        at = 0
        while at < len(content):
            end = content.index(b"\0", at)
            mode_text, _, base = content[at:end].partition(b" ")
            mode = int(mode_text, 8)
            key = base + b"/" if mode == FOLDER_MODE else base
            items[key] = mode, content[end + 1 : end + 21].hex()
            at = end + 21
        return items

    def _read(self, name: str, kind: bytes) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise Elsewhere
        try:
            data = zlib.decompress(_content(f"{self._objects}/{name[:2]}/{name[2:]}"))
        except (OSError, zlib.error):
            raise Elsewhere from None
        head = _HEAD.match(data)
        if head is None or head[1] != kind or len(data) - head.end() != int(head[2]):
            raise Elsewhere
        return data[head.end() :]


_Found = tuple[bytes, Item | None, Item | None]
