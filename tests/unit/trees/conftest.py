"""What the tests of trees share: a store of their own, and the cases' folders as entries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry

DATA = Path(__file__).parents[2] / "data" / "patches"


@pytest.fixture
def store(tmp_path: Path) -> TreeStore:
    return TreeStore(tmp_path / "trees")


@pytest.fixture
def case() -> Callable[[str], Path]:
    return DATA.joinpath


@pytest.fixture
def folder_tree(store: TreeStore) -> Callable[[Path], str]:
    def add(folder: Path) -> str:
        return store.add(_entries(folder))

    return add


def _entries(folder: Path) -> Iterator[Entry]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            mode = 0o100755 if os.access(path, os.X_OK) and path.stat().st_mode & 0o111 else 0o100644
            yield Entry(os.fsencode(path.relative_to(folder)), mode, path.read_bytes())
