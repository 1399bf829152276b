"""The schema files agree with the models, and plug-ins can add kinds but take none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from orchestrator import schemas
from orchestrator.documents import benchmark as b
from orchestrator.documents import nightly as n
from orchestrator.documents import record as r
from orchestrator.documents import rubric as u
from orchestrator.errors import AuthoringError
from orchestrator.loading import parse_rubric


def probe(kind: str = "probe") -> dict[str, Any]:
    fields = {"kind": {"const": kind}, "depth": {"type": "integer"}}
    return {
        "allOf": [
            {"$ref": "#/$defs/check_base"},
            {"type": "object", "required": ["kind"], "properties": fields},
        ],
        "unevaluatedProperties": False,
    }


def at(name: str, *path: str) -> dict[str, Any]:
    found: Any = schemas.load(name)
    for step in path:
        found = found[step]
    return found


def required(model: type[BaseModel]) -> set[str]:
    return {name for name, field in model.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("name", schemas.NAMES)
def test_a_schema_is_valid_and_has_an_id_of_our_own(name: str) -> None:
    schema = schemas.load(name)

    Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"https://proctor.invalid/schema/{name}-1.schema.json"


@pytest.mark.parametrize(
    ("model", "path", "ours"),
    [
        (u.Rubric, ("rubric",), set()),
        (u.Scoring, ("rubric", "$defs", "scoring"), set()),
        (b.Benchmark, ("benchmark",), {"root", "file"}),
        (b.Task, ("benchmark", "$defs", "task"), {"line"}),
        (b.Environment, ("benchmark", "$defs", "environment"), set()),
        (b.DebianRecipe, ("benchmark", "$defs", "environment", "properties", "debian"), set()),
        (b.PathSource, ("benchmark", "$defs", "source_path"), set()),
        (b.GitSource, ("benchmark", "$defs", "source_git"), set()),
        (b.ArchiveSource, ("benchmark", "$defs", "source_archive"), set()),
        (b.ReleasePairSource, ("benchmark", "$defs", "source_release_pair"), set()),
        (b.DebianSource, ("benchmark", "$defs", "source_debian"), set()),
        (b.Dependencies, ("benchmark", "$defs", "dependencies"), set()),
        (b.TaskLimits, ("benchmark", "$defs", "limits"), set()),
        (b.Profile, ("benchmark", "$defs", "profile"), set()),
        (b.Config, ("benchmark", "$defs", "config"), set()),
        (n.Nightly, ("nightly",), {"file"}),
        (n.NightBenchmark, ("nightly", "$defs", "benchmark"), set()),
        (n.Baseline, ("nightly", "properties", "baseline"), set()),
        (n.Confirm, ("nightly", "properties", "confirm"), set()),
        (n.NightGate, ("nightly", "$defs", "gate"), set()),
        (n.Apart, ("nightly", "$defs", "apart"), set()),
        (n.Retention, ("nightly", "properties", "retention"), set()),
        (n.Notify, ("nightly", "$defs", "notify"), set()),
        (r.TrialRecord, ("record",), set()),
        (r.VerdictRecord, ("record", "$defs", "VerdictRecord"), set()),
        (r.OutcomeRecord, ("record", "$defs", "OutcomeRecord"), set()),
        (r.ChangeRecord, ("record", "$defs", "ChangeRecord"), set()),
        (r.AgentRecord, ("record", "$defs", "AgentRecord"), set()),
        (r.PhaseTime, ("record", "$defs", "PhaseTime"), set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_schema_and_model_have_the_same_fields(
    model: type[BaseModel], path: tuple[str, ...], ours: set[str]
) -> None:
    schema = at(*path)
    written = set(schema["properties"])

    assert written - {"defaults", "questions"} == set(model.model_fields) - ours
    assert schema["additionalProperties"] is False
    assert set(schema.get("required", ())) - {"tasks"} == required(model) - ours - {"tasks"}


def test_the_record_schema_and_the_model_describe_the_same_values() -> None:
    def bare(node: Any) -> Any:
        if isinstance(node, list):
            return [bare(n) for n in node]
        if not isinstance(node, dict):
            return node
        noise = ("title", "description", "default", "$id", "$schema")
        return {k: bare(v) for k, v in node.items() if k not in noise or isinstance(v, dict)}

    ours = bare(schemas.load("record"))

    assert ours == bare(r.TrialRecord.model_json_schema())


def test_the_record_schema_lists_every_end_and_every_status() -> None:
    properties = at("record", "properties")

    assert tuple(properties["end"]["enum"]) == r.ENDS
    assert set(properties["status"]["enum"]) == set(r.TrialStatus.__args__)


def test_there_are_fourteen_kinds_each_pinned_strict_and_on_the_common_base() -> None:
    definitions = at("rubric", "$defs")
    kinds = [name for name in definitions if name.startswith("check_") and name != "check_base"]

    assert len(kinds) == 14
    assert [c["$ref"] for c in definitions["check"]["oneOf"]] == [f"#/$defs/{k}" for k in kinds]
    for name in kinds:
        base, own = definitions[name]["allOf"]
        assert base == {"$ref": "#/$defs/check_base"}
        assert own["properties"]["kind"] == {"const": name.removeprefix("check_")}
        assert "kind" in own["required"]
        assert definitions[name]["unevaluatedProperties"] is False


def test_a_plugin_kind_is_spliced_in_and_the_static_schema_stays_as_it_is() -> None:
    before = copy.deepcopy(schemas.load("rubric"))

    combined = schemas.combined([{"probe": probe()}])

    assert combined["$defs"]["check_probe"] == probe()
    assert {"$ref": "#/$defs/check_probe"} in combined["$defs"]["check"]["oneOf"]
    assert schemas.load("rubric") == before
    Draft202012Validator.check_schema(combined)


def test_core_wins_over_a_plugin_and_the_first_plugin_over_the_second() -> None:
    core = schemas.load("rubric")["$defs"]["check_regex"]
    second = {**probe(), "description": "late"}

    combined = schemas.combined([{"regex": probe("regex"), "probe": probe()}, {"probe": second}])

    assert combined["$defs"]["check_regex"] == core
    assert combined["$defs"]["check_probe"] == probe()
    assert combined["$defs"]["check"]["oneOf"].count({"$ref": "#/$defs/check_probe"}) == 1


def _without(*path: str | int) -> dict[str, Any]:
    definition: Any = probe()
    inside = definition
    for step in path[:-1]:
        inside = inside[step]
    del inside[path[-1]]
    return definition


@pytest.mark.parametrize(
    ("kind", "definition", "words"),
    [
        ("probe", _without("allOf", 1, "properties", "kind"), "does not pin its kind"),
        ("probe", probe("other"), "does not pin its kind"),
        ("probe", _without("allOf", 1, "required"), "does not pin its kind"),
        ("probe", _without("unevaluatedProperties"), "would accept unknown fields"),
        ("probe", _without("allOf", 0), "would accept unknown fields"),
        ("probe", {**probe(), "type": 7}, "is no valid JSON Schema"),
        ("probe", "probe", "not a JSON Schema object"),
        ("Not A Kind", probe("Not A Kind"), "is no name for a kind"),
        ("base", probe("base"), ""),
    ],
)
def test_a_definition_that_could_take_other_checks_is_refused(kind: str, definition: Any, words: str) -> None:
    if kind == "base":
        assert "check_base" in schemas.combined([{kind: definition}])["$defs"]
        return

    with pytest.raises(AuthoringError, match=words):
        schemas.combined([{kind: definition}])


def test_installed_analyzers_are_tools_of_score_delta() -> None:
    text = (
        'id: a\nversion: "1.0"\nscoring: {combine: all_pass}\n'
        "checks: [{kind: score_delta, tool: readability, min_delta: 1}]\n"
    )

    with pytest.raises(AuthoringError, match='"readability" is not one of'):
        parse_rubric(text)
    assert parse_rubric(text, schemas=schemas.RubricSchema.of(tools=["readability", "phpcs"]))
    assert schemas.combined(tools=["phpcs"]) == schemas.load("rubric")
