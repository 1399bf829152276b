"""A slice of every campaign; `make faults` runs them whole."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.store import RunFolder
from sandboxes.docker import DockerProvider
from sandboxes.docker.engine import DEFAULT_SOCKET, Engine
from sandboxes.home import rooms
from sandboxes.oci import OciProvider
from sandboxes.protocol import Provider
from sandboxes.spec import Owner
from tests.faults import day, engine, kills, leaks, runtime, small
from tests.faults.proxy import Call, Fault, Plan, Proxy, cut_short, never_answered, no_words, refused
from tests.faults.trials import Pair, pairs, wrong


@pytest.fixture
def oci() -> None:
    _must_work(OciProvider(Owner.current("faults")))


@pytest.fixture
def docker() -> None:
    _must_work(DockerProvider(Owner.current("faults")))


def _must_work(provider: Provider) -> None:
    found = provider.capabilities()
    provider.close()
    if not found.available:
        if os.environ.get("CI"):
            pytest.fail(found.problem)
        pytest.skip(found.problem)


@pytest.mark.oci
def test_a_run_that_is_killed_at_random_points_loses_and_leaves_nothing(oci: None) -> None:
    tally = kills.campaign("oci", kills=4, seed=3, tasks=3)

    assert tally.bad == [] and tally.clean
    assert tally.kills == 4


@pytest.mark.docker
def test_no_fault_of_an_engine_becomes_a_verdict(docker: None) -> None:
    tally = engine.enumerated(step=61, offset=7)

    assert tally.bad == []
    assert tally.met >= 10


@pytest.mark.oci
def test_no_fault_of_a_runtime_becomes_a_verdict(oci: None) -> None:
    tally = runtime.enumerated(step=17, offset=4)

    assert tally.bad == []
    assert tally.met >= 6


def test_a_day_of_trials_with_faults_loses_none_and_needs_no_more_memory() -> None:
    figures = day.campaign(trials=1000, seed=5)

    assert (figures.wrong, figures.lost) == (0, 0)
    assert figures.faults > 20
    assert figures.growth < 16


@pytest.mark.docker
def test_an_engine_that_answers_nothing_does_not_hold_up_a_stop(
    docker: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    folder, _ = small.write(tmp_path / "bench", tasks=2)
    asked, slack, temporary = threading.Event(), _machines_own_slowness(), tmp_path / "tmp"
    temporary.mkdir()

    def plan(call: Call) -> Fault | None:
        if call.name != "POST /containers/ID/start":
            return None
        asked.set()
        return Fault("never answered", never_answered)

    with Proxy(os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET, plan) as between:
        argv = [*kills.PROCTOR, "run", str(folder), "--agent", "gold", "--sandbox", "docker", "-q", "-j", "2"]
        env = {**os.environ, "DOCKER_HOST": between.address}
        run = subprocess.Popen([*argv, "--out", str(tmp_path / "run")], env=env, stdout=subprocess.DEVNULL)
        assert asked.wait(120)

        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        code = run.wait(60)
        took = time.monotonic() - began

    assert code == 130 and took < 5 + slack
    assert {record.end for record in RunFolder(tmp_path / "run").records()} <= {"interrupted"}
    after = DockerProvider(Owner.current("faults"))
    assert any("mount" in thing for thing in after.reap().removed)
    after.close()
    assert leaks.left(tmp_path / "home", temporary) == []


@pytest.mark.docker
def test_a_yes_that_holds_no_streams_is_no_silent_command(
    docker: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = pairs(tmp_path)[1]
    monkeypatch.setenv("PROCTOR_HOME", str(printed.home))

    def plan(call: Call) -> Fault | None:
        return Fault("no JSON", no_words) if call.name == "POST /containers/ID/attach" else None

    records = _behind(plan, printed, Owner.current("faults"))

    assert [(record.status, record.end) for record in records] == [("errored", "engine_gone")] * 2
    assert "something else than a container engine answers" in records[0].reason


@pytest.mark.docker
def test_a_container_whose_making_was_never_heard_of_is_removed_at_the_end(
    docker: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = pairs(tmp_path)[0]
    monkeypatch.setenv("PROCTOR_HOME", str(pair.home))
    address, owner = os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET, Owner.current("faults-unheard")

    def plan(call: Call) -> Fault | None:
        return Fault("cut short", cut_short) if call.name == "POST /containers/create" else None

    records = _behind(plan, pair, owner)

    assert {record.status for record in records} <= {"errored", "not_run"}
    seen = Engine(address)
    assert seen.containers(f"proctor.run={owner.run_id}") == []
    seen.close()


@pytest.mark.docker
def test_an_engine_that_is_silent_from_the_first_call_on_is_given_up(
    docker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandboxes.docker.engine.VERSION_WITHIN", 0.2)
    deaf = Fault("never answered", never_answered)
    with Proxy(os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET, lambda call: deaf) as between:
        provider = DockerProvider(Owner.current("faults"), address=between.address)
        found = provider.capabilities()
        provider.close()

    assert not found.available and "does not answer" in found.problem


def _behind(plan: Plan, pair: Pair, owner: Owner) -> list[TrialRecord]:
    """The records of a pair of trials on the engine behind a proxy; the provider is closed."""
    with Proxy(os.environ.get("DOCKER_HOST") or DEFAULT_SOCKET, plan) as between:
        provider = DockerProvider(owner, address=between.address)
        records = pair.run(provider)
        provider.close()
    return records


def _machines_own_slowness() -> float:
    """Ten times what a Python that does nothing takes: next to nothing, but for a machine under load."""
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return 10 * (time.monotonic() - began)


def test_another_verdict_somebody_elses_fault_and_our_own_bug_are_all_wrong() -> None:
    assert wrong([_record("gold", "passed"), _record("noop", "failed"), _record("gold", "errored")]) == []
    for record in (
        _record("gold", "failed"),
        _record("noop", "passed"),
        _record("gold", "invalid"),
        _record("gold", "errored", end="harness_error"),
    ):
        assert len(wrong([record])) == 1


def test_what_lies_about_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("PROCTOR_HOME", str(home))
    assert leaks.left(home, temporary) == []

    rooms(Owner.current("somebody"))
    (temporary / "forgotten").touch()

    assert len(leaks.left(home, temporary)) == 2


def test_calls_are_counted_named_and_met_by_their_fault(tmp_path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "engine.sock"))
    listening.listen()
    plan = {2: Fault("refused", refused)}

    with listening, Proxy(str(tmp_path / "engine.sock"), lambda call: plan.get(call.number)) as between:
        first, second = _asked(between), _asked(between)
        answering, _ = listening.accept()
        request = b""
        while not request.endswith(b"\r\n\r\n"):  # who closes with something unread takes the answer back
            request += answering.recv(65536)
        answering.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        answering.close()
        answers = [each.makefile("rb").read() for each in (first, second)]

    assert sorted(answers) == [b"", b"HTTP/1.1 204 No Content\r\n\r\n"]
    assert [(call.number, call.name, call.target) for call in between.calls] == [
        (1, "POST /containers/ID/start", "abc"),
        (2, "POST /containers/ID/start", "abc"),
    ]


def _asked(between: Proxy) -> socket.socket:
    near = socket.socket(socket.AF_UNIX)
    near.connect(between.address.removeprefix("unix://"))
    near.sendall(b"POST /v1.41/containers/abc/start?t=1 HTTP/1.1\r\nHost: x\r\n\r\n")
    return near


def _record(agent: str, status: str, end: str = "graded") -> TrialRecord:
    return TrialRecord(
        trial=f"t.{agent}.1",
        attempt=1,
        final=True,
        benchmark="b",
        benchmark_version="1",
        task="t",
        agent=AgentRecord(name=agent),
        repeat=1,
        status=status,
        end=end,
        score=None,
        reason="",
        rubric_ref=None,
        started_at="2026-01-01T00:00:00+00:00",
        seconds=0.0,
    )
