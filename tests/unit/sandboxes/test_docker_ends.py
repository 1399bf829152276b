"""What an exit code means: failed, hit a limit, or not seen at all."""

from __future__ import annotations

from typing import Any

import pytest

from sandboxes.cgroups import Counters
from sandboxes.docker.ends import Facts, judge, not_started, silent_seconds
from sandboxes.docker.watch import Heard, Why
from sandboxes.errors import Evicted, SandboxLost, StreamBroken
from sandboxes.spec import MIB


def facts(code: int | None = 0, why: Why = "streams_ended", stderr: bytes = b"", **more: Any) -> Facts:
    heard = Heard(1000)
    heard.stderr.feed(stderr)
    heard.broken = more.pop("broken", None)
    state = {"ExitCode": code, "Running": False, "OOMKilled": more.pop("oom", False)}
    return Facts(state, why, heard, **more)


@pytest.mark.parametrize("code", [0, 1, 2, 124, 126, 127, 128, 255])
def test_an_exit_of_its_own_is_an_exit(code: int) -> None:
    done = judge(facts(code))

    assert (done.end, done.exit_code, done.signal) == ("exited", code, None)


def test_a_command_that_kills_itself_has_failed() -> None:
    done = judge(facts(137))

    assert (done.end, done.exit_code, done.signal) == ("signalled", 137, 9)


def test_the_same_exit_code_with_the_memory_counter_moved_is_a_limit() -> None:
    assert judge(facts(137, oom=True)).end == "limit_hit:memory"
    assert judge(facts(0, counters=Counters(memory_kills=1))).end == "limit_hit:memory"


def test_a_kill_far_below_the_memory_limit_was_the_machines_doing() -> None:
    counters = Counters(memory_kills=1, peak_memory=10 * MIB)

    with pytest.raises(SandboxLost, match="machine itself"):
        judge(facts(137, counters=counters, memory_limit=100 * MIB))


@pytest.mark.parametrize("state", [{"ExitCode": None}, {}, {"ExitCode": 0, "Running": True}])
def test_no_exit_code_is_never_a_zero(state: dict[str, Any]) -> None:
    with pytest.raises(SandboxLost, match="no exit code"):
        judge(Facts(state, "streams_ended", Heard(10)))


def test_a_container_that_was_never_started_has_no_end() -> None:
    state = {"ExitCode": 0, "Running": False, "StartedAt": "0001-01-01T00:00:00Z"}

    with pytest.raises(SandboxLost, match="did not"):
        judge(Facts(state, "time", Heard(10)))


def test_a_refused_fork_counts_only_when_the_command_failed() -> None:
    counters = Counters(refused_forks=3)

    assert judge(facts(0, counters=counters)).ok
    assert judge(facts(2, counters=counters)).end == "limit_hit:pids"


def test_a_full_disk_counts_only_when_the_command_failed() -> None:
    assert judge(facts(0, disk_full=True)).ok
    assert judge(facts(1, disk_full=True)).end == "limit_hit:disk"


def test_what_we_killed_has_no_exit_code() -> None:
    for why, end in (("time", "limit_hit:time"), ("output", "limit_hit:output")):
        done = judge(facts(137, why=why))  # type: ignore[arg-type]

        assert (done.end, done.exit_code, done.signal) == (end, None, None)


def test_limits_are_told_in_order() -> None:
    both = Counters(memory_kills=1, refused_forks=1)

    assert judge(facts(137, "time", counters=both, disk_full=True)).end == "limit_hit:memory"
    assert (
        judge(facts(137, "time", counters=Counters(refused_forks=1), disk_full=True)).end == "limit_hit:pids"
    )
    assert judge(facts(137, "time", disk_full=True)).end == "limit_hit:disk"


def test_a_missing_binary_is_told_by_the_init_and_only_for_a_tuple() -> None:
    said = b"[FATAL tini (7)] exec nope failed: No such file or directory\n"

    assert judge(facts(127, stderr=said, argv_given=True)).end == "missing_binary"
    assert judge(facts(127, stderr=said)).end == "exited"
    assert judge(facts(127, stderr=b"sh: nope: not found\n", argv_given=True)).end == "exited"


def test_a_broken_stream_is_no_result_even_with_exit_zero() -> None:
    with pytest.raises(StreamBroken):
        judge(facts(0, broken=StreamBroken("cut")))


def test_an_eviction_outweighs_all() -> None:
    with pytest.raises(Evicted):
        judge(facts(0, "evicted", broken=StreamBroken("cut")))


def test_a_command_that_could_not_start_says_why() -> None:
    done = not_started("there is no folder /x in the room")

    assert done.end == "missing_binary"
    assert "no folder /x" in done.stderr.text


def test_a_container_that_ran_on_after_its_streams_ended_is_noticed() -> None:
    state = {"StartedAt": "2026-01-01T00:00:10.2Z", "FinishedAt": "2026-01-01T00:00:13.000000009+00:00"}
    start = 1767225610.0

    assert silent_seconds(state, asked=start, streams_ended=start + 1, same_clock=True) == pytest.approx(2)
    assert silent_seconds(state, asked=start, streams_ended=start + 1, same_clock=False) == pytest.approx(1.8)
    assert silent_seconds(state, asked=start, streams_ended=start + 3.1, same_clock=True) < 0


def test_times_the_engine_does_not_tell_accuse_nobody() -> None:
    state = {"StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "soon"}

    assert silent_seconds(state, 0, 0, True) == 0
