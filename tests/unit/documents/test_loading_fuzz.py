"""Whatever comes in: a document or an AuthoringError, never a traceback, and nothing altered on the way."""

from __future__ import annotations

import json
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.documents.rubric import Rubric
from orchestrator.errors import AuthoringError
from orchestrator.loading import dump_rubric, parse_document, parse_rubric

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
FULL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
PLAIN = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
UNIT = st.floats(0, 1)
SHARED = {"description": TEXT, "metadata": st.dictionaries(TEXT, PLAIN, max_size=3)}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "must_contain_any": (
        {"values": st.lists(FULL, min_size=1, max_size=4)},
        {"case_sensitive": st.booleans()},
    ),
    "regex": (
        {"patterns": st.lists(FULL, min_size=1, max_size=3)},
        {"flags": st.sampled_from(["", "i", "im"])},
    ),
    "target_match": ({"reference_path": st.just("expected.a")}, {"threshold": UNIT}),
    "composite": ({"rubric_ref": st.just("rubric/a@1.0")}, {}),
    "json_schema": ({"schema": st.dictionaries(TEXT, PLAIN, max_size=3)}, {}),
    "command": ({"command": FULL}, {"expect": st.sampled_from(["exit_zero", "test_transitions"])}),
    "score_delta": ({"tool": st.just("phpcs"), "min_delta": st.integers(-9, 9)}, {"baseline": UNIT}),
}


def a_check(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    needed, optional = KINDS[kind]
    return st.fixed_dictionaries({"kind": st.just(kind), **needed}, optional={**optional, **SHARED})


RUBRICS = st.fixed_dictionaries(
    {
        "id": NAMES,
        "version": st.sampled_from(["1.0", "2.10.0", "1.0.0-rc.1"]),
        "checks": st.lists(st.sampled_from(sorted(KINDS)).flatmap(a_check), min_size=1, max_size=4),
        "scoring": st.fixed_dictionaries(
            {"combine": st.sampled_from(["all_pass", "weighted_avg", "median"])}, optional={"threshold": UNIT}
        ),
    },
    optional={"label": TEXT, "enabled": st.booleans(), "metadata": st.dictionaries(TEXT, PLAIN, max_size=3)},
)


@settings(max_examples=150, deadline=None)
@given(RUBRICS)
def test_a_valid_rubric_survives_being_written_and_read(data: dict[str, Any]) -> None:
    rubric = parse_rubric(json.dumps(data), "a.json")

    again = parse_rubric(dump_rubric(rubric), "a.yaml")

    assert again == rubric == Rubric.model_validate(data)
    assert list(map(repr, again.checks)) == list(map(repr, data["checks"]))


@settings(max_examples=150, deadline=None)
@given(PLAIN)
def test_yaml_and_json_of_the_same_data_are_read_alike(data: Any) -> None:
    from_json = parse_document(json.dumps(data), "a.json")
    from_yaml = parse_document(yaml.safe_dump(data, sort_keys=False), "a.yaml")

    assert repr(from_json.plain()) == repr(from_yaml.plain()) == repr(data)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200) | TEXT | st.text("{}[]:,-&*!|>'\"%@`#?~<= \n\tab01._x", max_size=80))
def test_garbage_is_a_document_or_an_authoring_error(garbage: bytes | str) -> None:
    for name in ("a.yaml", "a.json", "-"):
        try:
            parse_rubric(garbage, name)
        except AuthoringError as error:
            assert error.problems


@settings(max_examples=300, deadline=None)
@given(RUBRICS, st.data())
def test_a_rubric_with_one_thing_replaced_is_read_or_refused(
    data: dict[str, Any], draw: st.DataObject
) -> None:
    inside: Any = data
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = draw.draw(st.sampled_from(keys))
        if not isinstance(inside[key], dict | list) or not inside[key] or draw.draw(st.booleans()):
            inside[key] = draw.draw(PLAIN)
            break
        inside = inside[key]

    try:
        assert parse_rubric(json.dumps(data), "a.json") == Rubric.model_validate(data)
    except AuthoringError as error:
        assert all(p.message and p.hint for p in error.problems)
