"""What a text check looks at: the response, the change, the transcript or a file of the graded state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.checks.fact_match import FactMatchExecutor
from orchestrator.checks.format import FormatExecutor
from orchestrator.checks.json_schema import JsonSchemaExecutor
from orchestrator.checks.markdown import MarkdownStructureExecutor
from orchestrator.checks.subjects import added_lines
from orchestrator.checks.target import TargetMatchExecutor
from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context
from orchestrator.loading import load_rubric
from orchestrator.outcomes import CheckOutcome
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry

EXAMPLES = Path(__file__).parents[3] / "schema" / "examples"
NO_EVAL = {"kind": "must_not_contain", "subject": "patch", "values": ["eval("]}
OLD = {"a.py": "x = 1\ny = 2\nz = 3\n"}
EVERY_TEXT_KIND = [
    (TextExecutor(), {"kind": "must_contain_any", "values": ["{"]}),
    (TextExecutor(), {"kind": "must_not_contain", "values": ["nowhere"]}),
    (TextExecutor(), {"kind": "regex", "patterns": [r"\A\{"]}),
    (TargetMatchExecutor(), {"kind": "target_match", "reference_path": "expected.json"}),
    (JsonSchemaExecutor(), {"kind": "json_schema", "schema": {"required": ["a"]}}),
    (FormatExecutor(), {"kind": "format", "format": "json"}),
    (MarkdownStructureExecutor(), {"kind": "markdown_structure", "min_headings": 0}),
    (FactMatchExecutor(), {"kind": "fact_match", "source": "expected.json", "threshold": 1}),
]


@pytest.fixture
def graded(judge: Callable[..., Any]) -> Callable[..., CheckOutcome]:
    """graded(check, after, before=OLD): the outcome on a change."""

    def run(check: Mapping[str, Any], after: Any, before: Any = OLD) -> CheckOutcome:
        return TextExecutor().execute(check, "eval(1)", Context(judge=judge(before, after)))

    return run


def test_a_change_that_brings_in_the_words_fails(graded: Callable[..., CheckOutcome]) -> None:
    outcome = graded(NO_EVAL, {"a.py": "x = 1\ny = eval('2')\nz = 3\n"})

    assert (outcome.status, outcome.reason) == (
        "failed",
        'the lines that the change adds: contains "eval("',
    )


def test_a_change_that_takes_the_words_out_passes(graded: Callable[..., CheckOutcome]) -> None:
    before = {"a.py": "x = 1\ny = eval('2')\nz = 3\n"}

    assert graded(NO_EVAL, OLD, before).passed
    assert not graded({**NO_EVAL, "subject": "patch_text"}, OLD, before).passed


def test_words_that_were_there_before_are_not_the_changes(graded: Callable[..., CheckOutcome]) -> None:
    before = {"a.py": "eval(0)\nx = 1\n"}

    assert graded(NO_EVAL, {"a.py": "eval(0)\nx = 2\n"}, before).passed


def test_a_file_that_only_moves_adds_nothing(graded: Callable[..., CheckOutcome]) -> None:
    text = "".join(f"line {n}\n" for n in range(50)) + "eval(0)\n"

    assert graded(NO_EVAL, {"sub/b.py": text + "more\n"}, {"b.py": text}).passed


@pytest.mark.parametrize("data", [b"\0\neval(1)\n", b"\xff\xfe\neval(1)\n", b"a\r\neval(1)\r\n"])
def test_no_byte_hides_the_words(graded: Callable[..., CheckOutcome], data: bytes) -> None:
    outcome = graded(NO_EVAL, {**OLD, "new.php": data})

    assert outcome.status == "failed"
    assert '"eval("' in outcome.reason


def test_a_line_of_content_cannot_pose_as_a_header() -> None:
    patch = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-@@ -1,9 +1,9 @@\n+@@ -1 +1 @@\n keep\n--- a\n+++ eval(\n"

    assert added_lines(patch) == b"@@ -1 +1 @@\n++ eval(\n"


def test_lines_of_two_hunks_do_not_touch() -> None:
    patch = (
        b"@@ -1 +1,2 @@\n a\n+eval\n@@ -9 +10,2 @@\n b\n+(x)\n@@ -20 +22,0 @@\n-c\n@@ -30 +31,2 @@\n d\n+e\n"
    )

    assert added_lines(patch) == b"eval\n\n(x)\n\ne\n"


def test_no_change_is_no_patch_and_never_passes(graded: Callable[..., CheckOutcome]) -> None:
    outcome = graded(NO_EVAL, OLD)

    assert (outcome.status, outcome.reason) == (
        "failed",
        "nothing was changed, so there is no patch to look at",
    )


def test_looking_at_the_change_counts_as_looking(judge: Callable[..., Any]) -> None:
    asked = judge(OLD, OLD)

    TextExecutor().execute(NO_EVAL, "", Context(judge=asked))

    assert asked.asked


def test_the_whole_patch_holds_names_too(graded: Callable[..., CheckOutcome]) -> None:
    named = {"kind": "must_contain_any", "subject": "patch_text", "values": ["b/new.txt"]}

    assert graded(named, {**OLD, "new.txt": "x\n"}).passed
    assert not graded({**named, "subject": "patch"}, {**OLD, "new.txt": "x\n"}).passed


def test_a_file_is_read_as_it_is_once_the_change_is_in(graded: Callable[..., CheckOutcome]) -> None:
    check = {"kind": "must_contain_any", "subject": {"file": "a.py"}, "values": ["new"]}

    assert graded(check, {"a.py": "new\n"}).passed
    assert graded(check, OLD).reason == 'the file a.py: contains none of "new"'


def test_a_file_that_is_not_there_fails_also_what_looks_for_absence(
    graded: Callable[..., CheckOutcome],
) -> None:
    outcome = graded({**NO_EVAL, "subject": {"file": "gone.py"}}, {"b.py": "x\n"})

    assert (outcome.status, outcome.reason) == (
        "failed",
        "there is no file gone.py once the change is in",
    )


def test_a_link_is_no_file(judge: Callable[..., Any], tmp_path: Path) -> None:
    asked = judge(OLD, OLD)
    asked.graded_tree = TreeStore(tmp_path / "trees").add([Entry(b"link", 0o120000, b"/etc/passwd")])

    outcome = TextExecutor().execute({**NO_EVAL, "subject": {"file": "link"}}, "", Context(judge=asked))

    assert outcome.status == "failed"


def test_a_file_that_is_no_utf8_fails_by_its_name(graded: Callable[..., CheckOutcome]) -> None:
    outcome = graded({**NO_EVAL, "subject": {"file": "a.bin"}}, {"a.bin": b"\xff"})

    assert "the file a.bin is not valid UTF-8" in outcome.reason


@pytest.mark.parametrize(("executor", "check"), EVERY_TEXT_KIND, ids=lambda v: getattr(v, "get", str)("kind"))
def test_every_text_kind_can_look_at_a_file(
    judge: Callable[..., Any], executor: Any, check: dict[str, Any]
) -> None:
    context = Context({"expected": {"json": '{"a": 1}'}}, judge(OLD, {"a.json": '{"a": 1}'}))

    outcome = executor.execute({**check, "subject": {"file": "a.json"}}, "prose", context)

    assert outcome.passed, outcome
    assert outcome.reason.startswith("the file a.json: ")


@pytest.mark.parametrize("subject", ["patch", "patch_text", {"file": "a.py"}])
def test_without_a_sandbox_a_check_of_the_change_is_skipped_by_name(
    run: Callable[..., CheckOutcome], subject: Any
) -> None:
    outcome = run(TextExecutor(), {**NO_EVAL, "subject": subject})

    assert outcome.status == "skipped"
    assert "must_not_contain of the" in outcome.reason and "needs a sandbox" in outcome.reason


def test_without_a_trajectory_a_check_of_the_transcript_is_skipped_by_name(
    run: Callable[..., CheckOutcome],
) -> None:
    outcome = run(TextExecutor(), {**NO_EVAL, "subject": "transcript"})

    assert outcome.status == "skipped"
    assert "the transcript needs a recorded trajectory" in outcome.reason


def test_the_transcript_is_searched_where_there_is_one(run: Callable[..., CheckOutcome]) -> None:
    check = {"kind": "must_not_contain", "subject": "transcript", "values": ["curl "]}
    calls = [{"name": "bash", "arguments": {"command": "curl http://x"}}]

    assert not run(TextExecutor(), check, trajectory=calls).passed
    assert run(TextExecutor(), check, trajectory=[]).passed


@pytest.mark.parametrize(
    "subject",
    ["diff", 7, None, [], {}, {"file": ""}, {"file": "/etc/passwd"}, {"file": "../a"}, {"file": "a/./b"},
     {"file": "a\0b"}, {"file": 3}, {"file": "a", "more": 1}],
)  # fmt: skip
def test_a_subject_that_is_none_fails_the_check_loudly(
    graded: Callable[..., CheckOutcome], subject: Any
) -> None:
    outcome = graded({**NO_EVAL, "subject": subject}, {"a.py": "new\n"})

    assert outcome.status == "failed"
    assert "subject" in outcome.reason


def test_response_is_the_default(run: Callable[..., CheckOutcome]) -> None:
    check = {"kind": "must_contain_any", "values": ["right"]}

    assert run(TextExecutor(), check, "right") == run(TextExecutor(), check, "right")
    assert run(TextExecutor(), {**check, "subject": "response"}, "right").passed


def test_the_shipped_example_catches_what_it_describes(judge: Callable[..., Any]) -> None:
    checks = {c["id"]: c for c in load_rubric(EXAMPLES / "valid" / "rubric-subjects.yaml").checks}
    good = Context(judge=judge({"src/a.py": "1\n"}, {"src/a.py": "2\n"}))
    bad = Context(judge=judge({"src/a.py": "1\n"}, {"src/a.py": "eval(2)\n", "setup.py": "x\n"}))

    for name in ("adds_no_eval", "stays_in_src"):
        assert TextExecutor().execute(checks[name], "", good).passed, name
        assert not TextExecutor().execute(checks[name], "", bad).passed, name


LINES = st.lists(st.sampled_from([b"a", b"+b", b"-c", b"@@ -1 +1 @@", b"+++ x", b"", b"\\ no"]), max_size=8)


@given(LINES, LINES)
def test_added_lines_of_a_new_file_are_the_file(one: list[bytes], other: list[bytes]) -> None:
    body = [*one, *other]
    patch = b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,%d @@\n" % len(body) + b"".join(b"+%s\n" % x for x in body)

    assert added_lines(patch) == b"".join(x + b"\n" for x in body)
