"""Rubric documents: read strictly, every mistake named at once, nothing altered."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from orchestrator.errors import AuthoringError
from orchestrator.loading import dump_rubric, lint, load_rubric, parse_document, parse_rubric, rubric_of
from orchestrator.schemas import RubricSchema

CASE_20 = Path(__file__).parents[2] / "data" / "case20" / "rubric.yaml"
PLAIN = """\
id: plain
version: "1.0"
checks:
  - id: a
    kind: must_contain_any
    values: [x]
scoring:
  combine: all_pass
"""
WORD_COUNT = {
    "word_count": {
        "allOf": [
            {"$ref": "#/$defs/check_base"},
            {
                "type": "object",
                "required": ["kind"],
                "properties": {
                    "kind": {"const": "word_count"},
                    "min": {"type": "integer", "minimum": 0},
                    "max": {"type": "integer", "minimum": 0},
                },
            },
        ],
        "unevaluatedProperties": False,
    }
}


def refused(text: str | bytes, name: str = "rubric.yaml", schemas: RubricSchema | None = None) -> str:
    with pytest.raises(AuthoringError) as caught:
        parse_rubric(text, name, schemas)
    return str(caught.value)


def test_case_20_names_every_trap_with_its_line_in_one_go() -> None:
    with pytest.raises(AuthoringError) as caught:
        load_rubric(CASE_20)

    found = {(p.path, p.line) for p in caught.value.problems}
    values = {(f"checks[0].values[{n}]", 7) for n in (0, 1, 2, 3, 5, 6)}
    assert found == values | {
        ("version", 2),
        ("checks[0].case_sensitive", 9),
        ("scoring.threshold", 15),
        ("scoring.weights.country", 16),
        ("scoring.weights.shape", 16),
        ("scoring.weights.contry", 16),
    }


def test_case_20_shows_what_was_written_and_how_it_was_read() -> None:
    message = refused(CASE_20.read_bytes())

    assert "1.10 was read as the number 1.1" in message
    assert 'quote it: version: "1.10"' in message
    assert "12:30 was read as the number 750" in message
    assert "on line 8 and on line 9" in message
    assert 'did you mean "country"?' in message


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert parse_rubric(b"\xef\xbb\xbf" + PLAIN.encode()).id == "plain"


def test_a_schema_comment_at_the_top_is_no_mistake() -> None:
    assert parse_rubric("# yaml-language-server: $schema=x.json\n" + PLAIN).id == "plain"


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "12.3", "2.0.0-rc.1"])
def test_versions_of_two_or_three_parts_are_taken_as_written(version: str) -> None:
    assert parse_rubric(PLAIN.replace("1.0", version)).ref == f"rubric/plain@{version}"


@pytest.mark.parametrize("version", ["1", "v1.0", "1.0.0.0", "1.0 ", "1.0\\n", "", "1.x"])
def test_other_versions_are_refused(version: str) -> None:
    assert "version" in refused(PLAIN.replace('"1.0"', f'"{version}"'))


def test_an_id_a_version_and_a_ref_that_are_nearly_right_are_mended_in_the_hint() -> None:
    checks = 'checks: [{kind: composite, rubric_ref: "a@1.0"}]'
    text = f'id: My Fix\nversion: "1"\n{checks}\nscoring: {{combine: min}}\n'

    message = refused(text)

    for hint in ("write my_fix", 'write "1.0"', 'write "rubric/a@1.0"'):
        assert hint in message


def test_json_is_read_with_lines_and_double_keys_are_refused_with_both_places() -> None:
    text = '{"id": "plain", "version": "1.0",\n "checks": [],\n "scoring": {"combine": "min",\n'
    text += '  "threshold": 0.9,\n  "threshold": 0}}'

    message = refused(text, "rubric.json")

    assert "rubric.json:5: scoring.threshold" in message
    assert "on line 4 and on line 5" in message
    assert "rubric.json:2: checks: the list is empty" in message


@pytest.mark.parametrize("name", ["rubric.json", "rubric.yaml"])
def test_double_keys_on_one_line_are_told_apart_by_their_columns(name: str) -> None:
    text = '{"id": "plain",\n  "metadata": {"b": 1, "b": 2}, "version": "1.0"}'

    message = refused(text, name)

    assert f'{name}:2: metadata.b: key "b" is given twice, on line 2 in columns 16 and 24' in message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_json_numbers_that_are_not_finite_are_refused(number: str) -> None:
    document = json.loads(json.dumps(_plain_data()))
    document["scoring"] = {"combine": "min", "threshold": "HERE"}
    text = json.dumps(document).replace('"HERE"', number)

    assert f"{number} is not a finite number" in refused(text, "rubric.json")


@pytest.mark.parametrize("number", [".nan", ".inf", "-.INF", "1.0e+999"])
def test_yaml_numbers_that_are_not_finite_are_refused_also_where_anything_goes(number: str) -> None:
    assert "is not a finite number" in refused(PLAIN + f"metadata: {{deep: [{number}]}}\n")


def test_a_double_block_is_refused_with_both_places() -> None:
    assert 'key "scoring" is given twice, on line 7 and on line 9' in refused(
        PLAIN + "scoring:\n  combine: min\n"
    )


def test_a_number_in_quotes_is_no_number() -> None:
    assert 'must be a number, but "nan" is text' in refused(
        PLAIN.replace("all_pass", 'min\n  threshold: "nan"')
    )


def test_doubtful_words_are_refused_even_where_anything_goes() -> None:
    message = refused(PLAIN + "metadata: {a: yes, b: 0o17, c: 017, d: 2024-01-02, e: 1_000, off: x}\n")

    assert "metadata.a: yes was read as true" in message
    assert "metadata.b" not in message
    assert "metadata.c: 017 was read as the number 15" in message
    assert "metadata.d: 2024-01-02 was read as a date" in message
    assert "metadata.e: 1_000 was read as the number 1000" in message
    assert "metadata.off: the key off is not text to YAML" in message


def test_a_list_as_a_key_is_one_mistake() -> None:
    (line,) = refused(PLAIN + "metadata: {? [a, b] : c, d: e}\n").splitlines()

    assert "the key (a list or mapping) is not text to YAML" in line


def test_several_aliases_and_merge_keys_are_fine_while_they_stay_small() -> None:
    text = PLAIN + "metadata: {base: &b {x: 1, y: 2}, more: {<<: *b, y: 3}, again: *b}\n"

    assert parse_rubric(text).metadata == {
        "base": {"x": 1, "y": 2},
        "more": {"x": 1, "y": 3},
        "again": {"x": 1, "y": 2},
    }


def test_a_bomb_of_aliases_is_refused_at_once() -> None:
    text = "a: &a0 [x]\n" + "".join(f"b{n}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(60))
    began = time.monotonic()

    assert "aliases expand to more than" in refused(text)
    assert time.monotonic() - began < 1


def test_a_deep_document_is_refused_in_yaml_and_json() -> None:
    assert "nested more than 100 levels deep" in refused("[" * 900 + "]" * 900)
    assert "nested" in refused("[" * 100_000 + "]" * 100_000, "deep.json")
    assert "not valid YAML" in refused("[" * 100_000)
    assert "nested more than 100 levels deep" in refused("- " * 5000 + "x")


def test_bytes_that_are_not_utf_8_are_named_with_their_line() -> None:
    assert "rubric.yaml:2: byte 0xff is not UTF-8" in refused(b"id: a\nlabel: \xff\n")


@pytest.mark.parametrize("where", ["label: a\x01b", 'label: "a\x01b"', "# \x01"])
def test_a_control_character_is_named_with_its_line(where: str) -> None:
    assert "rubric.yaml:2: not valid YAML: the control character U+0001" in refused(f"id: a\n{where}\n")


def test_a_missing_file_a_folder_and_a_huge_file_each_get_one_message(tmp_path: Path) -> None:
    (tmp_path / "huge.yaml").write_bytes(b"#" * 10_000_001)

    for path, words in (
        (tmp_path / "no.yaml", "there is no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "huge.yaml", "is larger than 10 MB"),
        (Path("/dev/null"), "is not a regular file"),
        (Path("a\0b"), "there is no such file"),
        (tmp_path / ("n" * 300), "cannot be read"),
    ):
        with pytest.raises(AuthoringError, match=words) as caught:
            load_rubric(path)
        assert len(caught.value.problems) == 1


def test_half_a_surrogate_pair_is_refused_and_a_whole_one_is_a_character() -> None:
    text = json.dumps({**_plain_data(), "label": "HERE"})

    assert "half of a surrogate pair" in refused(text.replace("HERE", "\\ud800"), "rubric.json")
    assert parse_rubric(text.replace("HERE", "\\ud83d\\ude00"), "rubric.json").label == "\U0001f600"


def test_a_kind_is_judged_by_its_own_definition_alone() -> None:
    message = refused(PLAIN.replace("values: [x]", "value: [x]"))

    assert message.count("\n") == 1
    assert 'unknown field "value"' in message
    assert '"values" is missing' in message


def test_the_old_name_of_reference_path_is_refused_and_the_new_one_named() -> None:
    text = PLAIN.replace("must_contain_any", "target_match").replace("values: [x]", "source: expected.a")

    assert 'checks[0].source: unknown field "source"; did you mean "reference_path"?' in refused(text)


def test_a_weight_for_no_check_loads_with_a_warning_and_is_an_error_when_strict() -> None:
    doc = parse_document(PLAIN.replace("all_pass", "weighted_avg\n  weights: {b: 2}"), "rubric.yaml")

    rubric = rubric_of(doc)

    (error,) = lint(rubric, doc, strict=True).errors
    assert (error.line, error.path) == (9, "scoring.weights.b")
    assert lint(rubric, doc).errors == ()
    assert error in lint(rubric, doc).warnings


def test_numbers_beyond_64_bits_are_refused_not_rounded() -> None:
    assert "is too large a number" in refused(PLAIN + f"metadata: {{n: {10**30}}}\n")
    assert "is too large a number" in refused(PLAIN + f"metadata: {{n: {'9' * 9000}}}\n")
    assert "is a broken number" in refused(PLAIN + f"metadata: {{n: 0x{'f' * 9000}}}\n")


def test_a_plugin_kind_loads_with_the_plugin_and_is_a_typing_error_without_it() -> None:
    text = PLAIN.replace("must_contain_any", "word_count").replace("values: [x]", "min: 20")
    with_plugin = RubricSchema.of([WORD_COUNT])

    assert parse_rubric(text, schemas=with_plugin).checks[0]["min"] == 20
    assert 'unknown kind "word_count"' in refused(text)
    assert 'unknown field "mim"; did you mean "min"' in refused(
        text.replace("min:", "mim:"), schemas=with_plugin
    )


def test_writing_and_reading_back_changes_nothing() -> None:
    text = (
        PLAIN
        + 'metadata: {a: ["no", "1.0", "", "x: y # z", "\\x85", "\\u2028 b", "\\x07", 1.5, null, -0.0]}\n'
    )
    rubric = parse_rubric(text)

    assert parse_rubric(dump_rubric(rubric)) == rubric
    assert repr(parse_rubric(dump_rubric(rubric)).metadata) == repr(rubric.metadata)


def test_a_rubric_loads_in_under_20_ms() -> None:
    parse_rubric(PLAIN)
    checks = "".join(f"  - id: c{n}\n    kind: must_contain_any\n    values: [x]\n" for n in range(20))
    text = PLAIN.replace("scoring:", checks + "scoring:")
    began = time.process_time()

    for _ in range(10):
        parse_rubric(text)

    assert (time.process_time() - began) / 10 < 0.02


def _plain_data() -> dict[str, object]:
    checks = [{"id": "a", "kind": "must_contain_any", "values": ["x"]}]
    return {"id": "plain", "version": "1.0", "checks": checks, "scoring": {"combine": "all_pass"}}
