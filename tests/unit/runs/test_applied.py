"""A run keeps the rubrics it applied, so that its scores mean something later (rules 192 and 214)."""

from __future__ import annotations

from pathlib import Path

from orchestrator.applied import FOLDER, keep, kept, reached
from orchestrator.documents.rubric import Rubric, Scoring


def rubric(name: str, *others: str, **fields: object) -> Rubric:
    checks = tuple({"kind": "composite", "rubric_ref": f"rubric/{other}@1.0"} for other in others)
    own = {"kind": "regex", "id": "a", "patterns": ["é"], "flags": ""}
    scoring = Scoring(combine="weighted_avg", threshold=0.25, weights={"a": 3})
    return Rubric(id=name, version="1.0", checks=(own, *checks), scoring=scoring, **fields)


OUTER, INNER, DEEP = rubric("outer", "inner", "gone"), rubric("inner", "deep"), rubric("deep", "outer")
KNOWN = {r.ref: r for r in (OUTER, INNER, DEEP)}


def test_what_composites_reach_is_kept_whole_and_circles_end(tmp_path: Path) -> None:
    keep(tmp_path, [OUTER.ref, None, "rubric/none@1.0", OUTER.ref], KNOWN.get)

    assert kept(tmp_path) == KNOWN
    assert reached(OUTER.ref, KNOWN.get).keys() == {*KNOWN, "rubric/gone@1.0"}


def test_a_run_taken_up_again_keeps_the_texts_of_now(tmp_path: Path) -> None:
    now = rubric("outer", label="Better")
    keep(tmp_path, [OUTER.ref], {OUTER.ref: OUTER}.get)

    keep(tmp_path, [OUTER.ref], {now.ref: now}.get)

    assert kept(tmp_path) == {now.ref: now}


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    keep(tmp_path, [DEEP.ref], {DEEP.ref: DEEP}.get)
    (tmp_path / FOLDER / "a@1.0.json").write_text("{")
    (tmp_path / FOLDER / "b@1.0.json").write_text("{}")
    (tmp_path / FOLDER / "c@1.0.json").mkdir()

    assert kept(tmp_path) == {DEEP.ref: DEEP}


def test_a_run_that_kept_none_has_none(tmp_path: Path) -> None:
    keep(tmp_path, [None], KNOWN.get)

    assert kept(tmp_path) == {}
    assert not (tmp_path / FOLDER).exists()
