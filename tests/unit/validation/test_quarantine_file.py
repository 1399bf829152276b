"""quarantine.yaml: what is written is what is read, whatever a reason holds."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.validation import Tally, TaskValidation, Verdict
from orchestrator.loading import load_quarantine, parse_document
from orchestrator.loading.quoting import quoted
from orchestrator.validation.quarantine import update

TALLY = Tally(rounds=1, as_it_must=1, words="")


def told(task: str, verdict: Verdict, why: str = "") -> TaskValidation:
    return TaskValidation(
        task=task, verdict=verdict, why=(why,), before=TALLY, gold=TALLY, noop=TALLY, seconds=0.0
    )


def held(folder: Path) -> dict[str, str]:
    tasks = tuple(Task(id=name) for name in "abc")
    return load_quarantine(Benchmark(id="b", version="1.0", tasks=tasks, root=folder))


def test_unfit_tasks_enter_mended_ones_leave_and_those_not_looked_at_stay(tmp_path: Path) -> None:
    update(tmp_path, {"b": "invalid: was wrong", "c": "flickering: old"}, [told("a", "invalid", 'x: "y"')])
    update(tmp_path, held(tmp_path), [told("b", "valid"), told("c", "unknown")])

    assert held(tmp_path) == {"a": 'invalid: x: "y"', "c": "flickering: old"}


def test_a_slow_task_is_not_kept_apart(tmp_path: Path) -> None:
    assert update(tmp_path, {}, [told("a", "slow", "near its limit")]) is None
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_reads_back_as_it_was(text: str) -> None:
    assert parse_document(f"x: {quoted(text)}\n", "t.yaml").data == {"x": text}
