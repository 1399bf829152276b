"""A draft's documents load, and say exactly what was found out."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.drafting import draft as drafting
from orchestrator.drafting.imports import foreign, missing, plugins
from orchestrator.drafting.proof import Lists, lists
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split
from orchestrator.drafting.wanted import parse
from orchestrator.drafting.writing import Draft, sample
from orchestrator.errors import AuthoringError
from orchestrator.loading import load_benchmark, load_rubric
from orchestrator.testreports import TestReport

IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, unique=True)
SOURCE = {
    "kind": "release_pair",
    "ecosystem": "pypi",
    "package": "a",
    "fixed": "1.1",
    "broken": "1.0",
    "sha256": {"fixed": "a" * 64, "broken": "b" * 64},
}


def drafted(**found: Lists) -> Draft:
    sketch = Sketch("python3 -m pytest 'my tests'", {"PYTHONPATH": "/workspace"}, {"pip": ("six==1.17.0",)})
    parts = Split(("a/b.py",), (), ("tests/test_b.py",), ("a",), ("/a/tests/**",))
    return Draft("b", "a-1.1", parse("pypi:a==1.1..1.0"), SOURCE, parts, sketch, **found)


@settings(deadline=None)
@given(IDS, IDS)
def test_any_test_id_reads_back_as_it_was(turning: list[str], staying: list[str]) -> None:
    staying = [test for test in staying if test not in turning]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drafting.write(drafted(lists=Lists(tuple(turning), tuple(staying))), folder)

        (task,) = load_benchmark(folder).tasks

    assert task.expected["fail_to_pass"] == turning
    assert task.expected.get("pass_to_pass", []) == staying


def test_the_documents_of_a_draft_load(tmp_path: Path) -> None:
    drafting.write(drafted(lists=Lists(("t",), (), missing_before=True)), tmp_path)

    (task,) = load_benchmark(tmp_path).tasks
    rubric = load_rubric(tmp_path / "rubrics" / "listed_tests_turn.yaml")

    assert (task.id, task.rubric_ref, task.setup) == ("a-1.1", rubric.ref, "revert_fix")
    assert task.expected["missing_before_ok"] is True
    assert rubric.checks[0]["command"] == "python3 -m pytest 'my tests'"


def test_only_tests_that_really_ran_in_both_states_are_listed() -> None:
    before = TestReport(
        "graded", {"a": "failed", "b": "passed", "c": "skipped", "d": "passed", "f": "xfailed"}
    )
    after = TestReport(
        "graded", {"a": "passed", "b": "passed", "c": "passed", "d": "failed", "e": "passed", "f": "xpassed"}
    )

    assert lists(before, after) == Lists(("a", "f"), ("b",))


def test_tests_that_cannot_be_collected_before_are_listed_with_leave() -> None:
    before = TestReport("run_incomplete", collection={"tests/test_a.py": "error"})

    assert lists(before, TestReport("graded", {"a": "passed"})) == Lists(("a",), (), missing_before=True)


def test_a_sample_is_taken_from_all_over_the_suite() -> None:
    tests = tuple(f"t{n:03}" for n in range(250))

    chosen = sample(tests)

    assert (len(chosen), chosen[0], chosen[50], chosen[-1]) == (100, "t000", "t125", "t247")


@pytest.mark.parametrize(
    "text", ["pypi:a==1.0", "pypi:a=1.1..1.0", "npm:a..b", "git:x..y", "cargo:a@1..2", ""]
)
def test_what_cannot_be_read_says_how_to_write_it(text: str) -> None:
    with pytest.raises(AuthoringError, match=r"git:URL#GOOD\.\.BAD"):
        parse(text)


def test_packages_are_read_from_the_text_of_tests() -> None:
    text = "import os\nimport yaml, mine\ntry:\n    import numpy\nexcept ImportError:\n    numpy = None\n"
    fixture = "def test_a(mocker): ...\n"

    assert foreign([text], {"mine"}) == {"yaml"}
    assert plugins([text, fixture]) == {"pytest-mock"}
    assert missing("E   ModuleNotFoundError: No module named 'tinycss2.parser'") == {"tinycss2"}
