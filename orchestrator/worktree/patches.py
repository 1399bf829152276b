"""What a patch says it will do, read without applying it.

Git stays the judge of whether a patch applies (`trees.TreeStore.apply`). This reader comes first: it names
the touched paths, counts the hunks, and refuses what must never reach a tree (C-7; field kinds: lost final
newline, cut context, quoted names, binary stubs, escapes, submodules).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from orchestrator.worktree.patchtext import (
    IN_GIT,
    LINK,
    Header,
    Kind,
    PatchError,
    common_name,
    plain_name,
    show,
    unsafe,
)

__all__ = ["IN_GIT", "FilePatch", "Kind", "Mend", "Patch", "PatchError", "judged", "read", "show", "unsafe"]

_AMBIGUOUS = re.compile(rb'^diff --git ([^"\n]* /[^"\n]*)$', re.M)
"""No line of a hunk begins so: each has its mark before it."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Mend:
    """A repair made to a patch, with the SHA-256 of the bytes before and after it."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class FilePatch:
    """One file's part. `old` is None when the file is new, `new` when it is deleted."""

    old: bytes | None
    new: bytes | None
    new_mode: int | None = None
    """What the patch makes of it; None when the mode is not named."""
    hunks: tuple[tuple[int, int], ...] = ()
    """(line in the old file, line in the new file) where each begins."""
    copied: bool = False

    @property
    def paths(self) -> tuple[bytes, ...]:
        """What is touched; a copy leaves its origin alone."""
        names = (self.new,) if self.copied else (self.old, self.new)
        return tuple(dict.fromkeys(n for n in names if n is not None))


@dataclass(frozen=True)
class Patch:
    """A whole patch: its bytes, mended where that was needed, and what it touches."""

    data: bytes = field(repr=False)
    files: tuple[FilePatch, ...]
    mends: tuple[Mend, ...] = ()

    @property
    def touched(self) -> tuple[bytes, ...]:
        """Every touched path, decoded, once, in byte order."""
        return tuple(sorted({path for file in self.files for path in file.paths}))


def read(data: bytes) -> Patch:
    """Read a patch in git's or plain unified form.

    A last line without its newline gets exactly one; no other byte is changed.
    Raises PatchError of kind "empty", "invalid" or "refused".
    """
    if not data.strip():
        raise PatchError("empty", "the patch is empty")
    mends: tuple[Mend, ...] = ()
    if not data.endswith(b"\n"):
        mended = data + b"\n"
        mends = (Mend("added_final_newline", _sha256(data), _sha256(mended)),)
        data = mended
    files = tuple(_Reader(data).files())
    if not files:
        raise PatchError("invalid", "there is no diff in it: no line begins with 'diff --git' or '--- '")
    _refuse_writing_through_links(files)
    return Patch(data, files, mends)


def quoted(data: bytes) -> bytes:
    """The patch for git, which cannot tell from a header alone where a name with " /" in it ends, unless the
    name is quoted: a change of mode, an empty or a binary file has nothing else.

    >>> quoted(b"diff --git a/x /y b/x /y\\nold mode 100644\\n").splitlines()[0]
    b'diff --git "a/x /y" "b/x /y"'
    """
    return _AMBIGUOUS.sub(_requoted, data) if b" /" in data else data


def _requoted(found: re.Match[bytes]) -> bytes:
    names = found[1]
    half = len(names) // 2
    old, new = names[:half], names[half + 1 :]
    if names[half : half + 1] != b" " or old.partition(b"/")[2] != new.partition(b"/")[2]:
        return found[0]
    return b'diff --git "%s" "%s"' % tuple(name.replace(b"\\", b"\\\\") for name in (old, new))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse_writing_through_links(files: tuple[FilePatch, ...]) -> None:
    links = {f.new for f in files if f.new_mode == LINK and f.new is not None}
    for file in files:
        parts = file.new.split(b"/") if file.new is not None else []
        for depth in range(1, len(parts)):
            if b"/".join(parts[:depth]) in links:
                link = show(b"/".join(parts[:depth]))
                raise PatchError("refused", f"it goes through the link {link}", show(file.new or b""))


class _Reader:
    """Walks the lines once; `at` is the next line."""

    def __init__(self, data: bytes) -> None:
        self.lines = data.split(b"\n")[:-1]
        self.at = 0

    def files(self) -> Iterator[FilePatch]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith(b"diff --git "):
                yield self._git_file()
            elif line.startswith((b"diff --cc ", b"diff --combined ")):
                name = show(line.split(b" ", 2)[2])
                raise PatchError("invalid", "a combined diff of a merge cannot be applied", name)
            elif self._begins_plain_file():
                yield self._plain_file()
            elif _HUNK.match(line):
                raise PatchError("invalid", f"line {self.at + 1}: a hunk without a file header before it")
            elif line.startswith(b"Binary files ") and line.endswith(b" differ"):
                raise PatchError("invalid", f"binary change without data: {show(line[13:-7])}")
            else:
                self.at += 1

    def _line(self, ahead: int = 0) -> bytes:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else b""

    def _begins_plain_file(self) -> bool:
        marks = self._line().startswith(b"--- ") and self._line(1).startswith(b"+++ ")
        return marks and _HUNK.match(self._line(2)) is not None

    def _git_file(self) -> FilePatch:
        header = Header(common_name(self._line()[len(b"diff --git ") :]))
        self.at += 1
        while not header.whole and self.at < len(self.lines) and header.take(self._line()):
            self.at += 1
        name = header.name
        hunks: tuple[tuple[int, int], ...] = ()
        binary = self._line() == b"GIT binary patch"
        if self._line().startswith(b"Binary files ") and self._line().endswith(b" differ"):
            raise PatchError("invalid", f"binary change without data: {name}", name)
        if binary:
            self._binary(name)
        else:
            hunks = self._hunks(name)
        if not (hunks or binary or header.says_something):
            raise PatchError("invalid", "the header is followed by no change", name)
        old, new = header.paths()
        return FilePatch(old, new, header.new_mode, hunks, header.copied)

    def _plain_file(self) -> FilePatch:
        old, new = plain_name(self._line()[4:]), plain_name(self._line(1)[4:])
        self.at += 2
        if old is None and new is None:
            raise PatchError("invalid", f"line {self.at}: neither side names a file")
        if old is not None and new is not None:
            # as git does: the new name, or the old one where the new is that and more (x.py and x.py.orig)
            old = new = old if new.startswith(old) else new
        name = new if new is not None else old
        return FilePatch(old, new, None, self._hunks(show(name or b"")))

    def _hunks(self, name: str) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        while match := _HUNK.match(self._line()):
            self.at += 1
            want_old, want_new = (int(match[g]) if match[g] is not None else 1 for g in (2, 4))
            self._body(name, len(found) + 1, want_old, want_new)
            found.append((int(match[1]), int(match[3])))
        return tuple(found)

    def _body(self, name: str, hunk: int, want_old: int, want_new: int) -> None:
        old = new = 0
        while self.at < len(self.lines) and (old < want_old or new < want_new):
            mark = self._line()[:1]
            if mark not in (b" ", b"-", b"+", b"\\", b""):
                break
            old += mark in (b" ", b"-", b"")
            new += mark in (b" ", b"+", b"")
            self.at += 1
        while self._line().startswith(b"\\"):
            self.at += 1
        if _is_surplus(self._line()):
            sign = self._line()[:1]
            old, new = old + (sign == b"-"), new + (sign == b"+")
        for side, want, got in (("old", want_old, old), ("new", want_new, new)):
            if want != got:
                more = " or more" if got > want else ""
                counts = f"header says {want} {side} lines, body has {got}{more}"
                raise PatchError("invalid", counts, name, hunk)

    def _binary(self, name: str) -> None:
        """One or two blocks, each ended by an empty line; git checks what is in them."""
        self.at += 1
        blocks = 0
        while blocks < 2 and self._line().startswith((b"literal ", b"delta ")):
            self.at += 1
            while self._line():
                self.at += 1
            if self.at >= len(self.lines):
                raise PatchError("invalid", "its binary data ends early", name)
            self.at += 1
            blocks += 1
        if not blocks:
            raise PatchError("invalid", f"binary change without data: {name}", name)


def _is_surplus(line: bytes) -> bool:
    """A changed line after the hunk is full: git would drop it in silence.
    (`-- ` alone is a mail's signature; `--- ` begins the next file.)"""
    return line[:1] == b"+" or (line[:1] == b"-" and line != b"-- " and not line.startswith(b"--- "))


_FAILED = re.compile(r"^error: patch failed: (?P<file>(?s:.*?)):(?P<line>\d+)$", re.M)
_THROUGH = re.compile(r"^error: affected file '(?P<file>(?s:.*?))' is beyond a symbolic link$", re.M)
_UNUSABLE = re.compile(
    r"corrupt|without full index line|garbage|lacks|fragment without header|No valid patches|inconsistent"
    r"|unrecognized|bad git-diff"
)
_NAMED = re.compile(r"^error: (?P<file>.+?): (?P<what>[^:]+)$", re.M)


_OF_PATCHES = re.compile(
    r"^error: (git apply: bad git-diff|invalid mode on line|inconsistent header lines|recount: "
    r"|patch failed: |(unable to find|git diff header lacks) filename|patch fragment without header"
    r"|corrupt (binary )?patch|unrecognized (binary patch|input)|patch with only garbage|No valid patches"
    r"|new file (?s:.*) depends on old|deleted file (?s:.*) still has|new mode \(|missing binary patch data"
    r"|path (?s:.*) has been renamed|cannot (reverse-apply a|apply) binary patch|the patch applies to "
    r"|binary patch (does not apply )?to |affected file '|reading from '|invalid path '"
    r"|unable to add cache entry"
    r"|(?s:.*): (patch does not apply|wrong type|already exists in |does not (match|exist in) index))",
    re.M,
)
"""How git 2.30 to 2.50 begins to say that a patch is to blame. All else it says speaks of the repository, the
machine or itself. Names that hold such words do no harm: a patch that is not to blame applies."""


def judged(stderr: bytes, patch: Patch, reverse: bool) -> PatchError | None:
    """Git's words as one of ours, with the file and the hunk; None where it blames something else than the
    patch."""
    text = stderr.decode("utf-8", "replace").strip()
    if not _OF_PATCHES.search(text):
        return None
    first = next((line.removeprefix("error: ") for line in text.splitlines()), "git says nothing")
    if through := _THROUGH.search(text):
        return PatchError("refused", "it goes through a link", through["file"])
    if "invalid path" in text:
        return PatchError("refused", first)
    if failed := _FAILED.search(text):
        return PatchError("does_not_apply", "the tree has other lines there", failed["file"],
                          _hunk_at(patch, failed["file"], int(failed["line"]), reverse))  # fmt: skip
    if _UNUSABLE.search(text):
        return PatchError("invalid", first)
    if named := _NAMED.search(text):
        return PatchError("does_not_apply", named["what"], named["file"])
    return PatchError("does_not_apply", first)


def _hunk_at(patch: Patch, file: str, line: int, reverse: bool) -> int | None:
    for part in patch.files:
        if file in [show(p) for p in (part.old, part.new) if p is not None]:
            starts = [hunk[1 if reverse else 0] for hunk in part.hunks]
            return starts.index(line) + 1 if line in starts else None
    return None
