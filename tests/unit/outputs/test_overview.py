"""The first screen of a run: its answer, what broke, what to open next."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.documents.record import TrialRecord
from orchestrator.documents.scoring import Gate
from orchestrator.dossier import Dossier
from orchestrator.history.facts import read_run
from orchestrator.pages import overview, report
from orchestrator.pages.overview import Overview
from orchestrator.pages.text import diff, plain, printed
from orchestrator.pages.trialview import Tested
from tests.pages.made import make_run

See = Callable[..., Overview]


@pytest.fixture
def see(tmp_path: Path) -> See:
    def made(*arguments: Any, live: bool = False, **fields: Any) -> Overview:
        run = make_run(tmp_path / "run", *arguments, **fields)
        found = Dossier.read(run).report
        return overview.of(read_run(run), found.gates, found.warnings, found.exit_code, live=live)

    return made


def all_end(status: str, end: str = "graded") -> Callable[[TrialRecord, dict[str, bytes]], TrialRecord]:
    score = {"passed": 1.0, "failed": 0.0}.get(status)
    return lambda record, kept: record.model_copy(update={"status": status, "end": end, "score": score})


@pytest.mark.parametrize(
    ("status", "end", "answer", "text"),
    [
        ("passed", "graded", "passed", "Passed: every graded trial"),
        ("failed", "graded", "failed", "Failed: 2 of 2 graded trials"),
        (
            "errored",
            "engine_gone",
            "errored",
            "Not decided: 2 trials without a score for trouble of the machine",
        ),
        (
            "errored",
            "harness_error",
            "errored",
            "Not decided: 2 trials without a score for a fault of proctor",
        ),
        ("invalid", "task_invalid", "errored", "Not decided: 2 trials of tasks that are wrong themselves"),
        ("unscored", "nothing_executable", "unscored", "Nothing could be graded"),
    ],
)
def test_the_answer_says_whose_move_it_is(status: str, end: str, answer: str, text: str, see: See) -> None:
    seen = see(2, ["gold"], twist=all_end(status, end))

    assert (seen.answer, seen.answer_text) == (answer, text)


def test_a_missed_hard_gate_is_a_failure_whatever_passed(see: See) -> None:
    seen = see(2, ["gold"], twist=all_end("passed"), gates=[Gate(metric="mean_score", at_least=2.0)])

    assert (seen.answer, seen.answer_text) == ("failed", "Failed: 1 of 1 hard gate missed")


def test_met_gates_let_a_run_pass_though_trials_failed(see: See) -> None:
    seen = see(4, ["gold"], twist=all_end("failed"), gates=[Gate(metric="pass_rate", at_least=0.0)])

    assert (seen.answer, seen.answer_text) == ("passed", "Passed: every hard gate is met")


def test_a_run_that_was_stopped_is_not_decided(see: See) -> None:
    seen = see(4, ["gold"], begun=0.5, twist=all_end("passed"))

    assert (seen.answer, seen.answer_text) == ("errored", "Not decided: 2 trials of 4 not run")


def test_a_run_that_goes_on_says_how_far_it_is(see: See) -> None:
    seen = see(4, ["gold"], begun=0.5, live=True, twist=all_end("passed"))

    assert (seen.answer, seen.answer_text) == ("running", "Running: 2 of 4 trials have ended")


def test_nothing_planned_is_said_to_be_nothing(see: See) -> None:
    assert see(0).answer_text == "Nothing was planned"


def test_coverage_counts_what_is_somebodys_score(see: See) -> None:
    assert see(4, ["gold"], begun=0.5, twist=all_end("passed")).coverage == 0.5


def test_what_noop_did_not_do_stands_last_among_what_broke(see: See) -> None:
    broken = see(30, ["noop", "command:./solve.sh"]).broken

    agents = [group.example.agent for group in broken if group.status == "failed"]
    assert agents == sorted(agents, key=lambda agent: agent == "noop")
    assert "noop" in agents and "command:./solve.sh" in agents


def test_what_to_open_next_is_never_twice_the_same(see: See) -> None:
    trials = [trial.trial for trial, _ in see(40).next]

    assert len(trials) == len(set(trials)) > 2


@pytest.mark.parametrize(
    ("before", "after", "fate"),
    [
        ("failed", "passed", "mended"),
        ("passed", "failed", "broken"),
        ("missing", "failed", "still wrong"),
        ("passed", "passed", "kept"),
    ],
)
def test_a_test_is_mended_broken_kept_or_still_wrong(before: str, after: str, fate: str) -> None:
    assert Tested("t", before, after).fate == fate


def test_of_a_long_log_the_end_is_shown_from_the_start_of_a_line() -> None:
    shown = printed("first\n" + "x" * 50 + "\nlast\n", 20)

    assert str(shown.html) == "last\n"
    assert shown.cut


def test_markup_in_a_log_is_text() -> None:
    assert str(printed(b"<b>&\xff", 100).html) == "&lt;b&gt;&amp;\ufffd"


def test_colours_go_and_other_control_characters_are_spelt_out() -> None:
    assert plain("\x1b[1;31mred\x1b[m \x1b[2J\u202e") == "red \\x1b[2J\\u202e"


def test_a_patch_is_shown_file_by_file_with_its_lines_counted() -> None:
    patch = (
        b"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-old\n+new\n+<new>\n"
        b"diff --git a/gone b/gone\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n"
    )

    (first, second), cut = diff(patch, 10_000)

    assert (first.path, first.added, first.removed) == ("a", 2, 1)
    assert (second.path, second.added, second.removed) == ("gone", 0, 1)
    assert "<ins>+&lt;new&gt;</ins>" in first.html
    assert cut == ""


def test_a_patch_that_is_none_is_shown_as_it_is() -> None:
    ((file,), _) = diff(b"no patch at all <x>\n", 10_000)

    assert "no patch at all &lt;x&gt;" in file.html


def test_a_report_too_full_to_be_sent_around_shows_the_last_trials_in_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wordy(record: TrialRecord, kept: dict[str, bytes]) -> TrialRecord:
        kept["agent.log"] = random.Random(record.trial).randbytes(30_000).hex("\n", 40).encode()
        return record

    dossier = Dossier.read(make_run(tmp_path / "run", 100, ["gold"], twist=wordy))
    whole = len(report.document(dossier))
    monkeypatch.setattr(report, "BUDGET", 500_000)

    assert len(report.document(dossier)) < 500_000 + whole // 3 < whole
