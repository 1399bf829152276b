"""Answers kept on disk by what was asked, so that fetching and preparing is done once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from orchestrator.worktree.trees import TreeStore


class Memo:
    """Kept inside the tree store's folder: answers name trees, so both live and go together."""

    def __init__(self, store: TreeStore) -> None:
        self._folder = store.folder / "answers"
        self._store = store

    def get(self, question: Any, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The answer to `question` (plain JSON values), worked out by the first who asks; other threads and
        processes wait for it. What `work` raises is not kept."""
        key = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        path = self._folder / f"{key}.json"
        self._store.repository.made()  # answers name trees: what is no store any more has none
        if (known := _read(path)) is not None:
            return known
        with self._alone(key):
            if (known := _read(path)) is not None:
                return known
            answer = work()
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(answer), encoding="utf-8")
            part.replace(path)
            return answer

    @contextlib.contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        self._folder.mkdir(exist_ok=True)
        lock = self._folder / f"{key}.lock"
        with lock.open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _read(path: Path) -> dict[str, Any] | None:
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None
