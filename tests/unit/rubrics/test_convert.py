"""Rubrics of other formats become ours, whole (rules 181, 182, 195; C-21, C-22)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator import Rubric
from orchestrator.checks.regex import Regex
from orchestrator.convert import Converted, _length, convert
from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_document, parse_rubric
from orchestrator.schemas import RubricSchema, core

WEIGHTED = """\
name: banner_quality
pass_threshold: 0.75
checks:
  - check: prompt_adherence
    weight: 0.4
  - check: TextLegibility
    weight: 0.3
    threshold: 0.6
  - {check: aesthetic_quality, weight: 0.3}
"""
RULES = r"""
version: "1.0"
name: "support routing"
threshold: 0.75
rules:
  - name: "ticket"
    weight: 0.30
    pattern: "TICKET-\\d{6}\\Z"
    description: "Holds a ticket"
  - {name: department, weight: 0.35, allowed_values: [billing, technical]}
  - {name: no_disclaimers, weight: 0.20, forbidden_phrases: ["as an ai"]}
  - {name: length, weight: 0.15, min_chars: 20, max_chars: 250}
"""


def converted(text: str, name: str = "old.yaml", schemas: RubricSchema | None = None) -> Converted:
    return convert(parse_document(text, name), schemas)


def said(made: Converted) -> str:
    return "\n".join(map(str, made.warnings))


def test_a_weighted_list_of_checks_keeps_names_weights_and_thresholds() -> None:
    made = converted(WEIGHTED)

    assert made.rubric.ref == "rubric/banner_quality@1.0"
    assert made.rubric.scoring.threshold == 0.75
    assert dict(made.rubric.scoring.weights) == {
        "prompt_adherence": 0.4,
        "text_legibility": 0.3,
        "aesthetic_quality": 0.3,
    }
    assert made.rubric.checks[1] == {"kind": "text_legibility", "id": "text_legibility", "threshold": 0.6}


def test_a_check_that_no_kind_of_ours_does_becomes_a_plugin_kind_named_in_a_warning() -> None:
    made = converted(WEIGHTED)

    assert made.plugin_kinds == ("prompt_adherence", "text_legibility", "aesthetic_quality")
    assert (
        "old.yaml:6: checks[1]: no kind of ours does this: it became the plug-in kind 'text_legibility'"
        in said(made)
    )
    assert all(kind in made.yaml for kind in made.plugin_kinds)


def test_with_its_plugin_the_converted_file_loads_and_without_it_is_refused() -> None:
    made = converted(WEIGHTED)
    number = {"type": "object", "required": ["kind"], "properties": {"threshold": {"type": "number"}}}
    brought = {
        kind: {
            "allOf": [
                {"$ref": "#/$defs/check_base"},
                {**number, "properties": {**number["properties"], "kind": {"const": kind}}},  # type: ignore[dict-item]
            ],
            "unevaluatedProperties": False,
        }
        for kind in made.plugin_kinds
    }
    schema = RubricSchema.of([brought])

    assert parse_rubric(made.yaml, schemas=schema) == made.rubric
    assert converted(WEIGHTED, schemas=schema).plugin_kinds == ()
    with pytest.raises(AuthoringError, match="prompt_adherence"):
        parse_rubric(made.yaml)


def test_a_rule_configuration_becomes_checks_of_ours_that_run() -> None:
    made = converted(RULES)

    assert made.plugin_kinds == ()
    assert [c["kind"] for c in made.rubric.checks] == [
        "regex",
        "must_contain_any",
        "must_not_contain",
        "regex",
    ]
    rubric = Rubric.from_text(made.yaml)
    result = rubric.evaluate("Passed on to BILLING as TICKET-123456")
    assert (result.score, result.passed) == (1.0, True)
    assert rubric.evaluate("ticket-123456").rule_results["ticket"] is False


def test_what_a_dialect_means_otherwise_is_written_anew_and_told() -> None:
    made = converted(RULES)

    assert made.rubric.checks[0]["patterns"] == [r"TICKET-\d{6}\z"]
    assert r"\Z was written \z" in said(made)


def test_the_converted_file_names_its_origin_and_its_warnings() -> None:
    lines = converted(RULES, "dir/rubric_config.yaml").yaml.splitlines()

    assert lines[0] == "# converted from rubric_config.yaml"
    assert lines[1].startswith(r"# rules[0].pattern: \Z was written")


@pytest.mark.parametrize(
    "rule",
    [
        "{name: odd, weight: 1, sentiment: positive}",
        "{name: odd, weight: 1, pattern: x, min_chars: 3}",
        "{name: odd, weight: 1, allowed_values: [1, 2]}",
        "{name: odd, weight: 1, min_chars: 9, max_chars: 3}",
        "{name: odd, weight: 1, max_chars: 100000}",
        "{name: odd, weight: 1}",
    ],
)
def test_a_rule_that_cannot_be_said_keeps_all_its_fields(rule: str) -> None:
    doc = parse_document(f"name: a\nthreshold: 0.5\nrules: [{rule}]", "a.yaml")

    made = convert(doc)

    assert made.plugin_kinds == ("odd",)
    fields = {k: v for k, v in doc.data["rules"][0].items() if k not in ("name", "weight")}
    assert made.rubric.checks[0] == {"kind": "odd", "id": "odd", **fields}


def test_a_foreign_check_with_the_name_of_a_core_kind_does_not_take_it() -> None:
    made = converted("name: a\npass_threshold: 0.5\nchecks: [{check: regex, weight: 1, strength: 3}]")

    assert made.plugin_kinds == ("foreign_regex",)


def test_a_check_that_fits_one_of_our_kinds_is_that_kind() -> None:
    made = converted("name: a\npass_threshold: 0.5\nchecks: [{check: regex, patterns: [x], flags: i}]")

    assert made.plugin_kinds == () and made.rubric.checks[0]["kind"] == "regex"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: a\nchecks: [sharpness]", "names no pass_threshold: that format's own 0.7 is written"),
        ("name: a\nrules: [{name: x, weight: 1, pattern: y}]", "names no threshold: 0.5 holds"),
        ("name: a\nthreshold: 0.5\nrules: [{name: x, weight: 0.8, pattern: y}]", "add up to 0.8000"),
        ("pass_threshold: 1\nchecks: [{check: x}]", "has no name: its file's name is taken, old"),
        ("name: a\nversion: 2\npass_threshold: 1\nchecks: [x]", "2 is no version of ours"),
        (
            "name: a\nowner: me\npass_threshold: 1\nchecks: [x]",
            "kept in metadata, where nothing reads it: owner",
        ),
    ],
)
def test_what_had_to_be_decided_is_told(text: str, words: str) -> None:
    assert words in said(converted(text))


def test_two_checks_of_one_name_get_two_ids() -> None:
    made = converted("name: a\npass_threshold: 1\nchecks: [{check: x, weight: 1}, {check: x, weight: 2}]")

    assert dict(made.rubric.scoring.weights) == {"x": 1, "x_2": 2}


@pytest.mark.parametrize(
    "text",
    [
        "just text",
        "id: a\nversion: '1.0'\nchecks: [{kind: regex, patterns: [x]}]\nscoring: {combine: all_pass}",
        "checks: []",
        "rules: []",
        "checks: [{weight: 1}]",
        "checks: [{check: a, weight: -1}]",
        "checks: [{check: a, weight: 1}]\npass_threshold: 7",
        "rules: [3]",
    ],
)
def test_what_is_in_neither_format_is_refused(text: str) -> None:
    with pytest.raises(AuthoringError):
        converted(text)


@settings(max_examples=200, deadline=None)
@given(
    st.text(alphabet=" \n\tab", max_size=14),
    st.one_of(st.none(), st.integers(0, 8)),
    st.one_of(st.none(), st.integers(0, 12)),
)
def test_a_length_is_counted_as_the_stripped_text_is_long(
    text: str, least: int | None, most: int | None
) -> None:
    bounds = {"min_chars": least, "max_chars": most}
    pattern = _length({k: v for k, v in bounds.items() if v is not None})
    if not pattern:
        return

    matched = Regex().search(pattern, "s", text)

    length = len(text.strip())
    assert matched == ((least or 0) <= length and (most is None or length <= most))


def test_the_core_knows_none_of_the_foreign_kinds() -> None:
    assert not {"prompt_adherence", "odd"} & set(core().kinds)


def test_a_rubric_of_ours_has_nothing_to_convert() -> None:
    text = 'id: a\nversion: "1.0"\nchecks: []\nscoring: {combine: min}\n'

    with pytest.raises(AuthoringError, match="own form; there is nothing to convert"):
        convert(parse_document(text, "a.yaml"))


@pytest.mark.parametrize(
    ("sensitive", "flags"), [("", ""), (", case_sensitive: true", ""), (", case_sensitive: false", "i")]
)
def test_a_pattern_minds_case_unless_its_rule_says_otherwise(sensitive: str, flags: str) -> None:
    made = converted(f"name: a\nthreshold: 0.5\nrules: [{{name: b, weight: 1, pattern: x{sensitive}}}]\n")

    assert made.rubric.checks[0] == {"kind": "regex", "id": "b", "patterns": ["x"], "flags": flags}
