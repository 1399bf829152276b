from __future__ import annotations

import doctest
from typing import get_args

from orchestrator import words
from orchestrator.documents.record import TrialStatus
from orchestrator.outcomes import Status


def test_every_status_has_a_word_a_mark_and_a_colour_of_its_own() -> None:
    known = [words.word(status) for status in get_args(TrialStatus)]

    assert set(get_args(TrialStatus)) < set(words.STATUS)
    for of in (lambda w: w.text, lambda w: w.mark, lambda w: w.ascii_mark, lambda w: w.style):
        assert len({of(word) for word in known}) == len(known)


def test_every_check_status_has_a_word() -> None:
    assert set(get_args(Status)) == set(words.CHECK)


def test_marks_fall_back_to_ascii_where_the_terminal_knows_no_more() -> None:
    assert words.mark("passed", "utf-8") == "✔"
    assert words.mark("passed", "ascii") == "+"
    assert words.mark("passed", "no-such-encoding") == "+"


def test_a_candidates_text_cannot_steer_the_terminal() -> None:
    hostile = "a\x1b]0;title\x07b\x9b31mc\u202ed"

    shown = words.safe(hostile)

    assert shown == "a\\x1b]0;title\\x07b\\x9b31mc\\u202ed"


def test_the_first_telling_line_stands_for_a_long_reason() -> None:
    assert words.shorten("\n\n  first\nsecond") == "first"
    assert words.shorten("x" * 200, 10) == "x" * 9 + "…"
    assert words.shorten("") == ""


def test_the_examples_in_the_docstrings_hold() -> None:
    failed, tried = doctest.testmod(words)

    assert tried > 0
    assert failed == 0
