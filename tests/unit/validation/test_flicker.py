"""Tests that answer differently in equal rooms are named, and only those that decide weigh."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.documents.benchmark import Task
from orchestrator.validation.flicker import flickering
from orchestrator.validation.headroom import headroom, short_of
from orchestrator.validation.witness import Side, Sighting
from sandboxes.spec import MIB

LISTED = Task(id="t", expected={"fail_to_pass": ["a"], "pass_to_pass": ["b"]})


def seen(statuses: Mapping[str, str] | None, side: Side = "after", seconds: float = 1.0) -> Sighting:
    return Sighting("tests", side, seconds, "exited", 0, 100 * MIB, 10.0, 120 * MIB, statuses)


def test_a_listed_test_that_passes_only_sometimes_with_gold_decides() -> None:
    gold = [[seen({"a": "passed", "b": word})] for word in ("passed", "failed", "passed")]

    (found,) = flickering(LISTED, gold, [])

    assert (found.test, found.state, found.listed) == ("b", "gold", True)
    assert found.statuses == ("passed", "failed", "passed")


def test_no_op_and_the_before_room_are_samples_of_one_state() -> None:
    noop = [[seen({"a": "failed"}, "before"), seen({"a": "passed"})]]

    (found,) = flickering(LISTED, [], noop)

    assert (found.state, found.statuses) == ("before", ("failed", "passed"))


def test_failed_and_error_are_one_answer() -> None:
    noop = [[seen({"a": "failed"}, "before")], [seen({"a": "error"}, "before")]]

    assert flickering(LISTED, [], noop) == []


def test_an_unlisted_test_is_named_and_does_not_decide() -> None:
    gold = [[seen({"a": "passed", "at 0x7f01": "passed"})], [seen({"a": "passed", "at 0x7f02": "passed"})]]

    found = flickering(LISTED, gold, [])

    assert [(f.test, f.listed, f.statuses) for f in found] == [
        ("at 0x7f01", False, ("passed", "missing")),
        ("at 0x7f02", False, ("missing", "passed")),
    ]


def test_without_lists_every_test_decides() -> None:
    gold = [[seen({"x": "passed"})], [seen({"x": "failed"})]]

    assert [f.listed for f in flickering(Task(id="t"), gold, [])] == [True]


def test_commands_without_a_report_tell_nothing_of_tests() -> None:
    assert flickering(LISTED, [[seen(None)], [seen({"a": "passed"})]], []) == []


def test_headroom_names_what_came_nearest_to_its_limit() -> None:
    room = headroom([seen(None), seen(None, seconds=6.0)])

    assert room is not None
    assert (room.seconds, room.time_limit, room.peak_memory) == (6.0, 10.0, 100 * MIB)
    short = short_of(room)
    assert short.verdict == ("a run took 6 s of the 10 s it may take",)
    assert short.notes == ("a run needed 100 MiB of 120 MiB",)
