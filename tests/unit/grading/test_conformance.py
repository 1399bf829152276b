"""docs/conformance.md lists every rule once, and the tests it names are there."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (C-\d+|\d+) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
EVERY = [*map(str, range(1, 226)), *(f"C-{n}" for n in range(1, 57))]


@cache
def named_in(file: str) -> frozenset[str]:
    return frozenset(
        re.findall(r"^def (test_\w+)", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE)
    )


def test_every_rule_and_decision_is_listed_exactly_once_and_in_order() -> None:
    assert [number for number, _, _ in ROWS] == EVERY


@pytest.mark.parametrize(("number", "text", "kept"), ROWS, ids=[number for number, _, _ in ROWS])
def test_what_keeps_a_rule_is_there(number: str, text: str, kept: str) -> None:
    for name in kept.split("<br>"):
        if name == "nothing to test":
            continue
        named = name.strip("`")
        if named.endswith(".yaml"):
            assert list((ROOT / "schema/examples").rglob(named)), f"{number}: no example {named}"
            continue
        file, _, test = named.partition("::")
        assert test in named_in(file), f"{number}: no test {named}"


def test_the_project_rests_on_the_named_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=~ \[]", dependency)[0] for dependency in project["dependencies"]}

    assert {"docker", "pydantic", "pyyaml", "jsonschema", "sacrebleu", "tenacity"} <= names


def test_the_top_level_is_the_given_one() -> None:
    for name in ("pyproject.toml", "Makefile", "orchestrator", "sandboxes", "benchmarks", "schema", "tests"):
        assert (ROOT / name).exists(), name


def test_the_schemas_have_an_id_of_their_own() -> None:
    for file in (ROOT / "schema").glob("*.schema.json"):
        identity = json.loads(file.read_text(encoding="utf-8")).get("$id", "")

        assert identity and "drupal" not in identity, file.name


def test_the_page_says_that_checks_see_form_and_state_and_not_truth() -> None:
    assert "the form of a text and the state of a room, not whether what the text says is true" in PAGE
