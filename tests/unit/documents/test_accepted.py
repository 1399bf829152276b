"""Documents in order are remembered; documents that are refused are explained every time."""

from pathlib import Path

import pytest

from orchestrator.errors import AuthoringError
from orchestrator.loading import Accepted, load_config, parse_document, rubric_of
from orchestrator.schemas import RubricSchema, core

HEAD = 'id: r\nversion: "1.0"\nscoring: {combine: all_pass}\nchecks:\n'
GOOD = HEAD + "  - {kind: must_contain_any, id: a, values: [x]}\n"
TWICE = GOOD + "  - {kind: must_contain_any, id: a, values: [y]}\n"
WORSE = GOOD.replace("values", "valuess")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "accepted"


def rubric(text: str, accepted: Accepted, schemas: RubricSchema | None = None) -> None:
    rubric_of(parse_document(text, "r.yaml"), schemas, accepted)


def test_what_was_accepted_is_known_to_the_next_command(file: Path) -> None:
    rubric(GOOD, Accepted(file))

    assert Accepted(file).knows(core().whole, parse_document(GOOD, "elsewhere.yaml"))


def test_a_known_document_is_not_examined_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubric(GOOD, Accepted(file))
    monkeypatch.setattr("orchestrator.schemas.Checker.iter_errors", None)

    rubric(GOOD, Accepted(file))


@pytest.mark.parametrize("text", [WORSE, TWICE])
def test_what_was_refused_is_refused_again(text: str, file: Path) -> None:
    for _ in range(2):
        with pytest.raises(AuthoringError):
            rubric(text, Accepted(file))


def test_another_schema_asks_again(file: Path) -> None:
    rubric(GOOD, Accepted(file))
    other = RubricSchema.of(tools=["readability"])

    assert not Accepted(file).knows(other.whole, parse_document(GOOD, "r.yaml"))


def test_a_document_with_faults_of_writing_is_never_remembered(file: Path) -> None:
    text = "label: a\nlabel: b\n" + GOOD

    for _ in range(2):
        with pytest.raises(AuthoringError, match="given twice"):
            rubric(text, Accepted(file))

    assert not file.exists()


def test_an_unusable_memory_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "noise").write_bytes(b"\xff\xfe")
    config = tmp_path / "proctor.yaml"
    config.write_text("profiles: {}\n")

    for place in (tmp_path / "file" / "accepted", tmp_path / "noise", tmp_path):
        assert load_config(config, Accepted(place)).profiles == {}


def test_a_list_grown_too_long_is_begun_afresh(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("0" * 64 + "\n" + "x" * (1 << 20) + "\n")

    rubric(GOOD, Accepted(file))

    assert file.stat().st_size == 65
