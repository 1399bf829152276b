from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

from orchestrator.cli.live import Board, Lines
from orchestrator.documents.record import TrialRecord
from orchestrator.plan import Plan


def seen(board: Board) -> str:
    out = Console(file=io.StringIO(), width=100, force_terminal=False)
    out.print(board)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_board_shows_counts_running_trials_and_why_the_last_ones_failed(
    make_plan: Callable[..., Plan], make_record: Callable[..., TrialRecord]
) -> None:
    first, second, third = make_plan(["a", "b", "c"], ["noop"]).trials
    board = Board("demo", 3, clock=lambda: 0.0)

    for job in (first, second):
        board.started(job)
    board.phase(second, "grade")
    board.finished(first, make_record(first, "failed", reason="tests: exit code 1"))

    shown = seen(board)
    assert "demo  1/3" in shown
    assert "1 failed" in shown
    assert "b  noop" in shown
    assert "grade" in shown
    assert "tests: exit code 1" in shown
    assert third.task + "  noop" not in shown


def test_an_attempt_that_is_tried_again_is_not_counted(
    make_plan: Callable[..., Plan], make_record: Callable[..., TrialRecord]
) -> None:
    (job,) = make_plan(["a"], ["gold"]).trials
    board = Board("demo", 1, clock=lambda: 0.0)

    board.started(job)
    board.finished(job, make_record(job, "errored", end="sandbox_lost", final=False))

    assert "0/1" in seen(board)
    assert "a  gold" in seen(board)


def test_without_a_terminal_each_ended_trial_is_one_line(
    make_plan: Callable[..., Plan], make_record: Callable[..., TrialRecord]
) -> None:
    first, second = make_plan(["a", "b"], ["gold"]).trials
    written: list[str] = []
    lines = Lines(2, written.append)

    lines.finished(first, make_record(first))
    lines.finished(second, make_record(second, "failed", reason="no\x1b[1m change\nmore"))

    assert written[0].startswith("[1/2] passed   a  gold  0.50s")
    assert written[1].endswith("no\\x1b[1m change")
