"""Defences around the change, switched off: what it may decide, how it is taken, how it is scored."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from sandboxes.protocol import Sandbox

from .stage import Stage


def nothing_put_back_but_ours(stage: Stage, stack: ExitStack) -> None:
    lone = lambda protected, unprotected, ours, *rest: frozenset(ours).__contains__  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.tasks.states.protection", lone))
    stack.enter_context(mock.patch("orchestrator.tasks.states.put_back_keys", lambda *trees: {}))


def nothing_put_back(stage: Stage, stack: ExitStack) -> None:
    none = lambda *given: lambda path: False  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.tasks.states.protection", none))
    stack.enter_context(mock.patch("orchestrator.tasks.states.put_back_keys", lambda *trees: {}))


def obeyed_config(stage: Stage, stack: ExitStack) -> None:
    nothing_put_back_but_ours(stage, stack)
    stack.enter_context(mock.patch("orchestrator.checks.contest.Contest._put_back", lambda contest: ()))


def naive_patching(stage: Stage, stack: ExitStack) -> None:
    """Lines are written wherever the patch says, links and all."""
    top = stage.folder / "naive"
    tree = top / "tree"
    (tree / ".git" / "hooks").mkdir(parents=True)
    (top / "outside").mkdir()
    before = {path for path in top.rglob("*") if path.is_file()}
    _write_naively(stage.candidate.patch, tree)
    new = {path.resolve() for path in top.rglob("*") if path.is_file()} - before
    stage.escaped = any(tree not in path.parents or ".git" in path.parts for path in new)


def _write_naively(patch: str, tree: Path) -> None:
    place: Path | None = None
    link = False
    for line in patch.splitlines():
        if line.startswith("new file mode"):
            link = line.endswith("120000")
        elif line.startswith("+++ "):
            name = line[4:].removeprefix("b/").strip('"')
            place = tree / name.replace("/outside/", f"{tree.parent}/outside/")
            place.parent.mkdir(parents=True, exist_ok=True)
        elif line.startswith("+") and place is not None:
            if link:
                place.symlink_to(line[1:])
            else:
                place.write_text(line[1:])


def git_in_the_agents_tree(stage: Stage, stack: ExitStack) -> None:
    """The change is taken with git, in a copy of the agent's own repository."""
    from orchestrator.worktree.change import Change

    real = Change.capture

    def capture(store: Any, base: str, sandbox: Sandbox, workdir: str) -> Change:
        top = stage.folder / "captured"
        for entry in sandbox.export(workdir):
            place = top / os.fsdecode(entry.path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode == 0o120000:
                place.symlink_to(os.fsdecode(entry.data))
            elif entry.mode != 0o040000:
                place.write_bytes(entry.data)
                place.chmod(entry.mode & 0o777)
        mark = stage.folder / "captured" / "was-here"
        git = ["git", "-C", str(top), "-c", "safe.directory=*"]
        for words in (["status"], ["diff", "HEAD"]):
            subprocess.run([*git, *words], capture_output=True, env={**os.environ, "HOME": str(top)})
        stage.escaped = mark.exists()
        return real(store, base, sandbox, workdir)

    stack.enter_context(mock.patch.object(Change, "capture", capture))


def plain_prompt(stage: Stage, stack: ExitStack) -> None:
    def plain(question: str, criteria: str, response: str) -> str:
        return f"Question: {question}\nCriteria: {criteria}\nResponse:\n```\n{response}\n```\n"

    stack.enter_context(mock.patch("orchestrator.graders.judge.material", plain))


def loosened(*names: str) -> Callable[[Stage, ExitStack], None]:
    def off(stage: Stage, stack: ExitStack) -> None:
        before = stage.edit

        def edit(check: dict[str, Any]) -> dict[str, Any]:
            made = before(check)
            metadata = made.get("metadata", {})
            allowed = sorted({*metadata.get("allow", ()), *names})
            return made | {"metadata": {**metadata, "allow": allowed}}

        stage.edit = edit

    return off


def no_guard(stage: Stage, stack: ExitStack) -> None:
    loosened("code_lines")(stage, stack)
    before = stage.edit
    stage.edit = lambda check: {k: v for k, v in before(check).items() if k != "guard_command"}
