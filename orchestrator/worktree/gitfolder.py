"""A fresh `.git` for the agent's room: one commit of the state it is given, and no other history."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from orchestrator.worktree.change import LITTER
from orchestrator.worktree.gitproc import Repository
from orchestrator.worktree.trees import FILE, TreeStore
from sandboxes.spec import Entry

VERSION = 1
"""Raised when the same tree gives another folder."""
_COMMIT = """\
tree {tree}
author proctor <proctor@localhost> 946684800 +0000
committer proctor <proctor@localhost> 946684800 +0000

The state to start from
"""
_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[user]
\tname = candidate
\temail = candidate@localhost
"""


def git_folder(store: TreeStore, tree: str) -> Iterator[Entry]:
    """The entries of `.git` for a work tree that holds `tree`: branch main, one commit, no remotes, and
    nothing in its objects but that tree."""
    git = store.repository
    commit = git.run(["hash-object", "-t", "commit", "-w", "--stdin"], _COMMIT.format(tree=tree).encode())
    name = commit.stdout.decode().strip()
    pack = git.run(
        ["pack-objects", "--stdout", "--revs", "--threads=1", "--quiet"], f"{name}\n".encode()
    ).stdout
    yield from _text(
        ("HEAD", "ref: refs/heads/main\n"),
        ("config", _CONFIG),
        ("refs/heads/main", name + "\n"),
        ("info/exclude", "".join(f"{word.decode()}\n" for word in (*LITTER, b"*.pyc"))),
    )
    yield from _binary(store, tree, pack)


def _binary(store: TreeStore, tree: str, pack: bytes) -> Iterator[Entry]:
    with tempfile.TemporaryDirectory(prefix="proctor-git-") as folder:
        fresh = Repository(Path(folder) / "git")
        fresh.run(["index-pack", "--stdin"], pack)
        for path in sorted((fresh.folder / "objects" / "pack").iterdir()):
            if path.suffix in (".pack", ".idx"):
                yield Entry(b".git/objects/pack/" + path.name.encode(), FILE, path.read_bytes())
        with store.repository.index(tree) as env:
            index = Path(env["GIT_INDEX_FILE"])
            if index.exists():
                yield Entry(b".git/index", FILE, index.read_bytes())


def _text(*files: tuple[str, str]) -> Iterator[Entry]:
    for name, text in files:
        yield Entry(b".git/" + name.encode(), FILE, text.encode())
