"""Which job runs when. Jobs are any values with cpus and memory."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.scheduler import (
    PATIENCE,
    Crashed,
    Finished,
    GivenUp,
    LocalScheduler,
    NeverFits,
    NotStarted,
)


@dataclass(frozen=True)
class Job:
    name: str
    cpus: float = 0.0
    memory: int = 0
    disk: int = 0


class Gauge:
    """Counts what runs at once, and the most there ever was."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = {"jobs": 0, "cpus": 0.0, "memory": 0}
        self.most = dict(self.now)

    def move(self, job: Job, sign: int) -> None:
        with self.lock:
            for name, amount in (("jobs", 1), ("cpus", job.cpus), ("memory", job.memory)):
                self.now[name] += sign * amount
                self.most[name] = max(self.most[name], self.now[name])


JOBS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=25).map(
    lambda sizes: [Job(f"j{n}", c / 4, m) for n, (c, m) in enumerate(sizes)]
)


@settings(max_examples=60, deadline=None)
@given(JOBS, st.integers(1, 4), st.integers(1, 8), st.integers(1, 8))
def test_budgets_are_never_exceeded_and_every_job_ends_exactly_once(jobs, slots, cpus, memory):
    gauge, ends = Gauge(), []

    def work(job):
        gauge.move(job, 1)
        gauge.move(job, -1)
        return job.name

    LocalScheduler(slots, cpus=cpus, memory=memory).run(jobs, work, lambda job, end: ends.append((job, end)))

    assert sorted(job.name for job, _ in ends) == sorted(job.name for job in jobs)
    assert gauge.most["jobs"] <= slots and gauge.most["cpus"] <= cpus and gauge.most["memory"] <= memory
    for job, end in ends:
        fits = job.cpus <= cpus and job.memory <= memory
        assert end == Finished(job.name) if fits else isinstance(end, NeverFits)


def test_slots_really_run_at_once():
    meet = threading.Barrier(3, timeout=10)
    ends = []

    LocalScheduler(3).run(
        [Job(str(n)) for n in range(3)], lambda job: meet.wait(), lambda j, e: ends.append(e)
    )

    assert all(isinstance(end, Finished) for end in ends)


def test_a_job_that_can_never_fit_is_named_at_once_and_the_rest_goes_on():
    order = []

    LocalScheduler(1, cpus=2, memory=100).run(
        [Job("a"), Job("cores", cpus=2.5), Job("memory", memory=101), Job("b")],
        lambda job: job.name,
        lambda job, end: order.append((job.name, end)),
    )

    assert order == [
        ("cores", NeverFits("it asks for 2.5 cores; there are 2")),
        ("memory", NeverFits("it asks for 101 bytes of memory; there are 100")),
        ("a", Finished("a")),
        ("b", Finished("b")),
    ]


def test_a_big_job_is_overtaken_a_few_times_and_then_no_more():
    small = [Job(f"s{n}", cpus=1) for n in range(6 * PATIENCE)]
    jobs = [small[0], small[1], Job("big", cpus=2), *small[2:]]
    started, lock = [], threading.Lock()
    # Two small jobs always overlap, so that the big one never finds the room free by chance.
    overlap = threading.Condition(lock)
    ended = []

    def work(job):
        with overlap:
            started.append(job.name)
            mine = len(started)
            overlap.notify_all()
            if job.name != "big":
                overlap.wait_for(lambda: len(started) > mine or "big" in started, timeout=0.2)
        return job.name

    LocalScheduler(2, cpus=2).run(jobs, work, lambda job, end: ended.append(job.name))

    assert started.index("big") <= 2 + PATIENCE + 1
    assert len(ended) == len(jobs)


def test_work_that_raises_is_an_end_like_any_other():
    ends = {}

    def work(job):
        if job.name == "bad":
            raise OSError("no")
        return 1

    LocalScheduler(2).run([Job("bad"), Job("good")], work, lambda job, end: ends.update({job.name: end}))

    assert isinstance(ends["bad"], Crashed) and isinstance(ends["bad"].error, OSError)
    assert ends["good"] == Finished(1)


def test_stop_starts_nothing_more_and_lets_what_runs_end():
    scheduler, ends = LocalScheduler(1), {}

    def work(job):
        scheduler.stop()
        return job.name

    scheduler.run([Job("a"), Job("b"), Job("c")], work, lambda job, end: ends.update({job.name: end}))

    assert ends == {"a": Finished("a"), "b": NotStarted(), "c": NotStarted()}


def test_a_stop_before_the_start_is_not_forgotten():
    scheduler, ends = LocalScheduler(2), []
    scheduler.stop()

    scheduler.run([Job("a")], lambda job: pytest.fail("started"), lambda job, end: ends.append(end))

    assert ends == [NotStarted()]


def test_no_thread_outlives_its_run():
    before = set(threading.enumerate())

    LocalScheduler(4).run([Job(str(n)) for n in range(9)], lambda job: 1, lambda job, end: None)

    assert set(threading.enumerate()) == before


def test_a_failing_listener_stops_the_run_and_is_raised_with_nothing_left_running():
    before = set(threading.enumerate())
    worked, stopped = [], threading.Event()

    class Watched(LocalScheduler):
        def stop(self):
            super().stop()
            stopped.set()

    def work(job):
        worked.append(job)
        if len(worked) > 1:
            assert stopped.wait(10)

    def refuse(job, end):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        Watched(2).run([Job(str(n)) for n in range(50)], work, refuse)

    assert set(threading.enumerate()) == before
    assert len(worked) <= 3


def test_no_machine_has_endless_memory():
    ends = []

    LocalScheduler.of_machine(2).run(
        [Job("a", memory=1 << 60)], lambda job: 1, lambda job, end: ends.append(end)
    )

    assert isinstance(ends[0], NeverFits)


def test_no_jobs_are_soon_done():
    LocalScheduler(2).run([], lambda job: 1, lambda job, end: pytest.fail("nothing to end"))


def test_what_hangs_is_given_up_and_everything_else_still_has_its_end():
    scheduler, hold, begun, ends = LocalScheduler(2), threading.Event(), threading.Barrier(3), {}

    def work(job):
        begun.wait(10)
        hold.wait(60)
        return job.name

    def give_up():
        begun.wait(10)
        scheduler.give_up(after=0.05)

    helper = threading.Thread(target=give_up)
    helper.start()
    scheduler.run([Job(n) for n in "abc"], work, lambda job, end: ends.update({job.name: end}))
    helper.join()
    hold.set()

    assert ends == {"a": GivenUp(), "b": GivenUp(), "c": NotStarted()}


def test_disk_is_a_budget_like_memory():
    ends = {}

    LocalScheduler(2, disk=100).run(
        [Job("large", disk=101), Job("fits", disk=100)],
        lambda job: job.name,
        lambda job, end: ends.update({job.name: end}),
    )

    assert ends["large"] == NeverFits("it asks for 101 bytes of disk; there are 100")
    assert ends["fits"] == Finished("fits")


def test_starts_come_no_quicker_than_asked_for():
    starts = []

    LocalScheduler(4, starts_per_second=50).run(
        [Job(str(n)) for n in range(6)],
        lambda job: starts.append(time.monotonic()),
        lambda job, end: None,
    )

    starts.sort()
    assert starts[-1] - starts[0] >= 5 * 0.02 - 0.005


def test_a_rate_of_nothing_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        LocalScheduler(1, starts_per_second=0)
