"""What stands where a file or a folder of a run is meant: pipes, folders, links that lead nowhere."""

from __future__ import annotations

import errno
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.befores import BeforeCache
from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.cli.failure import tell
from orchestrator.errors import AuthoringError
from orchestrator.journal import Journal
from orchestrator.plan import Plan
from orchestrator.store import RunFolder, RunHeader, Store

KINDS: dict[str, Callable[[Path], None]] = {"pipe": os.mkfifo, "folder": lambda place: place.mkdir()}
SAID = {"pipe": "is not a regular file", "folder": "is a folder, not a file"}


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """A pipe that is waited for ends the test, not the suite."""

    def late(number: int, frame: object) -> None:
        pytest.fail("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def run(tmp_path: Path, benchmark, record) -> Path:
    from orchestrator.plan import make

    plan = make(benchmark("t1"), ["gold"])
    with Store.create(RunHeader.begin("demo", plan.to_json()), tmp_path / "run") as store:
        store.append(record("t1.gold.1"))
    return tmp_path / "run"


def header() -> RunHeader:
    return RunHeader.begin("demo", {"trials": []})


def replaced(place: Path, kind: str) -> None:
    place.unlink()
    KINDS[kind](place)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["run.json", "records.jsonl"])
def test_reading_a_run_names_the_file_that_is_none(run, capsys, name, kind):
    replaced(run / name, kind)

    code = finish(build(), ["report", str(run)])

    said = capsys.readouterr().err
    assert code == 2 and str(run / name) in said and SAID[kind] in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["run.json", "records.jsonl", "lock"])
def test_taking_a_run_up_names_the_file_that_is_none(run, name, kind):
    replaced(run / name, kind)

    with pytest.raises(AuthoringError, match=SAID[kind]) as told:
        Store.resume(header(), run)

    assert str(told.value).startswith(str(run / name))


def test_a_torn_line_is_not_moved_into_a_pipe(tmp_path):
    (tmp_path / "records.jsonl").write_bytes(b"whole\ntorn")
    os.mkfifo(tmp_path / "records.torn")

    with pytest.raises(OSError, match="is not a regular file"):
        Journal(tmp_path / "records.jsonl")

    assert (tmp_path / "records.jsonl").read_bytes() == b"whole\ntorn"


def test_a_kept_answer_that_is_a_pipe_is_none(tmp_path):
    os.mkfifo(tmp_path / "ab.json")

    assert BeforeCache(tmp_path).get("ab", lambda: ()) == ((), False)


def a_file(place: Path) -> None:
    place.write_text("")


def a_link(place: Path) -> None:
    place.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("name", "put"),
    [("trials", a_file), ("trials", a_link), ("trials/a.gold.1", a_file), ("trials/a.gold.1", a_link)],
)
def test_what_stands_in_the_way_of_an_attempt_is_named_with_what_to_do(tmp_path, capsys, name, put):
    with Store.create(header(), tmp_path / "run") as store:
        place = tmp_path / "run" / name
        place.parent.mkdir(exist_ok=True)
        put(place)

        with pytest.raises(AuthoringError) as told:
            store.begin_attempt("a.gold.1")

    assert tell(told.value) == 2
    assert capsys.readouterr().err == (
        f"proctor: {place} is not a folder; move it away, then go on with --resume\n"
    )


DAMAGE = [
    (lambda plan: plan.pop("benchmark"), "plan.benchmark: is missing"),
    (lambda plan: plan.update(benchmark=7), "plan.benchmark: is not text: 7"),
    (lambda plan: plan.update(agents="gold"), 'plan.agents: is not a list of agents: "gold"'),
    (lambda plan: plan.update(agents=[1]), "plan.agents: is no list of texts: 1 is in it"),
    (lambda plan: plan.update(repeats="many"), 'plan.repeats: is not a whole number: "many"'),
    (lambda plan: plan.update(trials=3), "plan.trials: is not a list of trials: 3"),
    (lambda plan: plan.update(trials=[3]), "plan.trials[0]: is no trial: 3"),
    (lambda plan: plan["trials"][0].pop("task"), "plan.trials[0].task: is missing or of another type"),
    (lambda plan: plan["trials"][0].update(trial=5), "plan.trials[0].trial: is missing or of another type"),
    (lambda plan: plan["trials"][0].update(x=5), "plan.trials[0].x: is no part of a trial"),
    (lambda plan: plan.update(gates=[{"x": 1}]), 'plan.gates[0]: is no gate: {"x": 1}'),
]


@pytest.mark.parametrize(("damage", "said"), DAMAGE)
def test_a_damaged_plan_names_its_file_and_what_was_seen(run, capsys, damage, said):
    document = json.loads((run / "run.json").read_bytes())
    damage(document["plan"])
    (run / "run.json").write_text(json.dumps(document))

    code = finish(build(), ["report", str(run)])

    told = capsys.readouterr().err
    assert code == 2
    assert told.startswith(f"proctor: {run / 'run.json'}: {said}; the run's plan is damaged")


def test_a_plan_of_before_there_was_a_disk_budget_is_still_read(run):
    plan = RunFolder(run).header.model_dump()["plan"]
    for job in plan["trials"]:
        del job["disk"]

    assert Plan.from_json(plan).trials[0].disk == 0


def test_a_full_disk_under_the_lock_names_its_place(tmp_path, capsys, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left") as told:
        Store.create(header(), tmp_path / "run")

    assert tell(told.value) == 3
    assert capsys.readouterr().err == (
        f"proctor: {tmp_path}/run/lock: no space left on device; free some space, or choose another place\n"
    )


def test_a_full_stdout_is_named(capsys, monkeypatch):
    full = open("/dev/full", "w")  # noqa: PTH123, SIM115 closed with the process
    full.write("x")
    monkeypatch.setattr("sys.stdout", full)

    code = tell(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    monkeypatch.undo()
    assert code == 3
    assert "proctor: stdout: no space left on device" in capsys.readouterr().err
    os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # so that it can be closed
    full.close()
