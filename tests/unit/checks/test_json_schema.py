"""json_schema: formats enforced, no way out of the file, and an end whatever schema and text are."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.checks import validation
from orchestrator.checks.ecma import to_pcre
from orchestrator.checks.formats import LONGEST
from orchestrator.checks.json_schema import JsonSchemaExecutor
from orchestrator.checks.regex import Regex
from orchestrator.outcomes import CheckOutcome

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "additionalProperties": False,
}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.fixture(scope="module")
def executor() -> Iterator[JsonSchemaExecutor]:
    made = JsonSchemaExecutor(regex_seconds=0.5)
    yield made
    made.close()


@pytest.fixture
def check(run: Callable[..., CheckOutcome], executor: JsonSchemaExecutor) -> Callable[..., CheckOutcome]:
    def execute(schema: Any, text: str, **context: Any) -> CheckOutcome:
        return run(executor, {"kind": "json_schema", "schema": schema}, text, **context)

    return execute


def test_json_that_satisfies_the_schema_passes(check: Callable[..., CheckOutcome]) -> None:
    assert check(PERSON, '{"name": "Ana", "age": 3}').passed
    assert check(PERSON, 'Here:\n```json\n{"name": "Ana"}\n```\n').passed
    assert check(True, "7").passed


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        (PERSON, '{"age": -1}', "'name' is a required property"),
        (PERSON, '{"name": "A", "age": -1}', "$.age: -1 is less than the minimum of 0"),
        (PERSON, '{"name": "A", "x": 1}', "unexpected properties: 'x'"),
        (PERSON, "prose", "not JSON"),
        (PERSON, '{"name": "A", "name": "B"}', 'the key "name" twice'),
        (True, "NaN", "NaN is no number"),
        (True, "[Infinity]", "Infinity is no number"),
        (True, "```\n1\n```\n```\n2\n```", "2 fenced blocks are not one"),
        (False, "1", "does not allow"),
        ({"enum": [1]}, "true", "True is not one of"),
        ({"uniqueItems": True}, "[1, 1.0]", "not unique"),
        ({"multipleOf": 0.1}, "0.35", "not a multiple"),
    ],
)
def test_what_does_not_fails_and_is_named(
    check: Callable[..., CheckOutcome], schema: Any, text: str, words: str
) -> None:
    outcome = check(schema, text)

    assert (outcome.status, outcome.score) == ("failed", 0.0)
    assert words in outcome.reason


def test_numbers_are_what_was_written(check: Callable[..., CheckOutcome]) -> None:
    assert check({"multipleOf": 0.1}, "0.3").passed
    assert check({"type": "integer"}, "1.0").passed
    assert check({"uniqueItems": True}, "[1, true, 0, false]").passed


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-02-29", "2024-02-30"),
        ("date-time", "2024-01-01T00:00:00Z", "2024-13-01T00:00:00Z"),
        ("time", "12:00:00Z", "25:00:00Z"),
        ("duration", "P1DT2H", "P1Z"),
        ("email", "a@example.org", "nobody"),
        ("email", '"a b"@example.org', "a b@example.org"),
        ("hostname", "a.example", "-a.example"),
        ("ipv4", "127.0.0.1", "127.0.0"),
        ("ipv6", "::1", "::g"),
        ("uri", "https://example.org/a", "not a uri"),
        ("uri-reference", "../a", "\\\\a"),
        ("uri-template", "/a/{b}", "/a/{b"),
        ("iri", "https://é.example/ü?q=ä", "https://é example"),
        ("iri-reference", "/ü", "\\ü"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("json-pointer", "/a/0", "a"),
        ("regex", "^\\p{L}+$", "("),
    ],
)
def test_formats_are_enforced(check: Callable[..., CheckOutcome], name: str, good: str, bad: str) -> None:
    assert check({"format": name}, json.dumps(good)).passed
    assert not check({"format": name}, json.dumps(bad)).passed


@pytest.mark.parametrize("name", ["email", "uri-reference", "regex"])
def test_a_text_that_is_longer_than_any_format_satisfies_none(
    check: Callable[..., CheckOutcome], name: str
) -> None:
    text = "a@b" if name == "email" else "a"

    assert check({"format": name}, json.dumps(text + "b" * (LONGEST - len(text)))).passed
    assert not check({"format": name}, json.dumps(text + "b" * (LONGEST - len(text) + 1))).passed


def test_a_format_nobody_knows_is_named(check: Callable[..., CheckOutcome]) -> None:
    outcome = check({"properties": {"a": {"format": "emial"}}}, "{}")

    assert outcome.passed
    assert "the format 'emial' is not known and was not checked" in outcome.reason


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/schema.json"},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "other.json"},
        {"$ref": "#/$defs/nowhere"},
        {"properties": {"never": {"items": {"$ref": "other.json#/a"}}}},
        {"$dynamicRef": "other#node"},
    ],
    ids=str,
)
def test_no_reference_leaves_the_file(
    check: Callable[..., CheckOutcome], schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "create_connection", no_network)

    outcome = check(schema, "{}")

    assert outcome.status == "failed"
    assert "leads out of the schema's own file, or nowhere" in outcome.reason


def test_references_inside_the_file_work(check: Callable[..., CheckOutcome]) -> None:
    inner = {"$id": "urn:example:node", "type": "integer"}

    assert check({"$defs": {"a": inner}, "items": {"$ref": "urn:example:node"}}, "[1]").passed
    assert not check({"$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a"}, '"x"').passed
    old = {
        "$schema": DRAFT_7,
        "definitions": {"a": {"type": "integer"}},
        "items": {"$ref": "#/definitions/a"},
    }
    assert not check(old, '["x"]').passed


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "sting"}, "it is no JSON Schema: $.type"),
        ({"pattern": "("}, "it is no JSON Schema: $.pattern"),
        ({"$schema": "urn:x"}, "no draft of JSON Schema we know"),
        ({"$defs": {"a": {"$schema": DRAFT_7}}}, "a $schema of its own"),
        ([1], "a schema must be an object"),
        ({"patternProperties": {"a": True}, "unevaluatedProperties": False}, "is not supported"),
        ({"const": float("nan")}, ""),
        ({"const": {1, 2}}, "schema is no JSON"),
    ],
)
def test_a_schema_that_is_wrong_fails_the_check_and_is_named(
    check: Callable[..., CheckOutcome], schema: Any, words: str
) -> None:
    outcome = check(schema, "{}")

    assert outcome.status == "failed"
    assert words in outcome.reason


@pytest.mark.parametrize("fields", [{}, {"schema": True, "schema_ref": "a"}])
def test_exactly_one_of_schema_and_schema_ref_is_given(
    run: Callable[..., CheckOutcome], executor: JsonSchemaExecutor, fields: dict[str, Any]
) -> None:
    outcome = run(executor, {"kind": "json_schema", **fields}, "{}")

    assert "exactly one of" in outcome.reason


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"^\d$", "1", True),
        (r"^\d$", "\u0661", False),
        (r"^[\d\D]$", "\u0661", True),
        (r"^[\W]$", "é", True),
        (r"^a$", "a\n", False),
        (r"\bé", "é", False),
        (r"^\w+\b!$", "ab!", True),
        (r"^\u0041[^]\u{1F600}$", "A\n\U0001f600", True),
        (r"^\uD83D\uDE00$", "\U0001f600", True),
        (r"^[[:a]$", ":", True),
        (r"^.$", "\u2028", False),
        (r"[]", "a", False),
        (r"^(?<n>a)\k<n>$", "aa", True),
    ],
)
def test_patterns_mean_what_they_mean_in_json_schema(pattern: str, text: str, matches: bool) -> None:
    assert Regex().search(to_pcre(pattern), "", text) is matches


NODE = {
    "properties": {"c": {"$ref": "#"}},
    "anyOf": [{"properties": {"c": {"$ref": "#"}}}, {"properties": {"c": {"$ref": "#"}}}],
    "unevaluatedProperties": False,
}


SLOW = {"pattern": "^(a+)+$"}
LONG = "a" * 5000 + "!"


def nested(levels: int) -> str:
    return '{"c":' * levels + "{}" + "}" * levels


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        (SLOW, json.dumps(LONG), "within its limits"),
        ({"patternProperties": {SLOW["pattern"]: True}}, json.dumps({LONG: 1}), "within its limits"),
        (
            {"additionalProperties": False, "patternProperties": {SLOW["pattern"]: True}},
            json.dumps({LONG: 1}),
            "within its limits",
        ),
        (NODE, nested(40), "steps to judge"),
        ({"$ref": "#"}, "{}", "nested too deeply"),
        ({"properties": {"c": {"$ref": "#"}}}, nested(900), "nested too deeply"),
        ({"format": "iri"}, json.dumps("a" * 100_000), "is not a 'iri'"),
    ],
    ids=["pattern", "patternProperties", "additionalProperties", "doubling", "circle", "deep", "iri"],
)
def test_no_schema_and_no_text_keep_it_busy(
    check: Callable[..., CheckOutcome], monkeypatch: pytest.MonkeyPatch, schema: Any, text: str, words: str
) -> None:
    monkeypatch.setattr(validation, "STEPS", 50_000)
    started = time.thread_time()

    outcome = check(schema, text)

    assert outcome.status == "failed"
    assert words in outcome.reason
    assert time.thread_time() - started < 5


def test_many_unlike_items_are_compared_by_hash(check: Callable[..., CheckOutcome]) -> None:
    items = json.dumps([{"a": n} for n in range(50_000)])
    started = time.thread_time()

    assert check({"uniqueItems": True}, items).passed
    assert time.thread_time() - started < 5


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "bench" / "schemas" / "sub"
    folder.mkdir(parents=True)
    (folder / "number.schema.json").write_text('{"$id": "urn:example:number", "type": "number"}')
    (folder / "broken.json").write_text('{"type": 1, "type": 2}')
    (tmp_path / "outside.json").write_text('{"type": "string"}')
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    return tmp_path / "bench"


@pytest.mark.parametrize("ref", ["sub/number.schema.json", "sub/number", "urn:example:number"])
def test_a_schema_is_found_in_the_benchmarks_folder_by_path_or_id(
    run: Callable[..., CheckOutcome], executor: JsonSchemaExecutor, root: Path, ref: str
) -> None:
    check = {"kind": "json_schema", "schema_ref": ref}

    assert run(executor, check, "1", root=root).passed
    assert not run(executor, check, '"x"', root=root).passed


def test_a_schema_is_found_in_proctors_own_folder(
    run: Callable[..., CheckOutcome], executor: JsonSchemaExecutor
) -> None:
    check = {"kind": "json_schema", "schema_ref": "rubric"}
    rubric = {"id": "a", "version": "1.0", "checks": [{"kind": "format", "format": "json"}],
              "scoring": {"combine": "all_pass"}}  # fmt: skip

    assert run(executor, check, json.dumps(rubric)).passed
    assert not run(executor, check, json.dumps({**rubric, "id": "A"})).passed


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("../outside", "must stay inside"),
        ("/etc/passwd", "must stay inside"),
        ("https://example.org/a.json", "must stay inside"),
        ("sub\\number", "must stay inside"),
        ("sub/link", "names no file"),
        ("sub", "names no file"),
        ("nowhere", "names no file and no $id"),
        ("sub/broken", 'the key "type" twice'),
        ("", "must be the path"),
        (7, "must be the path"),
    ],
)
def test_no_other_file_can_be_named(
    run: Callable[..., CheckOutcome], executor: JsonSchemaExecutor, root: Path, ref: Any, words: str
) -> None:
    outcome = run(executor, {"kind": "json_schema", "schema_ref": ref}, '"x"', root=root)

    assert outcome.status == "failed"
    assert words in outcome.reason
