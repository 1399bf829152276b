"""One trial of the range before it begins, and what a defence that can be switched off is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import CheckExecutor
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.rubric import Rubric
from orchestrator.testreports import Reporter, built_in
from sandboxes.protocol import Provider

from .corpus import Candidate

Resolve = Callable[[str | None], Rubric | None]


@dataclass
class Stage:
    """One trial, before it begins; a switch changes it."""

    candidate: Candidate
    benchmark: Benchmark
    task: Task
    provider: Provider
    folder: Path
    agent: Any = None
    escaped: bool = False
    wrap: Callable[[Reporter], Reporter] | None = None
    """Around every reader of test reports; None leaves them as they are."""
    reading: bool = True
    """Whether test runners' reports are read at all."""
    edit: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """What becomes of each check of the rubric."""
    tools_kind: Callable[[type[Any]], type[Any]] = lambda kind: kind

    def tools(self, kind: type[Any]) -> type[Any]:
        return self.tools_kind(kind)

    def executors(self, given: Iterable[CheckExecutor]) -> tuple[CheckExecutor, ...]:
        readers = tuple(map(self.wrap, built_in())) if self.wrap else built_in()
        ours = CommandExecutor(readers if self.reading else ())
        return tuple(ours if isinstance(each, CommandExecutor) else each for each in given)

    def rubrics(self, resolve: Resolve) -> Resolve:
        def edited(ref: str | None) -> Rubric | None:
            found = resolve(ref)
            if found is None:
                return None
            return found.model_copy(update={"checks": tuple(self.edit(dict(c)) for c in found.checks)})

        return edited


@dataclass(frozen=True)
class Switch:
    """One defence."""

    title: str
    """What it is, for the table."""
    off: Callable[[Stage, ExitStack], None]
