"""Text checks are quick. The bounds are a fifth of the figures aimed at, for busy machines (see bench/)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Check, Context
from orchestrator.documents.rubric import Rubric
from orchestrator.grading import evaluate
from orchestrator.loading import load_rubric

SMALL = ("The quick brown fox jumps over the lazy dog. " * 50)[:2_000]
LARGE = ("The quick brown fox jumps over the lazy dog. " * 500)[:20_000]
CONTAINS = {"kind": "must_contain_any", "values": ["apologies", "sorry", "lazy DOG"]}
REGEX = {"kind": "regex", "patterns": [r"\bjumps\s+over\b"], "flags": "i"}


def seconds(work: Callable[[], object]) -> float:
    """The best of three, on this thread's own clock."""
    times = []
    for _ in range(3):
        began = time.thread_time()
        work()
        times.append(time.thread_time() - began)
    return min(times)


@pytest.mark.parametrize(("check", "rate"), [(CONTAINS, 100_000), (REGEX, 20_000)], ids=["contains", "regex"])
def test_checks_a_second(check: Check, rate: int) -> None:
    executor, context = TextExecutor(), Context()
    responses = [f"{SMALL} {n}" for n in range(20)]

    def work() -> None:
        for response in responses:
            for _ in range(50):
                executor.execute(check, response, context)

    assert 1_000 / seconds(work) > rate / 5


def test_a_rubric_of_twenty_text_checks() -> None:
    checks = [{**(CONTAINS if n % 2 else REGEX), "id": f"c{n}"} for n in range(20)]
    rubric = Rubric.model_validate(
        {"id": "r", "version": "1.0", "checks": checks, "scoring": {"combine": "all_pass"}}
    )
    executors = [TextExecutor()]
    number = iter(range(10))

    assert seconds(lambda: evaluate(rubric, f"{LARGE}{next(number)}", {}, executors)) < 0.010


def test_loading_rubrics(tmp_path: Path) -> None:
    text = "".join(
        f"  - id: c{n}\n    kind: must_contain_any\n    values: [alpha, beta, gamma]\n" for n in range(5)
    )
    for n in range(50):
        (tmp_path / f"{n}.yaml").write_text(
            f'id: r{n}\nversion: "1.0"\nchecks:\n{text}scoring:\n  combine: weighted_avg\n  threshold: 0.5\n'
        )

    assert seconds(lambda: [load_rubric(file) for file in tmp_path.iterdir()]) < 5 * 50 * 0.003
