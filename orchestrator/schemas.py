"""Where the JSON Schemas lie, and how plug-ins add check kinds to the rubric's.

The static files are authoritative; a combined schema exists only at run time (rules 151 to 159).
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import AuthoringError, Problem

if TYPE_CHECKING:  # loaded at the first question: most documents were found in order before
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

NAMES = ("rubric", "benchmark", "record", "validation", "quarantine", "nightly")
_BASE = {"$ref": "#/$defs/check_base"}
_KIND = re.compile(r"[a-z][a-z0-9_]*\Z")

Definitions = Mapping[str, Mapping[str, Any]]
"""One plug-in's check definitions, by kind."""


def folder() -> Path:
    """The folder of the schema files: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    for place in (package / "_schema", package.parent / "schema"):
        if (place / "rubric.schema.json").is_file():
            return place
    raise FileNotFoundError("the schema files are not installed with proctor; install it again")


def load(name: str) -> dict[str, Any]:
    """The static schema of that name (see NAMES), a fresh copy. Raises KeyError for another name."""
    if name not in NAMES:
        raise KeyError(name)
    return copy.deepcopy(_read(name))


@cache
def _read(name: str) -> dict[str, Any]:
    text = (folder() / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def combined(executor_schemas: Iterable[Definitions] = (), tools: Iterable[str] = ()) -> dict[str, Any]:
    """The rubric schema with the plug-ins' kinds spliced in (rules 152 to 155).

    A kind that exists already is left as it is: core wins, then the first plug-in. `tools` are names of
    further analyzers that `score_delta` may name.
    Raises AuthoringError for a definition that does not pin its kind (rule 153) or is no JSON Schema.
    """
    schema = load("rubric")
    definitions = schema["$defs"]
    for offered in executor_schemas:
        for kind, definition in offered.items():
            if f"check_{kind}" in definitions:
                continue
            _refuse_loose(kind, definition)
            definitions[f"check_{kind}"] = copy.deepcopy(dict(definition))
            definitions["check"]["oneOf"].append({"$ref": f"#/$defs/check_{kind}"})
    known = definitions["check_score_delta"]["allOf"][1]["properties"]["tool"]["enum"]
    known.extend(name for name in dict.fromkeys(tools) if name not in known)
    return schema


def _refuse_loose(kind: str, definition: Mapping[str, Any]) -> None:
    """Rules 153, 156 and 219: a definition that could take another kind's checks never gets in."""
    where = f"plug-in check kind {kind!r}"
    if not isinstance(kind, str) or not _KIND.match(kind):
        raise _plugin_fault(where, "is no name for a kind", "use small letters, digits and _")
    if not isinstance(definition, Mapping):
        raise _plugin_fault(where, "its definition is not a JSON Schema object", "give a mapping")
    parts = [definition, *(p for p in definition.get("allOf", ()) if isinstance(p, Mapping))]
    pins = any(_property(p, "kind").get("const") == kind for p in parts)
    if not pins or not any("kind" in p.get("required", ()) for p in parts):
        raise _plugin_fault(where, "does not pin its kind", f'require kind: {{"const": "{kind}"}}')
    if _BASE not in parts or definition.get("unevaluatedProperties") is not False:
        hint = 'use allOf with {"$ref": "#/$defs/check_base"} and "unevaluatedProperties": false'
        raise _plugin_fault(where, "would accept unknown fields or lacks the shared ones", hint)
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(dict(definition))
    except SchemaError as error:
        raise _plugin_fault(where, f"is no valid JSON Schema: {error.message}", "mend it") from None


def _property(part: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    properties = part.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _plugin_fault(where: str, message: str, hint: str) -> AuthoringError:
    return AuthoringError(Problem(where, 0, "", message, hint))


class Checker:
    """What a schema refuses of a document. `pointer` names a definition of the schema to begin at
    ("$defs/task"); empty for the whole."""

    def __init__(self, schema: Mapping[str, Any], pointer: str = "") -> None:
        self.schema = {"$defs": schema["$defs"], "$ref": f"#/{pointer}"} if pointer else schema

    @cached_property
    def digest(self) -> str:
        """Of the schema, sha256."""
        return hashlib.sha256(json.dumps(self.schema, sort_keys=True).encode()).hexdigest()

    def iter_errors(self, data: Any) -> Iterator[ValidationError]:
        """Everything in `data` that the schema refuses."""
        yield from self._validator.iter_errors(data)

    @cached_property
    def _validator(self) -> Validator:
        built: Validator = _strict()(self.schema)
        return built


@cache
def _strict() -> Any:
    """Draft 2020-12 with patterns whose `$` means the very end, as in JSON Schema's own dialect; Python's
    lets a newline through."""
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def pattern(_: Validator, pattern: str, instance: Any, __: Any) -> Iterator[ValidationError]:
        if isinstance(instance, str) and not _compiled(pattern).search(instance):
            yield ValidationError(f"{instance!r} does not match {pattern!r}")

    return extend(Draft202012Validator, {"pattern": pattern})  # type: ignore[no-untyped-call]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"(?<!\\)\$(?=\||\)|\Z)", r"\\Z", pattern))


@dataclass(frozen=True)
class RubricSchema:
    """A rubric schema made ready: one checker for the document, one for each kind (C-40)."""

    schema: Mapping[str, Any]
    whole: Checker = field(repr=False)
    """For a document with its checks."""
    document: Checker = field(repr=False)
    """For a document but its checks."""
    kinds: Mapping[str, Checker] = field(repr=False)

    @classmethod
    def of(cls, executor_schemas: Iterable[Definitions] = (), tools: Iterable[str] = ()) -> RubricSchema:
        """Core and plug-ins together; see `combined`."""
        schema = combined(executor_schemas, tools)
        checks = {**schema["properties"]["checks"], "items": {"type": "object"}}
        frame = {**schema, "properties": {**schema["properties"], "checks": checks}}
        names = [name for name in schema["$defs"] if name.startswith("check_") and name != "check_base"]
        kinds = {name.removeprefix("check_"): Checker(schema, f"$defs/{name}") for name in names}
        return cls(schema, Checker(schema), Checker(frame), kinds)


@cache
def core() -> RubricSchema:
    """The fourteen kinds of the static file, and nothing else."""
    return RubricSchema.of()


@cache
def checker(name: str) -> Checker:
    """For a whole document of that name (see NAMES)."""
    return Checker(_read(name))


@cache
def benchmark_checker(definition: str = "") -> Checker:
    """For a benchmark document, or for one definition of its schema ("task", "config")."""
    return Checker(_read("benchmark"), f"$defs/{definition}" if definition else "")
