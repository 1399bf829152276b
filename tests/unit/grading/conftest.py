"""What the grading tests share: rubrics in a line, and executors that do as told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.checks.target import TargetMatchExecutor
from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.documents.rubric import Rubric, Scoring
from orchestrator.grading import evaluate
from orchestrator.outcomes import Verdict, passed

TEXT = (TextExecutor(), TargetMatchExecutor())


class Stub:
    """Executes one kind with what it was given: an outcome to return or an exception to raise."""

    def __init__(self, kind: str, act: Any = None, needs: frozenset[str] = frozenset()) -> None:
        self.kind, self.act, self.needs, self.calls = kind, act, needs, 0

    def applies(self, check: Mapping[str, Any]) -> bool:
        return check["kind"] == self.kind

    def execute(self, check: Mapping[str, Any], response: str | bytes, context: Context) -> Any:
        self.calls += 1
        if isinstance(self.act, BaseException):
            raise self.act
        return passed(check, "as told") if self.act is None else self.act


@pytest.fixture
def rubric() -> Callable[..., Rubric]:
    def make(*checks: Mapping[str, Any], id: str = "r", version: str = "1.0", **scoring: Any) -> Rubric:
        return Rubric(
            id=id, version=version, checks=checks, scoring=Scoring(**({"combine": "all_pass"} | scoring))
        )

    return make


@pytest.fixture
def grade() -> Callable[..., Verdict]:
    def run(
        rubric: Rubric, response: str | bytes = "", row: Any = None, *, executors: Any = TEXT, **more: Any
    ) -> Verdict:
        return evaluate(rubric, response, row if row is not None else {}, executors, **more)

    return run


@pytest.fixture
def stub() -> type[Stub]:
    return Stub
