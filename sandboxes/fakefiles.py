"""The fake room's file system: a flat mapping from absolute path to `Entry`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from sandboxes.spec import Entry

FOLDER = 0o040000
LINK = 0o120000


class FakeFiles:
    """Files, links and folders by absolute path (bytes). Links are kept, never followed."""

    def __init__(self) -> None:
        self.entries: dict[bytes, Entry] = {}
        self._read_only: set[bytes] = set()
        self._below: Counter[bytes] = Counter()

    def write(self, entries: Iterable[Entry], target: str, *, read_only: bool = False) -> None:
        """Put entries below `target`, replacing what is there. read_only: the room's user cannot change
        them. Raises ValueError for a path that is absolute, empty or has "." or ".." in it."""
        base = _absolute(target).rstrip(b"/")
        for entry in entries:
            path = base + b"/" + checked(entry.path)
            self._set(path, entry)
            (self._read_only.add if read_only else self._read_only.discard)(path)

    def remove(self, paths: Iterable[bytes], target: str) -> None:
        """Remove entries, or whole folders, given relative to `target`. Missing ones are no error."""
        base = _absolute(target).rstrip(b"/")
        for path in paths:
            self._drop(base + b"/" + checked(path))

    def read(self, path: str, limit: int) -> bytes | None:
        """A regular file's bytes; None when there is none. Raises ValueError above `limit` bytes."""
        entry = self.entries.get(_absolute(path))
        if entry is None or entry.mode in (FOLDER, LINK):
            return None
        if len(entry.data) > limit:
            raise ValueError(f"{path} has {len(entry.data)} bytes, more than {limit}")
        return entry.data

    def export(self, target: str) -> Iterator[Entry]:
        """Everything below `target` in byte order, paths relative to it; only empty folders are named."""
        base = _absolute(target).rstrip(b"/") + b"/"
        for path in sorted(path for path in self.entries if path.startswith(base)):
            entry = self.entries[path]
            if entry.mode != FOLDER or not self._below[path]:
                yield replace(entry, path=path[len(base) :])

    def put(self, path: str, data: bytes, mode: int = 0o100644) -> bool:
        """Write one file as the room's user would; False when that user may not."""
        where = _absolute(path)
        if where in self._read_only:
            return False
        self._set(where, Entry(where[1:], mode, data))
        return True

    def writable(self, path: str) -> bool:
        """Whether the room's user may change or remove what is at `path`."""
        return _absolute(path) not in self._read_only

    def exists(self, path: str) -> bool:
        """Whether there is a file, a link or a folder (named or implied) at `path`."""
        where = _absolute(path)
        return where in self.entries or self._below[where] > 0

    def _set(self, path: bytes, entry: Entry) -> None:
        for parent in _parents(path):
            if parent in self.entries and self.entries[parent].mode != FOLDER:
                self._drop(parent)
        if entry.mode == FOLDER:
            self._forget(path)
        else:
            self._drop(path)
        self.entries[path] = replace(entry, path=path[1:])
        self._below.update(_parents(path))

    def _drop(self, path: bytes) -> None:
        self._forget(path)
        if self._below[path]:
            for other in [other for other in self.entries if other.startswith(path + b"/")]:
                self._forget(other)

    def _forget(self, path: bytes) -> None:
        if self.entries.pop(path, None) is not None:
            self._below.subtract(_parents(path))
        self._read_only.discard(path)


def checked(path: bytes) -> bytes:
    """The path itself when it is a plain relative one; ValueError otherwise."""
    parts = path.split(b"/")
    if b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return path


def _absolute(path: str) -> bytes:
    return b"/" + path.encode("utf-8", "surrogateescape").strip(b"/")


def _parents(path: bytes) -> list[bytes]:
    """The folders above an absolute path, the root left out."""
    parts = path.split(b"/")[1:-1]
    return [b"/" + b"/".join(parts[: depth + 1]) for depth in range(len(parts))]
