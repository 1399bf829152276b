"""A store of trees, and trees in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.worktree.trees import FILE, TreeStore
from sandboxes.spec import Entry


@pytest.fixture
def store(tmp_path: Path) -> TreeStore:
    return TreeStore(tmp_path / "trees")


@pytest.fixture
def tree(store: TreeStore) -> Callable[[Mapping[str, str]], str]:
    """tree({path: text}) -> its id in `store`."""
    return lambda files: store.add(Entry(p.encode(), FILE, t.encode()) for p, t in sorted(files.items()))
