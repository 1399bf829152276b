"""The names and the header lines of a patch, and what is wrong with them."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["empty", "invalid", "refused", "does_not_apply"]

IN_GIT = "it enters a .git folder"
LINK, SUBMODULE = 0o120000, 0o160000
_ESCAPES = {ord(k): v for k, v in zip('abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True)}
_INVISIBLE = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))


class PatchError(Exception):
    """A patch that cannot be used, and where it is wrong. A value of the agent or the author, not a bug.

    kind "empty": no bytes but white space. "invalid": not a whole patch. "refused": it reaches for a place
    that no change may touch. "does_not_apply": whole, but not a change of this tree.
    """

    def __init__(self, kind: Kind, message: str, file: str | None = None, hunk: int | None = None) -> None:
        self.kind: Kind = kind
        self.message = message
        self.file = file
        """The path, for people; None when the patch as a whole is meant."""
        self.hunk = hunk
        """1-based, within the file."""
        place = f"hunk {hunk} of {file}: " if file and hunk else f"{file}: " if file else ""
        if file and message.endswith(file):
            place = ""
        super().__init__(place + message)

    @property
    def end(self) -> str:
        """The record's word: change_empty, change_invalid, change_refused, change_does_not_apply."""
        return f"change_{self.kind}"


def show(path: bytes) -> str:
    """A path for people and records: UTF-8, with other bytes as `\\xNN`."""
    return path.decode("utf-8", "backslashreplace")


LONGEST_NAME = 255


def unsafe(path: bytes) -> str | None:
    """Why no patch may touch this path; None when it may.

    >>> unsafe(b"src/m.py")
    >>> unsafe(b"../x")
    'it leaves the tree'
    >>> unsafe(b"sub/.GIT/config")
    'it enters a .git folder'
    """
    if path.startswith(b"/"):
        return "it is absolute"
    parts = path.split(b"/")
    if b".." in parts:
        return "it leaves the tree"
    if any(p in (b"", b".") for p in parts) or b"\0" in path:
        return "it is not a plain path"
    if any(len(p) > LONGEST_NAME for p in parts):
        return f"it has a name longer than {LONGEST_NAME} bytes, which no file system takes"
    if any(_is_git_folder(p) for p in re.split(rb"[/\\]", path)):
        return IN_GIT
    return None


def _is_git_folder(part: bytes) -> bool:
    """`.git` in any spelling that some file system takes for it."""
    name = part.decode("utf-8", "replace").translate(_INVISIBLE).partition(":")[0].rstrip(" .").lower()
    return name in (".git", "git~1")


class Header:
    """The extended header of one `diff --git` part."""

    def __init__(self, common: bytes | None) -> None:
        self.old = self.new = common
        self.common = common
        self.old_mode: int | None = None
        self.new_mode: int | None = None
        self.created = self.deleted = self.copied = self.moved = False
        self.sides: dict[str, bytes | None] = {}
        self.whole = False
        """Set by the `+++` line: hunks follow."""

    def take(self, line: bytes) -> bool:
        """Whether the line belongs to the header."""
        for prefix, handle in _HEADER_LINES:
            if line.startswith(prefix):
                handle(self, line[len(prefix) :])
                return True
        return False

    def old_side(self, rest: bytes) -> None:
        self.sides["old"] = plain_name(rest)

    def new_side(self, rest: bytes) -> None:
        self.sides["new"] = plain_name(rest)
        self.whole = True

    def set_old_mode(self, rest: bytes) -> None:
        self.old_mode = self._mode(rest)

    def set_new_mode(self, rest: bytes) -> None:
        self.new_mode = self._mode(rest)

    def create(self, rest: bytes) -> None:
        self.created, self.new_mode = True, self._mode(rest)

    def delete(self, rest: bytes) -> None:
        self.deleted, self.old_mode = True, self._mode(rest)

    def move_from(self, rest: bytes) -> None:
        self.old, self.moved = _checked(_unquoted(rest), rest), True

    def move_to(self, rest: bytes) -> None:
        self.new, self.moved = _checked(_unquoted(rest), rest), True

    def copy_from(self, rest: bytes) -> None:
        self.move_from(rest)
        self.copied = True

    def index(self, rest: bytes) -> None:
        mode = rest.rpartition(b" ")[2] if b" " in rest else b""
        if mode:
            self._mode(mode)

    def ignore(self, rest: bytes) -> None:
        pass

    def _mode(self, text: bytes) -> int:
        try:
            mode = int(text.strip(), 8)
        except ValueError:
            raise PatchError("invalid", f"{show(text)!r} is not a file mode", self.name) from None
        if mode == SUBMODULE:
            message = f"it moves the submodule {self.name}; submodules are not supported"
            raise PatchError("invalid", message, self.name)
        if mode & 0o170000 != 0o100000 and mode not in (LINK,):
            raise PatchError("invalid", f"file mode {mode:o} is not supported", self.name)
        return mode

    @property
    def says_something(self) -> bool:
        return self.created or self.deleted or self.moved or self.new_mode is not None

    @property
    def name(self) -> str:
        for candidate in (self.new, self.old, *self.sides.values()):
            if candidate is not None:
                return show(candidate)
        return "(no name)"

    def paths(self) -> tuple[bytes | None, bytes | None]:
        """(before, after); None on the side where the file is absent."""
        if not self.moved:
            # Without a name that both halves of the first line share, git believes each side by itself.
            old, new = self.sides.get("old"), self.sides.get("new")
            self.old, self.new = old or new or self.common, new or old or self.common
        if self.old is None or self.new is None:
            raise PatchError("invalid", "a 'diff --git' header names no file")
        self._refuse_a_file_called_dev_null()
        return (None if self.created else self.old), (None if self.deleted else self.new)

    def _refuse_a_file_called_dev_null(self) -> None:
        """Without the header's word for it, git takes /dev/null for the path dev/null."""
        for side, told, words in (
            ("old", self.created, "new file mode 100644"),
            ("new", self.deleted, "deleted file mode 100644"),
        ):
            if self.sides.get(side, b"") is None and not told:
                message = f"/dev/null stands there without the line {words!r} above it"
                raise PatchError("invalid", message, self.name)


_HEADER_LINES = (
    (b"--- ", Header.old_side),
    (b"+++ ", Header.new_side),
    (b"old mode ", Header.set_old_mode),
    (b"new mode ", Header.set_new_mode),
    (b"new file mode ", Header.create),
    (b"deleted file mode ", Header.delete),
    (b"rename from ", Header.move_from),
    (b"rename to ", Header.move_to),
    (b"copy from ", Header.copy_from),
    (b"copy to ", Header.move_to),
    (b"similarity index ", Header.ignore),
    (b"dissimilarity index ", Header.ignore),
    (b"index ", Header.index),
)


def plain_name(rest: bytes) -> bytes | None:
    """The path on a `---` or `+++` line, its first folder (a/, b/) taken off; None for /dev/null."""
    # As in git, a tab or a carriage return ends the name; names that hold one are quoted.
    raw = _unquoted(rest) if rest.startswith(b'"') else re.split(rb"[\t\r]", rest, maxsplit=1)[0]
    if raw.rstrip() == b"/dev/null":
        return None
    if raw.startswith(b"/"):
        raise PatchError("refused", "it is absolute", show(raw))
    return _checked(_stripped(raw), raw)


def common_name(rest: bytes) -> bytes | None:
    """The path that both halves of `a/NAME b/NAME` share; None when they differ."""
    if rest.startswith(b'"'):
        end = _closing_quote(rest)
        first, second = _unquoted(rest[: end + 1]), rest[end + 2 :]
        second = _unquoted(second) if second.startswith(b'"') else second
        return _checked(_stripped(first), first) if _stripped(first) == _stripped(second) else None
    if rest.endswith(b'"') and b' "' in rest:
        first, _, second = rest.partition(b' "')
        second = _unquoted(b'"' + second)
        return _checked(_stripped(first), first) if _stripped(first) == _stripped(second) else None
    for match in re.finditer(b" ", rest):
        first, second = rest[: match.start()], rest[match.end() :]
        if _stripped(first) and _stripped(first) == _stripped(second):
            return _checked(_stripped(first), first)
    return None


def _stripped(name: bytes) -> bytes:
    return name.partition(b"/")[2]


def _checked(path: bytes, raw: bytes) -> bytes:
    if not path:
        raise PatchError("invalid", "the name has no folder such as a/ or b/ to take off", show(raw))
    if why := unsafe(path):
        raise PatchError("refused", why, show(path))
    return path


def _closing_quote(text: bytes) -> int:
    at = 1
    while at < len(text):
        if text[at] == ord('"'):
            return at
        at += 2 if text[at] == ord("\\") else 1
    raise PatchError("refused", "the quoted name has no end", show(text))


def _unquoted(text: bytes) -> bytes:
    """A name in C quotes, decoded; a name without them as it is."""
    if not text.startswith(b'"'):
        return text
    out, at, end = bytearray(), 1, _closing_quote(text)
    while at < end:
        if text[at] != ord("\\"):
            out.append(text[at])
            at += 1
        elif (plain := _ESCAPES.get(text[at + 1])) is not None:
            out.append(plain)
            at += 2
        elif re.fullmatch(rb"[0-3][0-7]{2}", text[at + 1 : at + 4]):
            out.append(int(text[at + 1 : at + 4], 8))
            at += 4
        else:
            raise PatchError("refused", "the quoted name has a bad escape", show(text))
    return bytes(out)
