"""Finished changes from a file or a folder, byte for byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agents.predictions import Predictions
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.errors import AuthoringError


@pytest.fixture
def read(benchmark, tmp_path):
    """Predictions for tasks a and b from a file's content."""

    def build(content, name="preds.jsonl", tasks=("a", "b")):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Predictions.for_spec(str(path), benchmark(*tasks))

    return build


def row(task, patch="diff", **more):
    return {"instance_id": task, "model_name_or_path": "m1", "model_patch": patch, **more}


def change(predictions, task):
    return predictions.brings(Task(id=task), None).change


def problems(error):
    return [(p.line, p.path, p.message) for p in error.value.problems]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(row("a", "x")) + "\n" + json.dumps(row("b", "y")),
        json.dumps([row("a", "x"), row("b", "y")]),
        json.dumps([row("a", "x"), row("b", "y")], indent=2),
        json.dumps({"a": row("a", "x"), "b": {"model_patch": "y", "model_name_or_path": "m1"}}),
        "\ufeff" + json.dumps(row("a", "x")) + "\r\n\n" + json.dumps(row("b", "y")) + "\r\n",
    ],
    ids=["lines", "list", "pretty list", "by id", "BOM and CRLF"],
)
def test_all_shapes_say_the_same(read, content):
    predictions = read(content)

    assert (change(predictions, "a"), change(predictions, "b")) == (b"x", b"y")
    assert predictions.brings(Task(id="b"), None).model == "m1"
    assert predictions.warnings == ()


def test_line_ends_and_unicode_separators_inside_a_patch_survive(read):
    patch = "--- a/x\r\n+++ b/x\n+a\u2028b\u0085c\x0cd"

    predictions = read(json.dumps(row("a", patch), ensure_ascii=False) + "\n" + json.dumps(row("b")))

    assert change(predictions, "a") == patch.encode()


@settings(deadline=None)
@given(st.binary(max_size=60).filter(lambda b: not set(b) & set(b'"\\') and min(b, default=32) > 31))
def test_bytes_that_are_not_utf8_survive(tmp_path_factory, raw):
    path = tmp_path_factory.mktemp("preds") / "p.jsonl"
    path.write_bytes(b'{"instance_id": "a", "model_patch": "' + raw + b'"}')
    benchmark = Benchmark(id="demo", version="1.0", tasks=(Task(id="a"),), root=path.parent)

    predictions = Predictions.for_spec(str(path), benchmark)

    assert change(predictions, "a") == raw


@pytest.mark.parametrize("patch", [None, ""])
def test_null_and_nothing_are_an_empty_change(read, patch):
    assert change(read(json.dumps(row("a", patch))), "a") == b""


def test_a_response_is_carried_along(read):
    predictions = read(json.dumps(row("a", response="It was the cache.")))

    assert predictions.brings(Task(id="a"), None).response == "It was the cache."


def test_every_line_that_cannot_be_used_is_named(read):
    lines = [
        json.dumps(row("a")),
        "{torn",
        json.dumps(["no", "object"]),
        json.dumps({"model_patch": "x"}),
        json.dumps({"instance_id": "b"}),
        json.dumps(row("b", 7)),
        json.dumps(row("b", "\ud800")),
        json.dumps(row("a", "again")),
    ]

    with pytest.raises(AuthoringError) as error:
        read("\n".join(lines))

    said = problems(error)
    assert [line for line, _, _ in said] == [2, 3, 4, 5, 6, 7, 8]
    assert "an object is wanted, not a list" in said[1][2]
    assert '"instance_id" is missing' in said[2][2]
    assert '"model_patch" is missing' in said[3][2]
    assert "must be text or null, not a number" in said[4][2]
    assert "surrogate" in said[5][2]
    assert said[6][2] == "a second prediction for a; the first is at line 1"


def test_a_second_prediction_is_found_in_every_shape(read):
    as_list = json.dumps([row("a"), row("a")])
    by_id = '{"a": {"model_patch": "1"}, "a": {"model_patch": "2"}}'

    for content in (as_list, by_id):
        with pytest.raises(AuthoringError, match="a second prediction for a"):
            read(content)


def test_an_id_that_contradicts_its_key_is_refused(read):
    with pytest.raises(AuthoringError, match='stands under "a" but says it is for "b"'):
        read(json.dumps({"a": row("b")}))


def test_a_broken_list_is_one_problem_not_one_a_line(read):
    with pytest.raises(AuthoringError) as error:
        read("[\n" + json.dumps(row("a")) + ",\n{oops}\n]")

    assert [p.line for p in error.value.problems] == [3]


@pytest.mark.parametrize("line", [b"\x7fELF\n", b"7\n"], ids=["not JSON", "no objects"])
def test_of_a_file_of_something_else_ten_problems_are_told_and_the_rest_counted(read, line):
    with pytest.raises(AuthoringError) as error:
        read(line * 5000)

    assert len(error.value.problems) == 11
    assert error.value.problems[-1].message == "and 4990 more"


def test_unknown_ids_and_missing_tasks_are_named(read):
    predictions = read("\n".join(json.dumps(row(i)) for i in ("a", "A", "zz")))

    assert len(predictions.warnings) == 2
    assert "2 ids of no task of the benchmark: A, zz" in predictions.warnings[0]
    assert "no prediction, which counts as an empty change, for 1 task" in predictions.warnings[
        1
    ] and predictions.warnings[1].endswith("b")
    missing = predictions.brings(Task(id="b"), None)
    assert missing.change == b"" and "no prediction for this task" in missing.note


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", json.dumps(row("other")).encode()])
def test_predictions_for_none_of_the_tasks_are_refused(read, content):
    with pytest.raises(AuthoringError, match=r"predicts no task of demo"):
        read(content)


def test_the_fingerprint_follows_the_content(read):
    one = read(json.dumps(row("a", "x"))).fingerprint(Task(id="a"))
    other_patch = read(json.dumps(row("a", "y"))).fingerprint(Task(id="a"))
    other_response = read(json.dumps(row("a", "x", response="r"))).fingerprint(Task(id="a"))

    assert len({one, other_patch, other_response}) == 3
    assert read(json.dumps([row("a", "x")])).fingerprint(Task(id="a")) == one


def test_a_folder_of_patches_is_read_as_it_is(benchmark, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.patch").write_bytes(b"x\r\n\xff")
    (tmp_path / "a.txt").write_bytes(b"why")
    (tmp_path / "sub" / "b.v2.diff").write_bytes(b"y")
    (tmp_path / "notes.md").write_text("not a patch")

    predictions = Predictions.for_spec(str(tmp_path), benchmark("a", "sub/b.v2"))

    brought = predictions.brings(Task(id="a"), None)
    assert (brought.change, brought.response) == (b"x\r\n\xff", "why")
    assert change(predictions, "sub/b.v2") == b"y"
    assert predictions.warnings == ()


def test_two_patches_for_one_task_are_refused(benchmark, tmp_path):
    (tmp_path / "a.patch").write_bytes(b"x")
    (tmp_path / "a.diff").write_bytes(b"y")

    with pytest.raises(AuthoringError, match="a second patch for a"):
        Predictions.for_spec(str(tmp_path), benchmark("a"))


def test_a_question_needs_no_patch_and_may_be_named_by_id(read):
    predictions = read(json.dumps({"id": "a", "response": "yes", "trajectory": [{"name": "search"}]}))

    brought = predictions.brings(Task(id="a"), None)

    assert (brought.change, brought.response, brought.trajectory) == (b"", "yes", [{"name": "search"}])


def test_a_response_alone_is_an_empty_change_also_for_a_task_with_rooms(read):
    task = Task(id="a", environment={"host": True})

    predictions = read(json.dumps({"id": "a", "response": "yes"}), tasks=(task,))

    brought = predictions.brings(task, None)
    assert (brought.change, brought.response) == (b"", "yes")


def test_another_trajectory_is_another_prediction(read):
    def fingerprint(**more):
        return read(json.dumps({"id": "a", "response": "yes", **more})).fingerprint(Task(id="a"))

    assert fingerprint() == fingerprint() != fingerprint(trajectory=[{"name": "search"}])
