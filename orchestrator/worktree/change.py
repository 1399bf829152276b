"""What the agent changed, as a patch."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from orchestrator.worktree import patches
from orchestrator.worktree.patches import Mend, PatchError
from orchestrator.worktree.trees import FOLDER, LINK, BadName, Node, Put, TreeStore, blob_id
from sandboxes.protocol import Sandbox
from sandboxes.spec import MIB, Entry

CAPTURE_LIMIT = 512 * MIB
"""Bytes of new and changed files that one change may bring."""
LITTER = (b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache", b".hypothesis", b".tox", b".nox",
          b".phpunit.cache", b".phpunit.result.cache", b"node_modules", b".DS_Store")  # fmt: skip
"""Names that tools leave behind. New files below them (and `*.pyc`) are no part of a change."""


@dataclass(frozen=True)
class Change:
    """A patch against the agent's base tree, and nothing else that the agent could have written."""

    patch: bytes = field(repr=False)
    touched: tuple[bytes, ...] = ()
    """Every touched path, decoded, in byte order."""
    mends: tuple[Mend, ...] = ()

    @property
    def empty(self) -> bool:
        return not self.touched

    @property
    def files(self) -> tuple[str, ...]:
        """The touched paths for people and records."""
        return tuple(patches.show(path) for path in self.touched)

    @property
    def mended(self) -> tuple[str, ...]:
        """Names of the repairs ("added_final_newline")."""
        return tuple(mend.name for mend in self.mends)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.patch).hexdigest()

    @classmethod
    def read(cls, patch: bytes) -> Change:
        """A change that comes as a patch. White space alone is an empty change.

        Raises PatchError "invalid" or "refused"; whether it applies is known only when it is applied.
        """
        if not patch.strip():
            return cls(b"")
        parsed = patches.read(patch)
        return cls(parsed.data, parsed.touched, parsed.mends)

    @classmethod
    def capture(cls, store: TreeStore, base: str, sandbox: Sandbox, workdir: str) -> Change:
        """The difference between `base` and what lies in the room's `workdir` now.

        Files of `base` always count. New ones count unless the room's `.gitignore` files or `LITTER` leave
        them out. `.git` is never looked at: the room's own repository proves nothing.
        Raises PatchError "refused" (a name or size that no change may have) and SandboxError.
        """
        try:
            tree = snapshot(store, base, _fit(sandbox.export(workdir)))
        except BadName as bad:
            raise PatchError("refused", str(bad)) from bad
        return cls.read(store.diff(base, tree))


def _fit(entries: Iterator[Entry]) -> Iterator[Entry]:
    """What a room gives out; what nobody could take (a terabyte that is all hole, a path without end) is the
    change's own fault."""
    try:
        yield from entries
    except ValueError as unfit:
        raise PatchError("refused", str(unfit)) from unfit


def snapshot(store: TreeStore, base: str, entries: Iterator[Entry]) -> str:
    """The tree of what `entries` hold, given that most of it is as in `base`. See `Change.capture`."""
    known = store.nodes(base)
    seen: set[bytes] = set()
    rules: dict[bytes, bytes] = {}
    with tempfile.TemporaryFile() as spool:
        found: list[_Found] = []
        for entry in entries:
            parts = entry.path.split(b"/")
            if entry.mode == FOLDER or b".git" in parts:
                continue
            seen.add(entry.path)
            if parts[-1] == b".gitignore" and entry.mode != LINK:
                rules[entry.path] = entry.data
            if known.get(entry.path) == Node(entry.mode, blob_id(entry.data)):
                continue
            if entry.path in known or not _is_litter(parts):
                found.append(_keep(spool, entry))
        ignored = _ignored(store, [f.path for f in found if f.path not in known], rules)
        gone = [Put(path, None) for path in known if path not in seen]
        wanted = [f for f in found if f.path not in ignored]
        if not gone and not wanted:
            return base
        return store.edit(base, (step for part in (gone, _read_back(spool, wanted)) for step in part))


@dataclass(frozen=True)
class _Found:
    """A new or changed file whose bytes wait on disk until the ignore rules are all known."""

    path: bytes
    mode: int
    start: int
    size: int


def _keep(spool: IO[bytes], entry: Entry) -> _Found:
    start = spool.tell()
    if start + len(entry.data) > CAPTURE_LIMIT:
        message = f"the change holds more than {CAPTURE_LIMIT // MIB} MiB of new content"
        raise PatchError("refused", message, patches.show(entry.path))
    spool.write(entry.data)
    return _Found(entry.path, entry.mode, start, len(entry.data))


def _read_back(spool: IO[bytes], wanted: list[_Found]) -> Iterator[Entry]:
    for found in wanted:
        spool.seek(found.start)
        yield Entry(found.path, found.mode, spool.read(found.size))


def _is_litter(parts: list[bytes]) -> bool:
    return parts[-1].endswith(b".pyc") or any(part in LITTER for part in parts)


def _ignored(store: TreeStore, new: list[bytes], rules: dict[bytes, bytes]) -> set[bytes]:
    try:
        return store.ignored(new, rules)
    except subprocess.TimeoutExpired as slow:
        raise PatchError("refused", "its ignore rules take too long to work out", ".gitignore") from slow
