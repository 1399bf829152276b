"""JSON Schema's findings, said in plain sentences with the line they are about.

A schema may carry `x-say`: what a pattern or choice wants, in words.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import ValidationError
from jsonschema.protocols import Validator

from orchestrator.errors import Problem
from orchestrator.loading.located import Located, Path, shorten

RESERVED = frozenset({"services", "steps", "secrets"})
"""Names kept for later: refused as such, not as typing errors."""
RENAMED = {("target_match", "source"): "reference_path"}
"""(kind, field) an older draft knew -> its name today (C-1)."""

_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping (name: value)",
    "null": "nothing",
}


def explain(checker: Validator, doc: Located, data: Any, at: Path = ()) -> Iterator[Problem]:
    """Every way in which `data`, which stands at `at` in `doc`, does not satisfy the checker's schema."""
    for error in checker.iter_errors(data):
        yield from _say(error, checker.schema, doc, at)


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of `known` that `word` may have been meant as, best first."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=3, cutoff=0.6)
    folded = word.casefold().replace("-", "_").replace(" ", "_")
    starts = [k for k in known if len(folded) > 2 and (k.startswith(folded) or folded.startswith(k))]
    return list(dict.fromkeys([*(k for k in known if k == folded), *close, *starts]))[:3]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest known word, or all of them when none is near."""
    known = sorted(known)
    close = nearest(word, known)
    if close:
        return "did you mean " + " or ".join(f'"{c}"' for c in close) + "?"
    return "known: " + ", ".join(known) if known else "remove it"


def describe(value: Any, written: str | None = None) -> str:
    """A value as people would name it.

    >>> describe(False, "no"), describe(1.1, "1.10"), describe("x"), describe([])
    ('no was read as false', '1.10 was read as the number 1.1', '"x" is text', 'a list is there')
    """
    if isinstance(value, str):
        return f'"{shorten(value)}" is text'
    if isinstance(value, list):
        return "a list is there"
    if isinstance(value, dict):
        return "a mapping is there"
    if value is None:
        return f"{written} was read as nothing (null)" if written else "nothing is written here"
    plain = json.dumps(value)
    kind = "" if isinstance(value, bool) else "the number "
    if written and written != plain:
        return f"{shorten(written)} was read as {kind}{plain}"
    return f"{shorten(plain)} is " + ("true or false" if isinstance(value, bool) else "a number")


def _say(error: ValidationError, root: Any, doc: Located, at: Path) -> Iterator[Problem]:
    path = (*at, *error.absolute_path)
    rule = str(error.validator)
    if rule in ("additionalProperties", "unevaluatedProperties"):
        yield from _unknown_fields(error, root, doc, path)
    elif rule == "required":
        yield from _missing(error, root, doc, path)
    elif rule == "type":
        yield doc.problem(path, *_wrong_type(error.validator_value, error.instance, doc, path))
    elif rule in ("oneOf", "anyOf") and "x-say" not in error.schema:
        yield from _alternatives(error, root, doc, at)
    else:
        yield doc.problem(path, *_wrong_value(error, rule), key="propertyNames" in error.absolute_schema_path)


def _unknown_fields(error: ValidationError, root: Any, doc: Located, path: Path) -> Iterator[Problem]:
    known = set(_properties(error.schema, root))
    kind = error.instance.get("kind")
    for name in error.instance:
        if name in known:
            continue
        message, hint = f'unknown field "{shorten(name)}"', did_you_mean(name, known)
        if name in RESERVED:
            message, hint = f'"{name}" is not yet supported', "remove it"
        elif renamed := RENAMED.get((str(kind), name)):
            hint = f'did you mean "{renamed}"?'
        yield doc.problem((*path, name), message, hint, key=True)


def _properties(schema: Any, root: Any) -> Iterator[str]:
    """Field names that a schema speaks of, through references and alternatives."""
    if not isinstance(schema, Mapping):
        return
    yield from schema.get("properties", {})
    for name in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(name, ()):
            yield from _properties(part, root)
    for name in ("if", "then", "else"):
        yield from _properties(schema.get(name), root)
    if "$ref" in schema:
        yield from _properties(_target(schema["$ref"], root), root)


def _target(ref: str, root: Any) -> Any:
    target = root
    for step in ref.removeprefix("#/").split("/"):
        target = target.get(step, {}) if isinstance(target, Mapping) else {}
    return target


def _missing(error: ValidationError, root: Any, doc: Located, path: Path) -> Iterator[Problem]:
    for name in error.validator_value:
        if name in error.instance:
            continue
        wanted = error.schema.get("properties", {}).get(name, {})
        if "$ref" in wanted:
            wanted = {**_target(wanted["$ref"], root), **wanted}
        say = wanted.get("x-say") or wanted.get("description") or ""
        if "enum" in wanted:
            say = "one of " + ", ".join(map(str, wanted["enum"]))
        hint = f"add {name}: {say}" if say else f"add {name}"
        yield doc.problem(path, f'"{name}" is missing', hint.rstrip("."))


def _wrong_type(wanted: Any, value: Any, doc: Located, path: Path) -> tuple[str, str]:
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    written = doc.written(path)
    words = " or ".join(_WORDS[w] for w in wanted)
    seen = describe(value, written)
    if "string" in wanted and not isinstance(value, dict | list):
        field = f"{path[-1]}: " if path and isinstance(path[-1], str) else ""
        if written:
            return f"must be a quoted string: {seen}", f'quote it: {field}"{shorten(written)}"'
        return f"must be {words}, but {seen}", "write it, or remove the field"
    hint = "write " + words
    if "number" in wanted and isinstance(value, str):
        hint = _number_hint(value)
    elif "boolean" in wanted and isinstance(value, str):
        hint = "write true or false, without quotes"
    elif "array" in wanted:
        hint = (
            f"put it in a list: [{shorten(written or str(value), 30)}]" if _scalar(value) else "write a list"
        )
    return f"must be {words}, but {seen}", hint


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _number_hint(value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return "write a plain number"
    if value.strip().lstrip("+-").replace(".", "", 1).isascii() and number == number and abs(number) < 1e15:
        plain = repr(int(number)) if number.is_integer() else repr(number)
        return f"write the plain number {plain}, without quotes"
    return "write a plain number"


def _wrong_value(error: ValidationError, rule: str) -> tuple[str, str]:
    limit, value = error.validator_value, error.instance
    seen = f'"{shorten(value)}"' if isinstance(value, str) else shorten(json.dumps(value, default=str))
    say = error.schema.get("x-say", "")
    if say and rule in ("pattern", "anyOf", "oneOf", "minProperties", "maxProperties"):
        shape = "holds" if rule.endswith("Properties") else "is"
        found = ", ".join(value) or "none" if shape == "holds" else seen
        return (
            f"must hold {say}, but {found} is there" if shape == "holds" else f"{seen} is not {say}"
        ), f"write {say}"
    if rule == "enum":
        return f"{seen} is not one of {', '.join(map(str, limit))}", did_you_mean(str(value), map(str, limit))
    if rule == "const":
        return f"must be {json.dumps(limit)}, but {seen} is there", f"write {json.dumps(limit)}"
    plain = {
        "minimum": f"{seen} is less than {limit}",
        "exclusiveMinimum": f"{seen} is not more than {limit}",
        "maximum": f"{seen} is more than {limit}",
        "exclusiveMaximum": f"{seen} is not less than {limit}",
        "minLength": "is empty" if limit == 1 else f"{seen} is shorter than {limit} characters",
        "maxLength": f"{seen} is longer than {limit} characters",
        "minItems": "the list is empty" if limit == 1 else f"the list has fewer than {limit} items",
        "maxItems": f"the list has more than {limit} items",
        "minProperties": "is empty" if limit == 1 else f"has fewer than {limit} fields",
        "uniqueItems": "an item is listed twice",
        "pattern": f"{seen} does not match {limit}",
    }
    hints = {
        "minimum": f"write {limit} or more",
        "exclusiveMinimum": f"write more than {limit}",
        "maximum": f"write {limit} or less",
        "exclusiveMaximum": f"write less than {limit}",
        "minLength": "write something, or remove it",
        "minItems": "list at least one item, or remove the field",
        "uniqueItems": "list each item once",
    }
    return plain.get(
        rule, f"{seen} does not satisfy {rule} {shorten(json.dumps(limit, default=str))}"
    ), hints.get(rule, error.schema.get("description", "see the schema").rstrip("."))


def _alternatives(error: ValidationError, root: Any, doc: Located, at: Path) -> Iterator[Problem]:
    """Alternatives told apart by a `kind` are judged by that kind alone; the others by required fields."""
    path = (*at, *error.absolute_path)
    choices = [_target(c["$ref"], root) if "$ref" in c else c for c in error.validator_value]
    value = error.instance
    kinds = {_kind(c): number for number, c in enumerate(choices) if _kind(c)}
    if kinds and isinstance(value, dict):
        kind = value.get("kind")
        if isinstance(kind, str) and kind in kinds:
            for inner in error.context or ():
                if inner.schema_path[0] == kinds[kind]:
                    yield from _say(inner, root, doc, at)
        elif "kind" not in value:
            yield doc.problem(path, '"kind" is missing', "add kind: one of " + ", ".join(sorted(kinds)))
        else:
            yield unknown_kind(kind, kinds, doc, (*path, "kind"))
        return
    wanted = ["/".join(c.get("required", ())) for c in choices if isinstance(c, Mapping)]
    here = [w for w in wanted if isinstance(value, dict) and w in value]
    seen = f"{' and '.join(here)} are both there" if here else "none is there"
    yield doc.problem(
        path, f"needs exactly one of {' and '.join(wanted)}; {seen}", "keep one" if here else "add one"
    )


def _kind(choice: Any) -> str:
    return (
        str(choice.get("properties", {}).get("kind", {}).get("const", ""))
        if isinstance(choice, Mapping)
        else ""
    )


def unknown_kind(kind: Any, kinds: Iterable[str], doc: Located, path: Path) -> Problem:
    """A `kind` that nobody knows (C-40)."""
    if not isinstance(kind, str):
        return doc.problem(path, *_wrong_type("string", kind, doc, path))
    return doc.problem(path, f'unknown kind "{shorten(kind)}"', did_you_mean(kind, kinds))
