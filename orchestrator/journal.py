"""A file of lines that survives a crash: whole lines only, in the order they were added.

A line is one write to a file opened for appending, so a killed process loses none that was added. What a
power cut may take is bounded by `SYNC_AFTER`. Lines end with b"\\n" and nothing else: U+2028, U+0085 and
"\\r" inside one belong to it (B127).
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from orchestrator.errors import AuthoringError, Problem
from orchestrator.regular import NotRegular, open_regular

SYNC_AFTER = 0.1
"""Seconds a line may wait before it is forced to the disk, together with those that came meanwhile."""
_CHUNK = 1 << 20


class JournalFailed(OSError):
    """The disk took no more (full, read-only, gone): nothing half-written is left behind.

    errno, strerror and filename are set. Nobody's score: free the disk, then resume.
    """

    advice = "what was recorded before is kept, --resume goes on from there"


class JournalGone(JournalFailed):
    """The file, or the folder it lay in, was removed or moved away while it was written to."""

    advice = "what this run recorded is not there; start it again, and leave its folder alone until it ends"

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ENOENT, "was removed or moved away while the run wrote to it", str(path))


class Journal:
    """Appends lines to one file. Thread-safe; one open writer per file (the run's lock sees to that).

    Opening makes the file when it is missing and moves a torn last line aside, into "<stem>.torn" beside
    it, so that the next line does not stick to it (B126). `torn` holds those bytes (empty: none).
    """

    def __init__(self, path: Path, *, sync_after: float = SYNC_AFTER) -> None:
        self.path = path
        self.torn = mend(path)
        self._fd = open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._counted = os.fstat(self._fd).st_nlink > 0  # some file systems count no links
        self._sync_after = sync_after
        self._lock = threading.Condition()
        self._unsynced = False
        self._closed = False
        self._failure: JournalFailed | None = None
        self._syncer = threading.Thread(target=self._keep_syncing, name="journal", daemon=True)
        self._syncer.start()

    def append(self, line: bytes) -> None:
        """Add one line (without its end). When this returns, killing the process does not lose it.

        Raises JournalFailed when it could not be written whole; the file is then as before. ValueError
        when `line` holds a line end, or the journal is closed.
        """
        if b"\n" in line:
            raise ValueError("a journal's line cannot hold a line end")
        with self._lock:
            if self._closed:
                raise ValueError(f"{self.path} is closed")
            if self._failure is not None:
                raise self._failure
            self._write_whole(line + b"\n")
            if not self._unsynced:
                self._unsynced = True
                self._lock.notify_all()

    def close(self) -> None:
        """Force everything to the disk and end the helper thread. Idempotent. Raises JournalFailed."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._lock.notify_all()
        self._syncer.join()
        try:
            self._failure = self._failure or self._settled(self._unsynced)
        finally:
            os.close(self._fd)
        if self._failure is not None:
            raise self._failure

    def _write_whole(self, data: bytes) -> None:
        written = 0
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
            raise self._failed(error) from error

    def _keep_syncing(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._unsynced or self._closed)
                if self._lock.wait_for(lambda: self._closed, timeout=self._sync_after / 2):
                    return
                self._unsynced = False
            failure = self._settled(True)
            if failure is not None:
                # A page the kernel failed to write is dropped: only a new open could tell (fsyncgate).
                with self._lock:
                    self._failure = failure
                    self._unsynced = False

    def _settled(self, unsynced: bool) -> JournalFailed | None:
        """Force what was added to the disk; and look whether the file is still where readers find it, as
        writing to a removed one works like any other."""
        try:
            if unsynced:
                os.fdatasync(self._fd)
            if self._counted and os.fstat(self._fd).st_nlink == 0:
                return JournalGone(self.path)
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return JournalGone(self.path)
        except OSError as error:
            return self._failed(error)
        return None

    def _failed(self, error: OSError) -> JournalFailed:
        return JournalFailed(error.errno, error.strerror, str(self.path))


def lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Each line with its 1-based number, and whether it is whole (only the last one can be torn).

    Holds one line at a time. A missing file has none. Raises AuthoringError where it is no file of lines.
    """
    try:
        descriptor = open_regular(path)
    except FileNotFoundError:
        return
    except NotRegular as error:
        raise AuthoringError(Problem(str(path), 0, "", str(error.strerror), "move it away")) from None
    with open(descriptor, "rb") as file:  # noqa: PTH123 a descriptor
        # Iterating a file opened in binary splits on b"\n" only.
        for number, line in enumerate(file, 1):
            yield number, line.removesuffix(b"\n"), line.endswith(b"\n")


def mend(path: Path) -> bytes:
    """Cut a torn last line off `path`, after saving it in "<stem>.torn". Returns it, or b"".

    Whole lines are never touched. A line that is missing nothing but its end is torn as well: who wrote it
    never learned that it was kept.
    """
    try:
        descriptor = open_regular(path, os.O_RDWR)
    except FileNotFoundError:
        return b""
    with open(descriptor, "r+b") as file:  # noqa: PTH123 a descriptor
        size = file.seek(0, os.SEEK_END)
        keep = _whole_bytes(file.fileno(), size)
        if keep == size:
            return b""
        torn = os.pread(file.fileno(), size - keep, keep)
        apart = open_regular(path.with_suffix(".torn"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        with open(apart, "ab") as aside:  # noqa: PTH123 a descriptor
            aside.write(torn + b"\n")
            aside.flush()
            os.fsync(aside.fileno())
        file.truncate(keep)
        os.fsync(file.fileno())
    return torn


def _whole_bytes(fd: int, size: int) -> int:
    """Where the last whole line ends, looking from the back."""
    end = size
    while end > 0:
        start = max(0, end - _CHUNK)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
