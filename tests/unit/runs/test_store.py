"""The run folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.documents.record import AgentRecord, TrialRecord
from orchestrator.errors import AuthoringError
from orchestrator.records import from_line, to_line
from orchestrator.store import RunFolder, RunHeader, Store, new_run_id

CASE = Path(__file__).parents[2] / "data" / "runs" / "torn-doubled-foreign.jsonl"
"""Five whole records (one of them twice), three lines that are none, and a torn one."""

HOLDER = """
import sys
from pathlib import Path
from orchestrator.store import RunHeader, Store
with Store.create(RunHeader.begin("demo", {}), Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def header(benchmark: str = "demo") -> RunHeader:
    return RunHeader.begin(benchmark, {"trials": []}, argv=("run", "demo"), provider="fake")


@pytest.fixture
def crashed(tmp_path):
    """A run folder as a crash left it."""
    out = tmp_path / "run"
    with Store.create(header(), out):
        pass
    (out / "records.jsonl").write_bytes(CASE.read_bytes())
    return out


def test_a_crashed_run_is_read_by_newlines_only_and_doubles_count_once(crashed):
    latest = RunFolder(crashed).latest()

    assert {trial: (r.status, r.attempt) for trial, r in latest.items()} == {
        "t1.gold.1": ("passed", 2),
        "t2.gold.1": ("failed", 1),
        "t3.gold.1": ("passed", 1),
    }
    assert latest["t1.gold.1"].reason == "line\u2028sep \u0085 kept"


def test_every_line_that_is_no_record_is_named_and_none_is_a_traceback(crashed):
    problems = RunFolder(crashed).problems()

    assert [(p.line, p.message.split(";")[0]) for p in problems] == [
        (4, "attempt 1 of t2.gold.1 is there twice"),
        (6, "the line is not a trial record: trial: Field required"),
        (7, "the line is not JSON"),
        (8, "the record has schema version '0'"),
        (9, "the line is torn"),
    ]


def test_taking_a_crashed_run_up_again_keeps_every_whole_line_as_it_was(crashed, record):
    before = (crashed / "records.jsonl").read_bytes()
    whole = before[: before.rfind(b"\n") + 1]

    with Store.resume(header(), crashed) as store:
        store.append(record("t4.gold.1"))
        torn = store.torn

    after = (crashed / "records.jsonl").read_bytes()
    assert after.startswith(whole)
    assert from_line(after[len(whole) :].rstrip(b"\n")).trial == "t4.gold.1"
    assert torn == before[len(whole) :]
    assert (crashed / "records.torn").read_bytes() == torn + b"\n"


def test_looking_at_a_run_changes_nothing(crashed):
    before = {p.name: p.read_bytes() for p in crashed.iterdir()}

    RunFolder(crashed).latest()

    assert {p.name: p.read_bytes() for p in crashed.iterdir()} == before


def test_the_last_final_attempt_counts_and_a_trial_without_one_shows_its_last(tmp_path, record):
    with Store.create(header(), tmp_path / "run") as store:
        store.append(record("a", 1, "errored", final=False, end="engine_gone"))
        store.append(record("a", 2, "errored", end="engine_gone"))
        store.append(record("a", 3, "passed"))
        store.append(record("b", 1, "errored", final=False, end="engine_gone"))
        latest = store.latest()

    assert (latest["a"].attempt, latest["a"].status) == (3, "passed")
    assert (latest["b"].attempt, latest["b"].final) == (1, False)


def test_a_second_proctor_is_refused_and_told_who_is_there(tmp_path):
    out = tmp_path / "run"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"

        with pytest.raises(AuthoringError, match=rf"in use by another proctor \(process {holder.pid}\)"):
            Store.resume(header(), out)

        holder.kill()
        holder.wait()
        Store.resume(header(), out).close()
    finally:
        holder.kill()
        holder.communicate()


def test_a_store_gives_its_folder_back(tmp_path):
    Store.create(header(), tmp_path / "run").close()
    Store.resume(header(), tmp_path / "run").close()

    assert len(RunFolder(tmp_path / "run").header.resumed) == 1


def test_a_folder_that_holds_a_run_needs_resume(tmp_path):
    Store.create(header(), tmp_path / "run").close()

    with pytest.raises(AuthoringError, match="holds a run already; add --resume"):
        Store.create(header(), tmp_path / "run")


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")

    with pytest.raises(AuthoringError, match="not empty"):
        Store.create(header(), tmp_path)


def test_a_start_that_was_killed_before_its_header_was_written_can_be_made_again(tmp_path, monkeypatch):
    def killed(self, target):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        Store.create(header(), tmp_path)

    assert list(tmp_path.iterdir()), "nothing was left, so nothing was tried"
    Store.create(header(), tmp_path).close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "not a run folder"),
        (b"{", "damaged"),
        (b"[]", "damaged"),
        (b"\xff\xfe", "damaged"),
        (b'{"format": "2"}', "damaged"),
    ],
)
def test_what_is_no_run_is_said_in_one_sentence(tmp_path, content, said):
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)

    with pytest.raises(AuthoringError, match=said):
        RunFolder(tmp_path)
    with pytest.raises(AuthoringError, match=said):
        Store.resume(header(), tmp_path)


def test_a_run_of_another_benchmark_is_not_taken_up(tmp_path):
    Store.create(header("php_quality"), tmp_path / "run").close()

    with pytest.raises(AuthoringError, match="holds a run of php_quality, not of demo"):
        Store.resume(header("demo"), tmp_path / "run")


def test_an_out_that_cannot_be_made_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(AuthoringError, match="cannot be made"):
        Store.create(header(), tmp_path / "file" / "run")


def test_two_runs_that_start_in_the_same_second_never_share_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with Store.create(header()) as one, Store.create(header()) as two:
        assert one.path != two.path
    assert len({new_run_id("demo") for _ in range(200)}) == 200
    assert "/" not in new_run_id("../../etc") and len(new_run_id("x" * 500)) < 100


def test_an_attempts_folder_is_always_fresh_also_after_an_attempt_that_left_no_record(tmp_path):
    with Store.create(header(), tmp_path / "run") as store:
        first, folder = store.begin_attempt("a.gold.1")
        (folder / "verdict.json").write_text("{}")
        second, fresh = store.begin_attempt("a.gold.1")
        other, _ = store.begin_attempt("b.gold.1", after=6)

    assert (first, second, other) == (1, 2, 7)
    assert list(fresh.iterdir()) == []


def test_the_header_says_how_the_run_was_started_also_when_words_are_not_utf8(tmp_path):
    odd = os.fsdecode(b"pred\xff.jsonl")
    with Store.create(RunHeader.begin("demo", {"trials": []}, argv=("run", odd)), tmp_path / "run"):
        pass

    assert RunFolder(tmp_path / "run").header.argv == ("run", odd)
    json.loads((tmp_path / "run" / "run.json").read_text("ascii"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.text(),
    st.dictionaries(st.text(), st.text()),
    st.dictionaries(st.text(), JSON),
    st.none() | st.floats(0, 1),
)
def test_a_record_comes_back_as_it_was(reason, digests, usage, score):
    given_record = TrialRecord(
        trial="t",
        attempt=1,
        final=True,
        benchmark="b",
        benchmark_version="1.0",
        task="t",
        agent=AgentRecord(name="gold", usage=usage),
        repeat=1,
        status="passed",
        end="graded",
        score=score,
        reason=reason,
        rubric_ref=None,
        started_at="2026-01-01T00:00:00+00:00",
        seconds=0.5,
        digests=digests,
    )

    line = to_line(given_record)

    assert b"\n" not in line and line.isascii()
    assert from_line(line) == given_record


def test_a_record_with_strange_values_is_still_strict_json(record):
    usage = {
        "nan": float("nan"),
        "raw": b"\xff",
        "names": {"b", "a"},
        "half": "\udc80",
        "deep": [{"inf": float("inf")}],
    }

    line = to_line(record(agent=AgentRecord(name="gold", usage=usage)))

    strict = json.loads(line, parse_constant=pytest.fail)
    assert strict["agent"]["usage"]["nan"] == "nan"
    assert strict["agent"]["usage"]["names"] == ["a", "b"]


def test_latest_leads_to_the_newest_run_and_replaces_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for _ in range(2):
        with Store.create(header()) as store:
            newest = store.path

    link = tmp_path / "runs" / "LATEST"
    assert link.is_symlink()
    assert link.resolve() == newest.resolve()
    assert not list((tmp_path / "runs").glob(".*"))
    link.unlink()
    link.write_text("mine")
    Store.create(header()).close()
    assert link.read_text() == "mine"
