"""The shipped examples: the valid ones load, each invalid one gives the messages it announces (rule 166)."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from orchestrator import schemas
from orchestrator.errors import AuthoringError
from orchestrator.loading import load_benchmark, load_nightly, load_rubric, read_document

EXAMPLES = Path(__file__).parents[3] / "schema" / "examples"
VALID = sorted((EXAMPLES / "valid").iterdir())
INVALID = sorted((EXAMPLES / "invalid").iterdir())
NAMED = (
    "all-pass weighted-avg composite target-match llm-judge-single llm-judge-panel "
    "command score-delta with-metadata"
)
MARK = "# expect: "


_LOADERS = {"benchmark": load_benchmark, "rubric": load_rubric, "nightly": load_nightly}


def load(path: Path) -> object:
    return _LOADERS[path.name.partition("-")[0]](path)


@pytest.mark.parametrize("path", VALID, ids=lambda p: p.stem)
def test_a_valid_example_loads(path: Path) -> None:
    assert load(path)


@pytest.mark.parametrize("path", VALID, ids=lambda p: p.stem)
def test_a_valid_example_satisfies_the_static_schema_as_an_editor_reads_it(path: Path) -> None:
    name = path.name.partition("-")[0]

    jsonschema.Draft202012Validator(schemas.load(name)).validate(read_document(path).data)


@pytest.mark.parametrize("path", INVALID, ids=lambda p: p.stem)
def test_an_invalid_example_gives_the_messages_it_announces(path: Path) -> None:
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    announced = [line.removeprefix(MARK) for line in (first, *lines) if line.startswith(MARK)]
    assert first.startswith(MARK)

    with pytest.raises(AuthoringError) as caught:
        load(path)

    for text in announced:
        assert text in str(caught.value)


@pytest.mark.parametrize("path", INVALID, ids=lambda p: p.stem)
def test_every_message_names_file_and_line_and_says_what_to_do(path: Path) -> None:
    with pytest.raises(AuthoringError) as caught:
        load(path)

    for problem in caught.value.problems:
        assert problem.file == str(path)
        assert problem.line > 0
        assert problem.message
        assert problem.hint


@pytest.mark.parametrize("name", NAMED.split())
def test_the_nine_named_fixtures_are_there(name: str) -> None:
    assert (EXAMPLES / "valid" / f"rubric-{name}.yaml") in VALID


def test_every_kind_has_a_valid_and_an_invalid_example() -> None:
    shown = {c["kind"] for p in VALID if p.name.startswith("rubric") for c in load_rubric(p).checks}
    refused = "".join(p.read_text(encoding="utf-8") for p in INVALID)

    assert shown == set(schemas.core().kinds)
    assert all(f"kind: {kind}" in refused for kind in schemas.core().kinds)


def test_the_llm_judge_fixtures_have_no_description() -> None:
    for name in ("single", "panel"):
        rubric = load_rubric(EXAMPLES / "valid" / f"rubric-llm-judge-{name}.yaml")

        assert all("description" not in check for check in rubric.checks)
