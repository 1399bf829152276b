"""The corpus itself: large enough, told apart, each attack with its defence, and shown as it is."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from .corpus import Attack, Candidate, Malformed, load
from .defences import SWITCHES
from .table import PAGE, written

CORPUS = load()


def test_there_are_enough_attacks_of_enough_kinds_and_enough_honest_work() -> None:
    assert len(CORPUS.attacks) >= 80 and len(CORPUS.honest) >= 30
    assert len(CORPUS.families) >= 16
    assert all(len(family.attacks) >= 4 for family in CORPUS.families)


def test_every_attack_names_a_defence_that_can_be_switched_off() -> None:
    named = {name for a in CORPUS.attacks for name in (a.stopped_by, *a.also_off) if name}

    assert named <= SWITCHES.keys()


def test_every_defence_is_attacked_and_most_attacks_have_a_control() -> None:
    stopped = [a for a in CORPUS.attacks if not a.known_to_win]

    assert {a.stopped_by for a in stopped} | {n for a in stopped for n in a.also_off} >= SWITCHES.keys()
    assert sum(a.controlled for a in stopped) >= 0.7 * len(stopped)


def test_no_two_candidates_differ_only_in_names() -> None:
    shapes = Counter(_shape(candidate) for candidate in CORPUS.attacks)

    assert [shape for shape, number in shapes.items() if number > 1] == []


def test_no_two_attacks_are_described_alike() -> None:
    assert max(Counter(a.does for a in CORPUS.attacks).values()) == 1


def test_the_page_shows_the_corpus_as_it_is() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == written(page, CORPUS), "write it anew: python -m tests.attacks.table"


def test_a_candidate_with_a_field_that_nobody_knows_is_refused(tmp_path: object) -> None:
    from .corpus import _made

    with pytest.raises(Malformed, match="nobody knows the field stoped_by"):
        _made(Attack, {"id": "x", "task": "t", "does": "d", "stoped_by": "y"}, "f.yaml")


def _shape(candidate: Candidate) -> tuple[object, ...]:
    """What a candidate is, without the names of files, functions and words in it."""
    parts = (candidate.files, candidate.bytecode, candidate.binary, candidate.links)
    texts = (
        *(text for each in parts for text in each.values()),
        candidate.patch,
        candidate.agent,
        candidate.response,
    )
    words = tuple(re.sub(r"\s+", " ", text) for text in texts)
    kinds = tuple(sorted(path.rpartition("/")[2] for each in parts for path in each))
    return candidate.task, words, kinds, candidate.removed
