"""The benchmark of real fixes: facts only, whole, and pinned."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.documents.benchmark import Benchmark, DebianSource, ReleasePairSource, Task
from orchestrator.loading import load_benchmark
from orchestrator.tasks.states import graded, prepare, warnings
from orchestrator.worktree.change import Change

FOLDER = Path(__file__).parents[3] / "benchmarks" / "real_fixes"


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    return load_benchmark(FOLDER)


def test_every_task_names_two_states_their_hashes_and_both_lists(benchmark: Benchmark) -> None:
    kinds = Counter(_kind(task) for task in benchmark.tasks)
    assert kinds == {"pypi": 20, "npm": 3, "debian": 3}
    for task in benchmark.tasks:
        assert task.expected["fail_to_pass"] and task.expected["pass_to_pass"]
        assert not set(task.expected["fail_to_pass"]) & set(task.expected["pass_to_pass"])
        assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in task.dependencies.pip)
        assert all(re.fullmatch(r"(?:@[\w-]+/)?[\w.-]+@[\w.-]+", pin) for pin in task.dependencies.npm)


def _kind(task: Task) -> str:
    if isinstance(task.source, DebianSource):
        assert {len(sha256) for sha256 in task.source.sha256.values()} == {64}
        assert task.source.revert
        return "debian"
    assert isinstance(task.source, ReleasePairSource)
    assert re.fullmatch("[0-9a-f]{64}", task.source.sha256.fixed)
    assert re.fullmatch("[0-9a-f]{64}", task.source.sha256.broken)
    assert task.source.fixed != task.source.broken
    return task.source.ecosystem


def test_no_code_of_a_package_lies_in_the_benchmark() -> None:
    kinds = {path.suffix for path in FOLDER.rglob("*") if path.is_file()}

    assert kinds == {".yaml", ".md", ".php"}
    assert [path.name for path in FOLDER.rglob("*.php")] == ["twig_autoload.php"]


@pytest.mark.network
@pytest.mark.parametrize(
    "name", ["xmltodict-1.0.2", "jsonschema-4.10.3", "npm-safe-regex2-5.1.1", "deb-cjson-0001-0"]
)
def test_gold_is_the_difference_of_the_releases_and_touches_nothing_protected(
    benchmark: Benchmark, name: str, tmp_path: Path
) -> None:
    task = next(t for t in benchmark.tasks if t.id == name)

    state = prepare(task, benchmark, tmp_path)

    assert state.gold is not None
    assert graded(state, Change.read(state.gold)).tree == state.fixed_tree
    assert warnings(state) == ()
