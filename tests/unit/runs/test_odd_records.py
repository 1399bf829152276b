"""Edited lines of records.jsonl: what is no record, or is another task's, counts for nothing."""

from __future__ import annotations

import json
import math

import pytest
from pydantic import ValidationError

from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.history.facts import read_run
from orchestrator.plan import make
from orchestrator.store import RunFolder, RunHeader, Store

ODD = [
    ('"score": NaN', "the line is not JSON"),
    ('"score": Infinity', "the line is not JSON"),
    ('"score": "NaN"', "not a trial record: score"),
    ('"score": 1e308', "not a trial record: score"),
    ('"score": 1e999', "not a trial record: score"),
    ('"score": 1.01', "not a trial record: score"),
    ('"score": -0.1', "not a trial record: score"),
    ('"question_score": 5.5', "not a trial record: question_score"),
    ('"question_score": -1', "not a trial record: question_score"),
    ('"seconds": 1e999', "not a trial record: seconds"),
    ('"agent": {"name": "gold", "usage": {"cost": NaN}}', "the line is not JSON"),
    ('"task": "t2"', "the record is of the task t2 of demo, but t1.gold.1 is the task t1 of demo"),
    ('"benchmark": "other"', "the record is of the task t1 of other, but t1.gold.1 is the task t1 of demo"),
]


@pytest.fixture
def run(tmp_path, benchmark, record):
    plan = make(benchmark("t1", "t2"), ["gold"])
    with Store.create(RunHeader.begin("demo", plan.to_json()), tmp_path / "run") as store:
        store.append(record("t1.gold.1"))
        store.append(record("t2.gold.1"))
    return tmp_path / "run"


@pytest.mark.parametrize(("edit", "said"), ODD)
def test_an_edited_line_is_told_with_its_number_and_counts_for_nothing(run, capsys, edit, said):
    first, second = (run / "records.jsonl").read_text().splitlines()
    (run / "records.jsonl").write_text(f"{first[:-1]}, {edit}}}\n{second}\n")
    told: list[object] = []

    quick = read_run(run, told.append)
    code = finish(build(), ["report", str(run), "--json"])

    seen = capsys.readouterr()
    assert code == 0
    document = json.loads(seen.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert document["counts"]["passed"] == quick.counts["passed"] == 1
    assert f"left out: {run / 'records.jsonl'}:1: " in seen.err and said in seen.err
    assert len(told) == 1 and said in str(told[0])


def test_the_quick_reader_takes_the_bounds_themselves(run):
    first, second = (run / "records.jsonl").read_text().splitlines()
    more = '"score": 1, "question_score": 5'
    (run / "records.jsonl").write_text(f'{first[:-1]}, {more}}}\n{second[:-1]}, "score": 0}}\n')

    assert [t.score for t in read_run(run).trials] == [1.0, 0.0]
    assert RunFolder(run).problems() == ()


def test_a_trial_edited_into_another_is_run_again_and_counts(session):
    runs = session("a", "b")
    runs.run(lambda job, note: note.record("passed", "graded", ""))
    lines = (runs.out / "records.jsonl").read_text()
    (runs.out / "records.jsonl").write_text(lines.replace('"task": "a"', '"task": "b"'))

    summary = runs.run(lambda job, note: note.record("failed", "graded", ""))

    assert (summary.counts["failed"], summary.counts["passed"]) == (1, 1)
    assert RunFolder(runs.out).latest()["a.gold.1"].status == "failed"


@pytest.mark.parametrize("score", [1.5, -0.5, math.nan, math.inf])
def test_no_record_of_ours_has_such_a_score(record, score):
    with pytest.raises(ValidationError):
        record(score=score)
