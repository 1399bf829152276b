"""What the tests of check executors share: one check in a line, and judges over real trees and fake rooms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.contract import CheckExecutor, Context
from orchestrator.evidence import RoomJudge
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import TreeStore
from sandboxes.fake import FakeProvider
from sandboxes.spec import Entry, RoomSpec

Files = Mapping[str, str | bytes]


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., RoomJudge]:
    """judge(before, after, script=None): both states as {path: content}."""

    def make(before: Files, after: Files, script: Any = None, **more: Any) -> RoomJudge:
        store = TreeStore(tmp_path / "trees")
        old, new = store.add(_entries(before)), store.add(_entries(after))
        return RoomJudge(
            provider=more.pop("provider", None) or FakeProvider(script=script),
            room=RoomSpec(),
            trees=store,
            judge_tree=old,
            graded_tree=new,
            changes=lambda: store.changes(old, new),
            **more,
        )

    return make


@pytest.fixture
def run() -> Callable[..., CheckOutcome]:
    """run(executor, check, response, **Context arguments)."""

    def execute(
        executor: CheckExecutor, check: Mapping[str, Any], response: str | bytes = "", **context: Any
    ) -> CheckOutcome:
        assert executor.applies(check)
        return executor.execute(check, response, Context(**context))

    return execute


def _entries(files: Files) -> list[Entry]:
    return [
        Entry(p.encode(), 0o100644, text if isinstance(text, bytes) else text.encode())
        for p, text in files.items()
    ]
