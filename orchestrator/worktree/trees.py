"""The states of a task, kept as git trees on the host.

A bare repository under the state root. There is no work tree, no hook and no configuration but ours, so a
state's bytes, modes and links are exactly what was put in, whatever the machine is set up to do. A tree's id
is its content's digest.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.contract import ChangedFile
from orchestrator.worktree import patches
from orchestrator.worktree.gitproc import EMPTY_TREE as EMPTY_TREE
from orchestrator.worktree.gitproc import Repository
from orchestrator.worktree.loose import Elsewhere, Item, Loose
from sandboxes.spec import Entry

FILE, EXECUTABLE, LINK, FOLDER = 0o100644, 0o100755, 0o120000, 0o040000

COMPARISONS_KEPT = 8
"""Comparisons of two trees that a store remembers."""

_NOTHING = "0" * 40


class BadName(ValueError):
    """An entry that no tree can hold (an absolute path, "..", ".git", a strange mode)."""


@dataclass(frozen=True)
class Node:
    """One path in a tree."""

    mode: int
    id: str


@dataclass(frozen=True)
class Difference:
    """One path that differs between two trees; None on the side where it is absent."""

    path: bytes
    old: Node | None
    new: Node | None
    old_path: bytes | None = None
    """Set when rename detection was asked for and found one."""


@dataclass(frozen=True)
class Put:
    """One step of `TreeStore.edit`: a blob held already goes to `path`; without a node, `path` goes."""

    path: bytes
    node: Node | None


class TreeStore:
    """Trees in one bare repository. Safe for many threads and processes at once."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made on first use. One store may be shared by every task."""
        self.folder = folder.absolute()
        self.repository = Repository(self.folder)
        self._comparisons: dict[tuple[str, str, bool], tuple[Difference, ...]] = {}
        self._lock = threading.Lock()

    # Writing ------------------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry]) -> str:
        """The id of a tree with exactly these files and links; folders exist through what is in them.
        Raises BadName."""
        return self.edit(None, entries)

    def put(self, tree: str, entries: Iterable[Entry]) -> str:
        """The id of `tree` with these entries written over it, whatever was there."""
        return self.edit(tree, entries)

    def edit(self, tree: str | None, steps: Iterable[Entry | Put]) -> str:
        """The id of `tree` after `steps` were carried out in order (a file takes the place of a folder of its
        name, and the other way round). Raises BadName."""

        def stream() -> Iterator[bytes]:
            ref = b"refs/edit/" + uuid.uuid4().hex.encode()
            yield b"commit %s\ncommitter proctor <> 0 +0000\ndata 0\n" % ref
            if tree not in (None, EMPTY_TREE):
                yield b'M 040000 %s ""\n' % tree.encode()
            for step in steps:
                yield from _import_lines(step)
            yield b'ls ""\nreset %s\nfrom %s\n\ndone\n' % (ref, _NOTHING.encode())

        options = ["--quiet", "--force", "--done", "--date-format=raw"]
        answer = self.repository.feed(["fast-import", *options], stream())
        return EMPTY_TREE if answer.startswith(b"missing") else answer.split()[2].decode()

    def apply(self, tree: str, patch: bytes, *, reverse: bool = False, leave: Iterable[bytes] = ()) -> str:
        """The id of `tree` with `patch` applied: exactly (no fuzz), all of it or none, but for what it says
        about the paths of `leave`. Raises PatchError of every kind, OSError where the machine is full or
        broken, and StoreDamaged; but for the last the store is as before then."""
        parsed = patches.read(patch)
        with self.repository.index(tree) as env:
            options = ["--reverse"] if reverse else []
            options += [f"--exclude={_literal(path)}" for path in leave]
            command = ["apply", "--cached", "--whitespace=nowarn", *options, "-"]
            data = patches.quoted(parsed.data)
            done = self.repository.run(command, data, env, check=False)
            trouble = self.repository.lacking(done.stderr) if done.returncode else None
            # A patch may hold such words in a name, but one that fits is not to blame.
            if trouble and not self.repository.run([*command, "--check"], data, env, check=False).returncode:
                raise trouble
            # git 2.39 says "corrupt binary patch", drops that file and all that follow, and exits 0
            if done.returncode or re.search(rb"^error: ", done.stderr, re.M):
                self._vouch(tree, parsed)
                fault = patches.judged(done.stderr, parsed, reverse)
                raise fault or self.repository.failure(
                    command, done.returncode, done.stderr, wanted=[tree], env=env
                )
            return self.repository.run(["write-tree"], env=env).stdout.decode().strip()

    def _vouch(self, tree: str, patch: patches.Patch) -> None:
        """Raise StoreDamaged unless the files that `patch` names are in `tree` as they were put in: only then
        is it the patch's fault that it does not apply."""
        nodes = self.nodes(tree)
        names = {name for file in patch.files for name in (file.old, file.new) if name in nodes}
        ids = sorted({nodes[name].id for name in names if name is not None})
        for name, data in zip(ids, self.blobs(ids), strict=True):
            if blob_id(data) != name:
                raise self.repository.damaged(f"file {name} has other bytes than were put in")

    def overlay(self, tree: str, base: str, matches: Callable[[bytes], bool]) -> str:
        """The id of `tree` where every path for which `matches` holds is exactly as in `base`: added, put
        back or taken away."""
        back = [Put(d.path, d.old) for d in self.differences(base, tree) if matches(d.path)]
        back.sort(key=lambda step: step.node is not None)
        return self.edit(tree, back) if back else tree

    # Reading ------------------------------------------------------------------------------------------

    def nodes(self, tree: str) -> dict[bytes, Node]:
        """Every file and link below the tree. Submodules are left out."""
        try:
            items = [(path, new) for path, _, new in Loose(self.folder).differences(None, tree) if new]
        except Elsewhere:
            return self._listed(tree)
        return {path: Node(mode, name) for path, (mode, name) in items if mode in (FILE, EXECUTABLE, LINK)}

    def _listed(self, tree: str) -> dict[bytes, Node]:
        """`nodes`, from git itself."""
        found: dict[bytes, Node] = {}
        for record in self.repository.run(["ls-tree", "-r", "-z", "--full-tree", tree]).stdout.split(b"\0")[
            :-1
        ]:
            facts, _, path = record.partition(b"\t")
            mode, kind, name = facts.split(b" ")
            if kind == b"blob":
                found[path] = Node(int(mode, 8), name.decode())
        return found

    def entries(self, tree: str) -> Iterator[Entry]:
        """The tree's files and links with their bytes, one in memory at a time."""
        nodes = self.nodes(tree)
        blobs = self.blobs(node.id for node in nodes.values())
        for (path, node), data in zip(nodes.items(), blobs, strict=True):
            yield Entry(path, node.mode, data)

    def blob(self, tree: str, path: bytes) -> bytes | None:
        """One file's bytes (or a link's target); None when there is none at that path."""
        node = self.nodes(tree).get(path)
        return None if node is None else next(iter(self.blobs([node.id])))

    def file(self, tree: str, path: bytes) -> bytes | None:
        """A regular file's bytes; None when there is none at exactly that path (a link is none)."""
        node = self.nodes(tree).get(path)
        if node is None or node.mode == LINK:
            return None
        return next(iter(self.blobs([node.id])))

    def blobs(self, ids: Iterable[str]) -> Iterator[bytes]:
        """The bytes of each blob, in the order asked."""
        wanted = list(ids)
        try:
            loose = Loose(self.folder)
            held = [loose.blob(name) for name in wanted]
        except Elsewhere:
            yield from self._asked(wanted)
        else:
            yield from held

    def _asked(self, wanted: list[str]) -> Iterator[bytes]:
        """`blobs`, from git itself."""
        with tempfile.TemporaryFile() as questions:
            questions.write("".join(f"{i}\n" for i in wanted).encode())
            questions.seek(0)
            command = ["cat-file", "--batch", "--buffer"]
            with self.repository.stream(command, questions) as answers:
                for name in wanted:
                    head = answers.readline().split()
                    whole = len(head) == 3 and head[1] == b"blob"
                    data = answers.read(int(head[2]) + 1) if whole else b""
                    if not whole or len(data) != int(head[2]) + 1:
                        said = f"the store holds no file {name}: {head!r}".encode()
                        raise self.repository.failure(command, 0, said, wanted=[name])
                    yield data[:-1]

    def differences(
        self, old: str, new: str, *, renames: bool = False, folders: bool = False
    ) -> list[Difference]:
        """Paths that differ, in byte order. `folders` also lists folders that came or went whole."""
        if old == new:
            return []
        whole = self._compared(old, new, renames)
        return list(whole) if folders else [f for d in whole if (f := _without_folders(d))]

    def _compared(self, old: str, new: str, renames: bool) -> tuple[Difference, ...]:
        """Git's comparison. The last few are kept: grading one change asks for the same one several times."""
        question = (old, new, renames)
        known = self._comparisons.get(question)
        if known is None:
            known = self._compare(old, new, renames)
            with self._lock:
                self._comparisons[question] = known
                while len(self._comparisons) > COMPARISONS_KEPT:
                    self._comparisons.pop(next(iter(self._comparisons)))
        return known

    def _compare(self, old: str, new: str, renames: bool) -> tuple[Difference, ...]:
        if not renames:
            try:
                found = list(Loose(self.folder).differences(_unless_empty(old), _unless_empty(new)))
                return tuple(Difference(p, _node(a), _node(b)) for p, a, b in found)
            except Elsewhere:
                pass
        options = ["-r", "-t", "-z", "--raw", "--no-abbrev"]
        options.append("--find-renames" if renames else "--no-renames")
        raw = self.repository.run(["diff-tree", *options, old, new]).stdout
        return tuple(_raw_differences(iter(raw.split(b"\0")[:-1])))

    def diff(self, old: str, new: str, *, readable: bool = False) -> bytes:
        """A patch that makes `new` of `old`, whole and stable: full blob names, binary data, no renames, no
        help from configured tools. `readable`: for those who look for words in it instead: every file as
        text, whatever bytes it holds, and renames found."""
        options = [*_DIFF_OPTIONS, *(["--text", "--find-renames"] if readable else [])]
        return self.repository.run(["diff-tree", "-r", "-p", *options, old, new]).stdout

    def changes(self, old: str, new: str) -> tuple[ChangedFile, ...]:
        """What differs, with both sides' bytes and renames found, for reports and analyzers."""
        found = self.differences(old, new, renames=True)
        ids = sorted({n.id for d in found for n in (d.old, d.new) if n})
        data = dict(zip(ids, self.blobs(ids), strict=True))
        return tuple(_changed_file(d, data) for d in found)

    def ignored(self, paths: Iterable[bytes], rules: Mapping[bytes, bytes]) -> set[bytes]:
        """Those of `paths` that git would ignore, given the bytes of each `.gitignore` file by its path."""
        questions = b"".join(b"./" + p + b"\0" for p in paths)
        if not questions or not rules:
            return set()
        with tempfile.TemporaryDirectory(prefix="proctor-ignore-") as folder:
            for path, data in rules.items():
                place = Path(folder, os.fsdecode(path))
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
            command = ["check-ignore", "--no-index", "-z", "--stdin"]
            done = self.repository.run(command, questions, {"GIT_WORK_TREE": folder}, cwd=folder, check=False)
        if done.returncode not in (0, 1):
            raise self.repository.failure(command, done.returncode, done.stderr)
        return {answer[2:] for answer in done.stdout.split(b"\0")[:-1]}

    def delta(self, old: str, new: str) -> tuple[list[Entry], list[bytes]]:
        """What turns a folder that holds `old` into `new`: remove the second list, then write the first.
        A folder that `new` no longer has is named once."""
        olds: dict[bytes, Node] = {}
        news: dict[bytes, Node] = {}
        for d in self.differences(old, new, folders=True):
            olds.update({d.path: d.old} if d.old else {})
            news.update({d.path: d.new} if d.new else {})
        gone = {p for p, n in olds.items() if p not in news or _kind(news[p]) != _kind(n)}
        removed = sorted(p for p in gone if not any(parent in gone for parent in _parents(p)))
        files = {p: n for p, n in news.items() if n.mode != FOLDER and olds.get(p) != n}
        data = self.blobs(n.id for n in files.values())
        return [Entry(p, n.mode, d) for (p, n), d in zip(files.items(), data, strict=True)], removed


_DIFF_OPTIONS = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
                 "--unified=3", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/")  # fmt: skip


def _literal(path: bytes) -> str:
    """A glob of git's that matches this path alone."""
    return re.sub(r"([*?\[\\])", r"\\\1", os.fsdecode(path))


def blob_id(data: bytes) -> str:
    """The id under which the store holds these bytes.

    >>> blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _import_lines(step: Entry | Put) -> Iterator[bytes]:
    path = _quoted(step.path)
    if isinstance(step, Put):
        if step.node is None:
            yield b"D %s\n" % path
        else:
            yield b"M %06o %s %s\n" % (step.node.mode, step.node.id.encode(), path)
    elif step.mode != FOLDER:
        if step.mode not in (FILE, EXECUTABLE, LINK):
            raise BadName(f"{patches.show(step.path)}: mode {step.mode:o} cannot be kept")
        yield b"M %06o inline %s\ndata %d\n" % (step.mode, path, len(step.data))
        yield step.data
        yield b"\n"


def _quoted(path: bytes) -> bytes:
    """For git's input. Names that only other systems take for `.git` are kept as they are."""
    why = patches.unsafe(path)
    if why and (why != patches.IN_GIT or b".git" in path.lower().split(b"/")):
        raise BadName(f"{patches.show(path)}: {why}")
    return b'"' + re.sub(rb'[\\"]', rb"\\\g<0>", path).replace(b"\n", b"\\n") + b'"'


def _kind(node: Node) -> int:
    return node.mode & 0o170000


def _parents(path: bytes) -> Iterator[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _raw_differences(fields: Iterator[bytes]) -> Iterator[Difference]:
    for facts in fields:
        old_mode, new_mode, old_id, new_id, status = facts.lstrip(b":").split(b" ")
        path = next(fields)
        old = Node(int(old_mode, 8), old_id.decode()) if int(old_mode, 8) else None
        new = Node(int(new_mode, 8), new_id.decode()) if int(new_mode, 8) else None
        if status[:1] in b"RC":
            yield Difference(next(fields), old, new, path)
        else:
            yield Difference(path, old, new)


def _unless_empty(tree: str) -> str | None:
    return None if tree == EMPTY_TREE else tree


def _node(item: Item | None) -> Node | None:
    return None if item is None else Node(*item)


def _without_folders(d: Difference) -> Difference | None:
    """`d` as far as it is about files and links; None when it is about a folder alone."""
    old, new = (None if n is not None and n.mode == FOLDER else n for n in (d.old, d.new))
    if old is d.old and new is d.new:
        return d
    return replace(d, old=old, new=new) if old or new else None


def _changed_file(d: Difference, data: Mapping[str, bytes]) -> ChangedFile:
    before, after = (data[n.id] if n else None for n in (d.old, d.new))
    path, old_path = patches.show(d.path), patches.show(d.old_path) if d.old_path else None
    if d.old is None:
        return ChangedFile(path, None, "added", before, after)
    if d.new is None:
        return ChangedFile(path, None, "deleted", before, after)
    if old_path:
        return ChangedFile(path, old_path, "renamed", before, after)
    return ChangedFile(path, None, "mode" if d.old.id == d.new.id else "modified", before, after)
