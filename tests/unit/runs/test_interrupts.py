"""One wish to stop."""

from __future__ import annotations

import signal
import threading

import pytest

from orchestrator.interrupts import Stop, on_signals


def test_a_request_calls_every_action_once_in_order_however_often_it_comes():
    stop, called, done = Stop(), [], threading.Event()

    with stop.calling(lambda: called.append("scheduler"), lambda: (called.append("rooms"), done.set())):
        for _ in range(5):
            stop.request()
        assert done.wait(10)

    assert called == ["scheduler", "rooms"]


def test_without_a_request_nothing_is_called_and_no_thread_stays():
    stop, before = Stop(), threading.active_count()

    with stop.calling(lambda: pytest.fail("not asked for")):
        pass

    assert threading.active_count() == before and not stop.requested


def test_a_request_that_came_early_is_heard():
    stop, called = Stop(), threading.Event()
    stop.request()

    with stop.calling(called.set):
        assert called.wait(10)


def test_an_action_that_fails_keeps_no_other_from_being_called_and_is_told():
    stop, called = Stop(), threading.Event()

    def broken():
        raise OSError("engine")

    with pytest.raises(OSError, match="engine"), stop.calling(broken, called.set):
        stop.request()
        assert called.wait(10)


def test_waiting_ends_at_the_request():
    stop = Stop()

    with stop.calling():
        threading.Thread(target=stop.request).start()
        assert stop.wait(3600)


def test_signals_are_given_back_afterwards():
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    stop = Stop()

    with on_signals(stop):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    assert stop.requested
    assert {n: signal.getsignal(n) for n in before} == before


def test_a_hangup_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop()
    try:
        with on_signals(stop):
            signal.raise_signal(signal.SIGHUP)
        assert not stop.requested
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_signals_are_left_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def elsewhere():
        with on_signals(Stop()):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()

    assert seen == [before]
