"""What a rubric_ref means, and what the store says about the rubrics it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_rubric
from orchestrator.rubrics import RubricStore


def text(name: str, *refs: str, version: str = "1.0", more: str = "") -> str:
    checks = "".join(f"  - {{kind: composite, rubric_ref: {ref}}}\n" for ref in refs)
    checks += "  - {kind: must_contain_any, values: [x]}\n"
    return f'id: {name}\nversion: "{version}"\n{more}checks:\n{checks}scoring: {{combine: all_pass}}\n'


def store(*texts: str) -> RubricStore:
    return RubricStore(parse_rubric(t) for t in texts)


def test_a_ref_resolves_by_exact_id_and_version() -> None:
    rubrics = store(text("a"), text("a", version="1.0.0"), text("b"))

    assert rubrics.resolve("rubric/a@1.0.0").version == "1.0.0"  # type: ignore[union-attr]
    for ref in ("rubric/a@1", "rubric/a@1.0.1", "a@1.0", "rubric/a", "rubric/A@1.0", "", None):
        assert rubrics.resolve(ref) is None


def test_two_versions_that_read_alike_are_a_warning() -> None:
    (warning,) = store(text("a"), text("a", version="1.0.0"), text("b")).warnings()

    assert '"1.0" and "1.0.0"' in str(warning)


def test_a_disabled_rubric_resolves_to_nothing_and_is_still_there() -> None:
    rubrics = store(text("a", more="enabled: false\n"))

    assert rubrics.resolve("rubric/a@1.0") is None
    assert rubrics.find("rubric/a@1.0") is not None
    assert rubrics.refs == ("rubric/a@1.0",)


def test_files_below_the_folders_are_loaded_once_and_problems_of_all_named_together(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(text("a"))
    (tmp_path / "deep" / "b.yml").write_text(text("b"))
    (tmp_path / "notes.txt").write_text("not a rubric")

    assert len(RubricStore.load([tmp_path, tmp_path / "deep", tmp_path / "a.yaml"])) == 2

    (tmp_path / "c.yaml").write_text(text("a"))
    (tmp_path / "d.yaml").write_text("id: [\n")
    with pytest.raises(AuthoringError) as caught:
        RubricStore.load([tmp_path, tmp_path / "gone"])
    assert [(Path(p.file).name, p.line) for p in caught.value.problems] == [
        ("c.yaml", 1),
        ("d.yaml", 2),
        ("gone", 0),
    ]
    assert f"already defined in {tmp_path}/a.yaml, line 1" in str(caught.value)


def test_a_chain_inside_the_cap_is_fine_and_one_level_more_is_named() -> None:
    chain = [text(f"r{n}", f"rubric/r{n + 1}@1.0") for n in range(4)]

    assert store(*chain[1:], text("r4")).problems() == ()
    (problem,) = store(*chain, text("r4")).problems()
    assert "nests deeper than 3 levels" in str(problem)
    assert problem.path == "checks[0].rubric_ref"


def test_circles_end_and_are_named() -> None:
    itself = store(text("a", "rubric/a@1.0")).problems()
    pair = store(text("a", "rubric/b@1.0"), text("b", "rubric/a@1.0")).problems()

    assert [p.message for p in itself] == ["runs in a circle: rubric/a@1.0 > rubric/a@1.0"]
    assert len(pair) == 2


def test_a_composite_of_nothing_names_what_there_is() -> None:
    rubrics = store(
        text("a", "rubric/b@2.0", "rubric/tone_x@1.0", "rubric/gone@1.0"),
        text("b"),
        text("tone"),
        text("gone", more="enabled: false\n"),
    )

    found = [f"{p.message}; {p.hint}" for p in rubrics.problems()]

    assert found[0] == "rubric/b@2.0 is not there; there is b in version 1.0"
    assert found[1] == 'rubric/tone_x@1.0 is not there; did you mean "tone"?'
    assert found[2].startswith("rubric/gone@1.0 is disabled")
