"""Validating a candidate's JSON against an author's JSON Schema: no way out of the file, and an end in sight.

The instance is hostile and the schema may be careless, so every place where jsonschema's own work can grow
faster than its input is replaced or counted: patterns go to PCRE2 with its limits, uniqueItems compares by
hash, and each keyword that is applied costs a step of a budget (recursive schemas with unevaluated*
double the work with every level of the instance).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

import referencing.jsonschema
from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import SchemaError, UnknownType
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry, Resource
from referencing.exceptions import NoSuchResource, Unresolvable, Unretrievable

from orchestrator.checks import formats
from orchestrator.checks.ecma import to_pcre
from orchestrator.checks.fields import Mistake
from orchestrator.checks.regex import PatternError, Regex

STEPS = 1_000_000
"""Keywords that may be applied in one validation; measured at 3 to 10 microseconds each."""
SECONDS = 60.0
"""On the clock; patterns that go to a worker count here."""
MOST_ERRORS = 10
_REFS = ("$ref", "$dynamicRef", "$recursiveRef")
_REACHES_OUT = "leads out of the schema's own file, or nowhere"


class Endless(Exception):
    """The validation was stopped; the message says by what."""


@dataclass(frozen=True)
class Schema:
    """A schema made ready. `notes` name formats that nobody knows, which JSON Schema lets pass."""

    validator: Validator = field(repr=False)
    notes: tuple[str, ...]
    _budget: _Budget = field(repr=False)

    def errors(self, instance: Any) -> list[str]:
        """What is wrong with the instance, the first MOST_ERRORS, each with its place. Raises Endless, and
        Mistake for a reference of the schema that leads nowhere."""
        self._budget.begin()
        try:
            return [_said(e) for e in islice(self.validator.iter_errors(instance), MOST_ERRORS)]
        except RecursionError:
            raise Endless("it is nested too deeply for this schema") from None
        except PatternError as cause:
            raise Endless(str(cause)) from None
        except (Unresolvable, UnknownType) as error:
            raise Mistake(f"the schema cannot be used: {_one_line(error)}") from None


def prepare(schema: Any, regex: Regex) -> Schema:
    """Check the schema itself and make it ready. Raises Mistake."""
    draft = _draft(schema)
    root = {k: v for k, v in schema.items() if k != "$schema"} if isinstance(schema, dict) else schema
    format_checker = formats.checker(draft.FORMAT_CHECKER, regex)
    try:
        draft.check_schema(root, format_checker=format_checker)
        notes = tuple(dict.fromkeys(_walk(root, draft, format_checker)))
    except SchemaError as error:
        raise Mistake(f"it is no JSON Schema: {_said(error)}") from None
    except RecursionError:
        raise Mistake("it is no JSON Schema: nested too deeply") from None
    budget = _Budget()
    validator = _bounded(draft, budget, regex)(root, registry=Registry(), format_checker=format_checker)
    return Schema(validator, notes, budget)


class _Budget(threading.local):
    """What one validation may still spend, each thread its own."""

    steps = 0
    until = 0.0

    def begin(self) -> None:
        self.steps, self.until = STEPS, time.monotonic() + SECONDS

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise Endless(f"it takes more than {STEPS} steps to judge by this schema")
        if self.steps % 64 == 0 and time.monotonic() > self.until:
            raise Endless(f"it takes more than {SECONDS:g} s to judge by this schema")


def _draft(schema: Any) -> Any:
    if not isinstance(schema, dict | bool):
        raise Mistake("a schema must be an object, true or false")
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is None:
        return Draft202012Validator
    # A draft that is not known gives the default back.
    draft: Any = validator_for({"$schema": named}, default=Validator) if isinstance(named, str) else Validator
    if draft is Validator:
        raise Mistake(f"its $schema {named!r} is no draft of JSON Schema we know")
    return draft


def _walk(schema: Any, draft: Any, known: FormatChecker) -> Iterator[str]:
    """Notes about the schema. Raises Mistake for what we do not do, and for a $ref that is not answered
    here: also for one that no instance would ever reach."""
    specification = referencing.jsonschema.specification_with(draft.META_SCHEMA["$schema"])
    resource = specification.create_resource(schema)
    waiting: list[tuple[Resource[Any], Any]] = [(resource, Registry().resolver_with_root(resource))]
    keywords: set[str] = set()
    while waiting:
        part, resolver = waiting.pop()
        contents = part.contents
        if isinstance(contents, Mapping):
            _refuse_refs(contents, resolver)
            if contents is not schema and "$schema" in contents:
                raise Mistake("a schema inside it has a $schema of its own, which is not supported")
            keywords |= contents.keys()
            word = contents.get("format")
            if isinstance(word, str) and word not in known.checkers:
                yield f"the format {word!r} is not known and was not checked"
        waiting += [(sub, resolver.in_subresource(sub)) for sub in part.subresources()]
    if "patternProperties" in keywords and keywords & {"unevaluatedProperties", "unevaluatedItems"}:
        raise Mistake("patternProperties beside unevaluated* is not supported; use additionalProperties")


def _refuse_refs(contents: Mapping[str, Any], resolver: Any) -> None:
    for name in _REFS:
        ref = contents.get(name)
        if isinstance(ref, str):
            try:
                resolver.lookup(ref)
            except (Unresolvable, NoSuchResource, Unretrievable, ValueError):
                raise Mistake(f"its {name} {ref!r} {_REACHES_OUT}") from None


def _bounded(draft: Any, budget: _Budget, regex: Regex) -> Any:
    def matches(pattern: str, text: str) -> bool:
        budget.spend()
        return regex.search(to_pcre(pattern), "", text.encode("utf-8", "replace").decode())

    ours = {
        "pattern": lambda v, value, data, _: _pattern(v, value, data, matches),
        "patternProperties": lambda v, value, data, _: _pattern_properties(v, value, data, matches),
        "additionalProperties": lambda v, value, data, schema: _additional(v, value, data, schema, matches),
        "multipleOf": lambda v, value, data, _: _multiple_of(v, value, data),
        "uniqueItems": lambda v, value, data, _: _unique(v, value, data),
    }
    keywords = {**draft.VALIDATORS, **{k: fn for k, fn in ours.items() if k in draft.VALIDATORS}}
    return extend(draft, {name: _counted(fn, budget) for name, fn in keywords.items()})  # type: ignore[no-untyped-call]


def _counted(keyword: Callable[..., Any], budget: _Budget) -> Callable[..., Iterator[ValidationError]]:
    def counted(validator: Any, value: Any, data: Any, schema: Any) -> Iterator[ValidationError]:
        budget.spend()
        yield from keyword(validator, value, data, schema) or ()

    return counted


def _pattern(v: Any, pattern: str, data: Any, matches: Callable[..., bool]) -> Iterator[ValidationError]:
    if v.is_type(data, "string") and not matches(pattern, data):
        yield ValidationError(f"{data!r} does not match {pattern!r}")


def _pattern_properties(
    v: Any, patterns: Mapping[str, Any], data: Any, matches: Callable[..., bool]
) -> Iterator[ValidationError]:
    if v.is_type(data, "object"):
        for pattern, schema in patterns.items():
            for key, value in data.items():
                if matches(pattern, key):
                    yield from v.descend(value, schema, path=key, schema_path=pattern)


def _additional(
    v: Any, wanted: Any, data: Any, schema: Mapping[str, Any], matches: Callable[..., bool]
) -> Iterator[ValidationError]:
    if not v.is_type(data, "object"):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [key for key in data if key not in known and not any(matches(p, key) for p in patterns)]
    if wanted is False and extra:
        yield ValidationError(f"unexpected properties: {', '.join(map(repr, extra[:5]))}")
    elif isinstance(wanted, Mapping):
        for key in extra:
            yield from v.descend(data[key], wanted, path=key)


def _multiple_of(v: Any, step: Any, data: Any) -> Iterator[ValidationError]:
    """Of the numbers as written: 0.3 is a multiple of 0.1, though their binary forms are not."""
    if v.is_type(data, "number") and (Fraction(str(data)) / Fraction(str(step))).denominator != 1:
        yield ValidationError(f"{data!r} is not a multiple of {step!r}")


def _unique(v: Any, wanted: Any, data: Any) -> Iterator[ValidationError]:
    if wanted and v.is_type(data, "array"):
        seen = {_frozen(item) for item in data}
        if len(seen) != len(data):
            yield ValidationError("has items that are not unique")


def _frozen(value: Any) -> Any:
    """Equal for values that are equal as JSON, and hashable: 1 is 1.0, but true is not 1."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return ("bool", value) if isinstance(value, bool) else value


def _said(error: ValidationError | SchemaError) -> str:
    message = _one_line(error.message)
    place = error.json_path if error.absolute_path else ""
    return f"{place[:200]}: {message}" if place else message


def _one_line(words: object) -> str:
    """Without the middle when it is long: what is wrong stands at the end of jsonschema's sentences."""
    line = " ".join(str(words).split())
    return line if len(line) <= 300 else f"{line[:150]} ... {line[-145:]}"
