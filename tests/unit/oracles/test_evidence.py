"""Fresh rooms that differ only by the change, and answers from the before state asked once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.befores import BeforeCache
from orchestrator.contract import Key, Step
from orchestrator.deadline import Deadline
from orchestrator.evidence import Heard, describe
from sandboxes.errors import RoomFull, SandboxLost
from sandboxes.fake import FakeProvider, FakeRoom, done, ended
from sandboxes.spec import Command, Entry, Layer, RoomSpec


def step(line: str, **fields: Any) -> Step:
    return Step(Command(line), **fields)


def test_the_after_room_is_the_before_room_and_the_change(make_judge: Callable[..., Any]) -> None:
    judge = make_judge(
        before={"kept": "k", "gone": "g", "edited": "old"}, after={"kept": "k", "edited": "new", "added": "a"}
    )
    look = step("cat kept edited; test -e gone && echo -gone; test -e added && echo -added")

    before, after = judge.before(look)[0], judge.after(look)[0]

    assert before.done.stdout.text == "kold-gone\n"
    assert after.done.stdout.text == "knew-added\n"


def test_every_question_opens_a_room_of_its_own(make_judge: Callable[..., Any]) -> None:
    judge = make_judge()

    judge.after(step("echo stale > left_behind"))
    again = judge.after(step("test -e left_behind"))[0]

    assert again.done.exit_code == 1


def test_equal_questions_are_asked_once(make_judge: Callable[..., Any]) -> None:
    provider = FakeProvider()
    judge = make_judge(provider=provider)

    first, second = judge.before(step("echo a")), judge.before(step("echo a"))

    assert first == second
    assert provider.counts["run"] == 1


def test_the_after_state_is_always_asked_anew(make_judge: Callable[..., Any]) -> None:
    provider = FakeProvider()
    judge = make_judge(provider=provider)

    judge.after(step("echo a"))
    judge.after(step("echo a"))

    assert provider.counts["run"] == 2


@pytest.mark.parametrize(
    "other",
    [step("echo b"), step("echo a", reads=("/x",)), Step(Command("echo a", env={"A": "1"}))],
    ids=["command", "reads", "env"],
)
def test_another_question_is_asked_anew(make_judge: Callable[..., Any], other: Step) -> None:
    provider = FakeProvider()
    judge = make_judge(provider=provider)

    judge.before(step("echo a"))
    judge.before(other)

    assert provider.counts["run"] == 2


def test_answers_outlive_the_run_on_disk(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider(script=lambda room, command: done(3, b"\xff out", b"err", seconds=1.5))
    first = make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("x", reads=("/nothing",)))

    second = make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("x", reads=("/nothing",)))

    assert first == second
    assert provider.counts["run"] == 1


def test_a_damaged_answer_is_asked_anew(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider()
    make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("echo a"))
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text().replace("exited", "exitec"))

    make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("echo a"))

    assert provider.counts["run"] == 2


def test_another_version_of_proctor_asks_anew(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider()
    make_judge(provider=provider, cache=BeforeCache(tmp_path), version="1").before(step("echo a"))

    make_judge(provider=provider, cache=BeforeCache(tmp_path), version="2").before(step("echo a"))

    assert provider.counts["run"] == 2


def test_an_answer_that_hit_a_limit_is_not_kept(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider(script=lambda room, command: ended("limit_hit:time"))
    judge = make_judge(provider=provider, cache=BeforeCache(tmp_path))

    judge.before(step("x"))
    judge.before(step("x"))

    assert provider.counts["run"] == 2
    assert list(tmp_path.iterdir()) == []


def test_an_infrastructure_error_is_not_kept(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider(faults={"run:1": SandboxLost("gone")})
    judge = make_judge(provider=provider, cache=BeforeCache(tmp_path))
    with pytest.raises(SandboxLost):
        judge.before(step("echo a"))

    assert judge.before(step("echo a"))[0].done.ok


def test_long_output_is_bounded_on_disk(make_judge: Callable[..., Any], tmp_path: Path) -> None:
    provider = FakeProvider(script=lambda room, command: done(0, b"h" + b"x" * 1_000_000 + b"t"))
    make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("x"))

    kept = make_judge(provider=provider, cache=BeforeCache(tmp_path)).before(step("x"))[0].done.stdout

    assert kept.truncated
    assert (kept.head[:1], kept.tail[-1:], kept.total) == (b"h", b"t", 1_000_002)
    assert len(kept.head) + len(kept.tail) <= 128 * 1024


def test_threads_that_ask_the_same_wait_for_one_answer(make_judge: Callable[..., Any]) -> None:
    started, go_on = threading.Event(), threading.Event()

    def script(room: FakeRoom, command: Command) -> Any:
        started.set()
        go_on.wait(10)
        return done(0, "answer")

    provider, cache = FakeProvider(script=script), BeforeCache()
    answers: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(make_judge(provider=provider, cache=cache).before(step("x")))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    started.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)

    assert len(answers) == 4
    assert provider.counts["run"] == 1
    assert cache.hits == 3


class _Tiny(FakeProvider):
    """Rooms that take the task's own files and nothing more."""

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[Any]:
        with super().provision(spec) as room:

            def full(*_: Any, **__: Any) -> None:
                raise RoomFull("no space left on device")

            room.write = full  # type: ignore[method-assign]
            yield room


def test_a_change_that_does_not_fit_is_a_limit_it_hit_and_no_trouble_of_ours(
    make_judge: Callable[..., Any],
) -> None:
    results = make_judge(provider=_Tiny()).after(step("first"), step("second"))

    assert [r.done.end for r in results] == ["limit_hit:disk"] * 2
    assert "does not fit" in results[0].done.stderr.text


def test_a_change_that_leaves_no_space_for_a_reports_key_is_no_trouble_of_ours_either(
    make_judge: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeRoom, "in_memory", False)
    keyed = replace(step("pytest"), keys={"PROCTOR_X_NONCE": Key("/tmp/k", "word")})

    results = make_judge(provider=_Tiny(), after={"state": "broken\n"}).after(keyed)

    assert [r.done.end for r in results] == ["limit_hit:disk"]


def test_a_guard_that_fails_stops_the_steps_after_it(make_judge: Callable[..., Any]) -> None:
    results = make_judge().after(step("false", stop_unless_ok=True), step("echo never"))

    assert [result.done.exit_code for result in results] == [1]


def test_a_link_is_not_read(make_judge: Callable[..., Any]) -> None:
    def script(room: FakeRoom, command: Command) -> Any:
        room.write([Entry(b"report", 0o120000, b"/etc/passwd")], "/tmp", owner="candidate")
        return done(0)

    result = make_judge(script=script).after(step("x", reads=("/tmp/report",)))[0]

    assert result.files == {"/tmp/report": None}


def test_a_file_too_large_is_said_to_be(
    make_judge: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.evidence.READ_LIMIT", 3)

    result = make_judge(after={"state": "12345"}).after(step("true", reads=("/workspace/state",)))[0]

    assert result.files == {"/workspace/state": None}
    assert "larger than 3 bytes" in result.unread["/workspace/state"]


def test_layers_of_a_step_are_in_its_room_only(make_judge: Callable[..., Any]) -> None:
    layer = Layer("judge-1", "/opt/judge", lambda: [Entry(b"plugin", 0o100644, b"ours")])
    judge = make_judge()

    assert judge.after(step("cat /opt/judge/plugin", layers=(layer,)))[0].done.stdout.text == "ours"
    assert not judge.after(step("cat /opt/judge/plugin"))[0].done.ok


def test_an_after_room_ends_with_the_trial(make_judge: Callable[..., Any]) -> None:
    now = [0.0]
    deadline = Deadline.after(10, "trial_time", clock=lambda: now[0])
    seen: list[float | None] = []

    def script(room: FakeRoom, command: Command) -> Any:
        seen.append(command.timeout)
        return done(0)

    judge = make_judge(script=script, deadline=deadline)
    judge.after(step("x"))
    now[0] = 11.0

    late = judge.after(step("x"))[0]
    judge.before(step("y"))

    assert late.done.end == "limit_hit:time"
    assert seen == [10.0, None]


def test_the_log_hears_every_step(make_judge: Callable[..., Any]) -> None:
    heard: list[Heard] = []
    judge = make_judge(log=heard.append)

    judge.before(step("true"))
    judge.before(step("true"))
    judge.after(step("true"), step("false"))

    assert [(h.side, h.room, h.index, h.cached) for h in heard] == [
        ("before", 1, 0, False),
        ("before", 2, 0, True),
        ("after", 3, 0, False),
        ("after", 3, 1, False),
    ]


def test_a_description_is_bounded_and_fit_for_json(make_judge: Callable[..., Any]) -> None:
    result = make_judge(script=lambda room, command: done(1, b"\xff" * 1_000_000)).after(step("x"))[0]

    facts = describe(result)

    assert facts["exit_code"] == 1
    assert len(facts["stdout"]) == 4_000
    assert "signal" not in facts
