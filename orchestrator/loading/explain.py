"""JSON Schema's findings, said in plain sentences with the line they are about.

A schema may carry `x-say`: what a pattern or choice wants, in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from orchestrator.errors import Problem
from orchestrator.loading.located import Located, Path, shorten
from orchestrator.loading.words import did_you_mean, wrong_type, wrong_value
from orchestrator.schemas import Checker

if TYPE_CHECKING:
    from jsonschema import ValidationError

RESERVED = frozenset({"services", "steps", "secrets"})
"""Names kept for later: refused as such, not as typing errors."""
RENAMED = {("target_match", "source"): "reference_path"}
"""(kind, field) an older draft knew -> its name today (C-1)."""


def explain(checker: Checker, doc: Located, data: Any, at: Path = ()) -> Iterator[Problem]:
    """Every way in which `data`, which stands at `at` in `doc`, does not satisfy the checker's schema."""
    teller = _Teller(checker.schema, doc, at)
    for error in checker.iter_errors(data):
        yield from teller.say(error)


def unknown_kind(kind: Any, kinds: Iterable[str], doc: Located, path: Path) -> Problem:
    """A `kind` that nobody knows (C-40)."""
    if not isinstance(kind, str):
        return doc.problem(path, *wrong_type("string", kind, doc.written(path), "kind"))
    return doc.problem(path, f'unknown kind "{shorten(kind)}"', did_you_mean(kind, kinds))


def missing_kind(kinds: Iterable[str], doc: Located, path: Path) -> Problem:
    """A check or source without its `kind`."""
    return doc.problem(path, '"kind" is missing', "add kind: one of " + ", ".join(sorted(kinds)))


class _Teller:
    """Says the errors of one document; `root` is the schema that references point into."""

    def __init__(self, root: Any, doc: Located, at: Path) -> None:
        self.root = root
        self.doc = doc
        self.at = at

    def say(self, error: ValidationError) -> Iterator[Problem]:
        path = (*self.at, *error.absolute_path)
        rule = str(error.validator)
        limit: Any = error.validator_value
        schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
        if rule in ("additionalProperties", "unevaluatedProperties"):
            yield from self._unknown_fields(schema, error.instance, path)
        elif rule == "required":
            yield from self._missing(limit, schema, error.instance, path)
        elif rule == "type":
            field = str(path[-1]) if path and isinstance(path[-1], str) else ""
            written = self.doc.written(path)
            yield self.doc.problem(path, *wrong_type(limit, error.instance, written, field))
        elif rule in ("oneOf", "anyOf") and "x-say" not in schema:
            yield from self._alternatives(error, limit, path)
        elif "propertyNames" in error.absolute_schema_path:
            words = wrong_value(rule, limit, error.instance, schema)
            yield self.doc.problem((*path, str(error.instance)), *words, key=True)
        else:
            yield self.doc.problem(path, *wrong_value(rule, limit, error.instance, schema))

    def _unknown_fields(self, schema: Mapping[str, Any], value: Any, path: Path) -> Iterator[Problem]:
        known = set(self._properties(schema))
        for name in value:
            if name in known:
                continue
            message, hint = f'unknown field "{shorten(name)}"', did_you_mean(name, known)
            if name in RESERVED:
                message, hint = f'"{name}" is not yet supported', "remove it"
            elif renamed := RENAMED.get((str(value.get("kind")), name)):
                hint = f'did you mean "{renamed}"?'
            yield self.doc.problem((*path, name), message, hint, key=True)

    def _properties(self, schema: Any) -> Iterator[str]:
        """Field names that a schema speaks of, through references and alternatives."""
        if not isinstance(schema, Mapping):
            return
        yield from schema.get("properties", {})
        for name in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(name, ()):
                yield from self._properties(part)
        for name in ("if", "then", "else"):
            yield from self._properties(schema.get(name))
        if "$ref" in schema:
            yield from self._properties(self._target(schema))

    def _target(self, schema: Any) -> Any:
        """What a reference leads to; the schema itself when it is none."""
        if not isinstance(schema, Mapping) or "$ref" not in schema:
            return schema
        target = self.root
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            target = target.get(step, {}) if isinstance(target, Mapping) else {}
        return target

    def _missing(self, names: Any, schema: Mapping[str, Any], value: Any, path: Path) -> Iterator[Problem]:
        for name in names:
            if name in value:
                continue
            wanted = schema.get("properties", {}).get(name, {})
            wanted = {**self._target(wanted), **wanted}
            say = str(wanted.get("x-say") or wanted.get("description") or "")
            if "enum" in wanted:
                say = "one of " + ", ".join(map(str, wanted["enum"]))
            hint = f"add {name}: {say}" if say else f"add {name}"
            yield self.doc.problem(path, f'"{name}" is missing', hint.rstrip("."))

    def _alternatives(self, error: ValidationError, limit: Any, path: Path) -> Iterator[Problem]:
        """Alternatives told apart by `kind` are judged by that kind alone, others by required fields."""
        choices = [self._target(choice) for choice in limit]
        value: Any = error.instance
        kinds = {_kind(c): number for number, c in enumerate(choices) if _kind(c)}
        if not kinds or not isinstance(value, dict):
            yield self._exactly_one(choices, value, path)
        elif "kind" not in value:
            yield missing_kind(kinds, self.doc, path)
        elif not isinstance(value["kind"], str) or value["kind"] not in kinds:
            yield unknown_kind(value["kind"], kinds, self.doc, (*path, "kind"))
        else:
            for inner in error.context or ():
                if inner.schema_path[0] == kinds[value["kind"]]:
                    yield from self.say(inner)

    def _exactly_one(self, choices: list[Any], value: Any, path: Path) -> Problem:
        wanted = [str(name) for c in choices if isinstance(c, Mapping) for name in c.get("required", ())]
        here = [w for w in wanted if isinstance(value, dict) and w in value]
        seen = f"{' and '.join(here)} are both there" if here else "none is there"
        advice = f"keep one of {' and '.join(here)}" if here else f"add {' or '.join(wanted)}"
        return self.doc.problem(path, f"needs exactly one of {' and '.join(wanted)}; {seen}", advice)


def _kind(choice: Any) -> str:
    if not isinstance(choice, Mapping):
        return ""
    return str(choice.get("properties", {}).get("kind", {}).get("const", ""))
