"""Whole runs over attempts that a test scripts: owners, retries, resuming, stopping."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading

import pytest

from orchestrator.attempts import RETRYABLE_ENDS
from orchestrator.documents.benchmark import Task, TaskLimits
from orchestrator.errors import AuthoringError, TaskInvalid
from orchestrator.interrupts import Stop
from orchestrator.journal import JournalFailed
from orchestrator.outcomes import CheckOutcome, Verdict
from orchestrator.scheduler import LocalScheduler
from orchestrator.store import RunFolder
from sandboxes.errors import (
    EngineGone,
    Evicted,
    ImageUnavailable,
    LimitUnenforceable,
    ProvisionFailed,
    SandboxError,
    SandboxLost,
    StreamBroken,
)


def passing(job, notebook):
    return notebook.record("passed", "graded", "all good")


def failing(job, notebook):
    return notebook.record("failed", "graded", "tests: exit code 1")


def script(**by_task):
    """An attempt that does for each task what stands under its id: a function, an exception, or a list of
    those for one attempt after the other."""

    def attempt(job, notebook):
        action = by_task[job.task]
        if isinstance(action, list):
            action = action[min(notebook.attempt, len(action)) - 1]
        if isinstance(action, BaseException):
            raise action
        return action(job, notebook)

    return attempt


def records(session):
    return list(RunFolder(session.out).records())


def test_every_trial_is_recorded_and_the_counts_add_up(session):
    runs = session("good", "bad", "empty")

    summary = runs.run(
        script(
            good=passing,
            bad=failing,
            empty=lambda job, notebook: notebook.record("unscored", "nothing_executable", "no executor"),
        ),
        agents=("gold", "noop"),
    )

    assert summary.planned == 6
    assert summary.counts == {
        "passed": 2,
        "failed": 2,
        "unscored": 2,
        "errored": 0,
        "invalid": 0,
        "not_run": 0,
    }
    assert summary.pass_rate == 0.5 and summary.exit_code == 1
    assert len(records(runs)) == 6 and all(r.final and r.attempt == 1 for r in records(runs))


def test_infrastructure_trouble_is_tried_again_in_a_fresh_folder_and_every_attempt_is_kept(session):
    runs = session("flaky")

    summary = runs.run(script(flaky=[SandboxLost("gone"), StreamBroken("cut"), passing]))

    assert summary.counts["passed"] == 1 and summary.exit_code == 0
    assert [(r.attempt, r.status, r.end, r.final) for r in records(runs)] == [
        (1, "errored", "sandbox_lost", False),
        (2, "errored", "stream_broken", False),
        (3, "passed", "graded", True),
    ]
    assert sorted(p.name for p in (runs.out / "trials" / "flaky.gold.1").iterdir()) == ["1", "2", "3"]


def test_attempts_are_bounded_by_one_counter_and_the_last_one_is_final(session):
    runs = session("lost")

    summary = runs.run(script(lost=ProvisionFailed("409")), retries=2)

    assert [(r.attempt, r.final) for r in records(runs)] == [(1, False), (2, False), (3, True)]
    assert summary.counts["errored"] == 1 and summary.exit_code == 3
    assert records(runs)[-1].score is None


@pytest.mark.parametrize("error", [ImageUnavailable("no image"), LimitUnenforceable("no disk limit")])
def test_what_a_fresh_room_cannot_mend_is_not_tried_again(session, error):
    runs = session("t")

    summary = runs.run(script(t=error))

    assert [(r.end, r.final) for r in records(runs)] == [(error.end, True)]
    assert summary.exit_code == 3


def test_a_check_that_ended_in_error_is_tried_again_like_a_lost_room(session):
    runs = session("t")

    summary = runs.run(
        script(t=[lambda job, notebook: notebook.record("errored", "engine_gone", "socket"), passing])
    )

    assert summary.counts["passed"] == 1 and len(records(runs)) == 2


def test_a_limit_an_oracle_hit_is_a_verdict_and_never_tried_again(session):
    runs = session("greedy")

    runs.run(script(greedy=lambda job, notebook: notebook.record("failed", "limit_hit:memory", "oom")))

    assert len(records(runs)) == 1
    assert not any(end.startswith("limit_hit") for end in RETRYABLE_ENDS)


def test_an_invalid_task_is_nobodys_failure(session):
    runs = session("t")

    summary = runs.run(script(t=TaskInvalid("the before state passes", evidence="exit code 0")))

    (record,) = records(runs)
    assert (record.status, record.end, record.score, record.error) == (
        "invalid",
        "task_invalid",
        None,
        "exit code 0",
    )
    assert summary.exit_code == 2 and summary.pass_rate is None


def test_an_authors_mistake_seen_late_is_the_authors(session):
    runs = session("t")

    summary = runs.run(script(t=AuthoringError("setup.patch does not apply: calc.py, hunk 2")))

    assert records(runs)[0].status == "invalid" and "hunk 2" in records(runs)[0].reason
    assert summary.exit_code == 2


def test_an_unknown_exception_is_our_bug_with_its_traceback_and_the_rest_goes_on(session):
    runs = session("bug", "good")

    summary = runs.run(script(bug=KeyError("oops"), good=passing))

    bug = next(r for r in records(runs) if r.task == "bug")
    assert (bug.status, bug.end, bug.final) == ("errored", "harness_error", True)
    assert "please report" in bug.reason and "Traceback" in bug.error and "oops" in bug.error
    assert summary.counts["passed"] == 1 and summary.exit_code == 4


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), MemoryError()])
def test_a_machine_that_is_full_is_not_called_a_bug(session, error):
    runs = session("t")

    summary = runs.run(script(t=error))

    assert records(runs)[0].end == "sandbox_error" and summary.exit_code == 3


def test_an_end_word_nobody_knows_does_not_break_the_record(session):
    class Strange(SandboxError):
        end = "of_its_own"
        retryable = False

    runs = session("t", "u")

    runs.run(script(t=Strange("?"), u=TaskInvalid("?", end="of_its_own")))

    assert sorted(r.end for r in records(runs)) == ["sandbox_error", "task_invalid"]


def test_a_task_that_can_never_fit_is_set_aside_with_its_reason_and_the_rest_goes_on(session):
    runs = session(Task(id="huge", limits=TaskLimits(memory=1 << 50)), "small")

    summary = runs.run(passing, scheduler=LocalScheduler(1, memory=1 << 30))

    huge = next(r for r in records(runs) if r.task == "huge")
    assert (huge.status, huge.end) == ("not_run", "limit_unenforceable")
    assert "asks for 1125899906842624 bytes" in huge.reason
    assert runs.calls == [("small", 1)] and summary.exit_code == 3


def test_when_the_engine_is_gone_for_good_the_run_stops_and_can_be_resumed(session):
    runs = session(*(f"t{n}" for n in range(40)))

    summary = runs.run(lambda job, notebook: script(**{job.task: EngineGone("socket gone")})(job, notebook))

    assert summary.counts["errored"] == 3 and summary.counts["not_run"] == 37
    assert "the engine is gone" in summary.gave_up and summary.exit_code == 3
    assert not summary.interrupted

    again = runs.run(passing)
    assert again.counts["passed"] == 40 and again.kept == 0 and again.exit_code == 0


def test_an_engine_that_comes_back_does_not_stop_the_run(session):
    runs = session("a", "b", "c", "d", "e")
    gone = EngineGone("restarting")

    summary = runs.run(script(a=gone, b=gone, c=passing, d=gone, e=gone), retries=0)

    assert summary.counts["errored"] == 4 and summary.counts["not_run"] == 0


def test_a_resumed_run_keeps_results_and_runs_the_rest(session):
    runs = session("good", "bad", "broken", "flawed")
    first = script(good=passing, bad=failing, broken=SandboxLost("gone"), flawed=TaskInvalid("before passes"))
    runs.run(first, retries=0)
    runs.calls.clear()

    summary = runs.run(script(broken=passing))

    assert runs.calls == [("broken", 2)]
    assert summary.kept == 3
    assert summary.counts["passed"] == 2 and summary.counts["failed"] == 1 and summary.counts["invalid"] == 1
    assert RunFolder(runs.out).latest()["broken.gold.1"].attempt == 2


def test_a_result_of_other_inputs_is_not_kept(session):
    runs = session("a", "b")
    runs.run(failing, inputs=lambda task, agent: {"change": "old"})
    runs.calls.clear()

    summary = runs.run(passing, inputs=lambda task, agent: {"change": "new" if task.id == "a" else "old"})

    assert runs.calls == [("a", 2)]
    assert summary.counts["passed"] == 1 and summary.counts["failed"] == 1


def test_a_trial_whose_attempts_never_came_to_an_end_is_run_again(session, record):
    runs = session("a")
    runs.run(passing)
    path = runs.out / "records.jsonl"
    data = json.loads(path.read_bytes()) | {"final": False, "status": "errored", "end": "engine_gone"}
    path.write_text(json.dumps(data) + "\n")
    runs.calls.clear()

    summary = runs.run(passing)

    assert runs.calls == [("a", 2)] and summary.counts["passed"] == 1


def test_a_resumed_run_with_nothing_to_do_says_the_same(session):
    runs = session("a", "b")
    first = runs.run(script(a=passing, b=failing))
    runs.calls.clear()

    again = runs.run(lambda job, notebook: pytest.fail("nothing to run"))

    assert (again.counts, again.exit_code, again.kept) == (first.counts, first.exit_code, 2)


def test_a_stop_closes_all_rooms_records_what_ran_and_starts_nothing_more(session):
    runs = session(*(f"t{n}" for n in range(6)))
    stop, running = Stop(), threading.Barrier(3, timeout=10)
    evicted = threading.Event()

    class Provider:
        name = "fake"

        def evict_all(self):
            evicted.set()

    def attempt(job, notebook):
        running.wait()
        assert evicted.wait(10)
        raise Evicted("room closed")

    stopper = threading.Thread(target=lambda: (running.wait(), stop.request()))
    stopper.start()
    summary = runs.run(attempt, slots=2, stop=stop, provider=Provider())
    stopper.join()

    assert summary.interrupted and summary.exit_code == 130
    assert summary.counts["not_run"] == 6
    assert [(r.status, r.end) for r in records(runs)] == [("not_run", "interrupted")] * 2

    assert runs.run(passing).counts["passed"] == 6


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_once_or_often_ends_the_run_in_order(session, number, times):
    runs = session("a", "b", "c")
    before = signal.getsignal(number)

    def attempt(job, notebook):
        for _ in range(times):
            os.kill(os.getpid(), number)
        with runs.provider.provision(_spec()) as room:
            room.evicted.wait(10)
            room.run(_command())
        return pytest.fail("the room should have been closed")

    summary = runs.run(attempt)

    assert summary.exit_code == 130 and summary.counts["not_run"] == 3
    assert [r.end for r in records(runs)] == ["interrupted"]
    assert signal.getsignal(number) is before
    assert runs.provider.open_rooms == 0


def test_an_engine_that_is_gone_does_not_spoil_a_stop(session, caplog):
    runs = session("a", "b")

    class Provider:
        name = "fake"

        def evict_all(self):
            raise EngineGone("socket gone")

    stop = Stop()
    stop.request()
    summary = runs.run(passing, stop=stop, provider=Provider())

    assert summary.exit_code == 130 and "proctor reap" in caplog.text


def test_trouble_caused_by_stopping_is_called_interrupted(session):
    runs = session("a")
    stop = Stop()

    def attempt(job, notebook):
        stop.request()
        return notebook.record("errored", "sandbox_lost", "the container vanished")

    summary = runs.run(attempt, stop=stop)

    assert [(r.status, r.end) for r in records(runs)] == [("not_run", "interrupted")]
    assert summary.exit_code == 130


def test_a_stop_does_not_wait_out_the_pause_between_attempts(session):
    from tenacity import wait_fixed

    runs = session("a")
    stop = Stop()

    class Listener:
        def started(self, job): ...
        def phase(self, job, name): ...
        def finished(self, job, record):
            stop.request()

    summary = runs.run(script(a=SandboxLost("gone")), stop=stop, listener=Listener(), wait=wait_fixed(3600))

    assert summary.exit_code == 130
    assert [(r.status, r.final) for r in records(runs)] == [("errored", False), ("not_run", True)]


def test_when_records_can_no_longer_be_kept_the_run_ends_with_that_error(session, monkeypatch):
    from orchestrator.store import Store

    runs = session(*(f"t{n}" for n in range(20)))
    before = set(threading.enumerate())

    def full(self, record):
        raise JournalFailed(errno.ENOSPC, "No space left on device", "records.jsonl")

    monkeypatch.setattr(Store, "append", full)

    with pytest.raises(JournalFailed):
        runs.run(passing)
    assert len(runs.calls) == 1
    assert set(threading.enumerate()) == before


def test_a_display_that_fails_changes_no_verdict(session, caplog):
    runs = session("a", "b")

    class Broken:
        def started(self, job):
            raise ValueError("no terminal")

        phase = finished = started

    summary = runs.run(passing, listener=Broken())

    assert summary.counts["passed"] == 2
    assert len(caplog.records) == 1 and "no terminal" in caplog.text


def test_a_listener_hears_each_attempt_and_its_phases(session):
    runs = session("a")
    heard = []

    class Listener:
        def started(self, job):
            heard.append("started")

        def phase(self, job, name):
            heard.append(name)

        def finished(self, job, record):
            heard.append((record.status, record.final))

    def attempt(job, notebook):
        with notebook.phase("act"):
            if notebook.attempt == 1:
                raise SandboxLost("gone")
        return passing(job, notebook)

    runs.run(attempt, listener=Listener())

    assert heard == ["started", "act", ("errored", False), "started", "act", ("passed", True)]


def test_records_say_what_they_were_run_with(session):
    runs = session("a")

    runs.run(passing, inputs=lambda task, agent: {"fix": "1"})

    (record,) = records(runs)
    plan = RunFolder(runs.out).header.plan
    assert record.digests["inputs"] == plan["trials"][0]["digest"]
    assert (record.provider, record.agent.name, record.repeat) == ("fake", "gold", 1)


def _spec():
    from sandboxes.spec import RoomSpec

    return RoomSpec()


def _command():
    from sandboxes.spec import Command

    return Command("true")


def test_a_trial_that_hangs_does_not_hold_up_a_stop(session, monkeypatch):
    monkeypatch.setattr("orchestrator.run.LEAVE_WITHIN", 0.05)
    runs, stop, hold = session("stuck", "later"), Stop(), threading.Event()

    def hanging(job, notebook):
        stop.request()
        hold.wait(60)
        return passing(job, notebook)

    summary = runs.run(script(stuck=hanging, later=passing), stop=stop)
    hold.set()

    assert summary.exit_code == 130 and summary.counts["not_run"] == 2


def test_what_broke_says_itself_whether_a_fresh_attempt_may_help(session):
    def broken(retryable):
        outcome = CheckOutcome("c", "command", "error", None, "gone", {"retryable": retryable})
        verdict = Verdict("r@1.0", None, None, "an error", (outcome,))
        return lambda job, note: note.record("errored", "image_unavailable", "gone", verdict=verdict)

    runs = session("lost", "missing")

    summary = runs.run(script(lost=[broken(True), passing], missing=[broken(False), passing]))

    assert summary.counts["passed"] == 1 and summary.counts["errored"] == 1
    assert sorted((r.task, r.attempt) for r in records(runs)) == [("lost", 1), ("lost", 2), ("missing", 1)]
