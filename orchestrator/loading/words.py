"""The words of messages: values as people name them, and the known word nearest to a wrong one."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from orchestrator.loading.located import shorten

TYPES = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping (name: value)",
    "null": "nothing",
}
"""JSON Schema's types, as authors know them."""


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of `known` that `word` may have been meant as, best first."""
    folded = word[:100].casefold().replace("-", "_").replace(" ", "_")
    ranked = sorted(((_likeness(folded, k), k) for k in known), key=lambda pair: (-pair[0], pair[1]))
    best = ranked[0][0] if ranked else 0.0
    return [k for likeness, k in ranked if likeness >= max(0.6, best - 0.1)][:3]


def _likeness(word: str, known: str) -> float:
    """0 to 1; a beginning counts for more than as many letters elsewhere."""
    common = len(word) > 2 and (known.startswith(word) or word.startswith(known))
    return max(0.8 if common else 0.0, difflib.SequenceMatcher(None, word, known.casefold()).ratio())


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint: the nearest known words, or all of them when none is near."""
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


def wrong_type(wanted: str | Sequence[str], value: Any, written: str | None, field: str) -> tuple[str, str]:
    """(what was seen, what to do) for a value of another type; `field` is its name, or ""."""
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    words = " or ".join(TYPES[w] for w in wanted)
    seen = describe(value, written)
    if "string" in wanted and written and not isinstance(value, dict | list):
        name = f"{field}: " if field else ""
        return f"must be a quoted string: {seen}", f'quote it: {name}"{shorten(written)}"'
    return f"must be {words}, but {seen}", _type_hint(wanted, words, value, written)


def _type_hint(wanted: Sequence[str], words: str, value: Any, written: str | None) -> str:
    if value is None:
        return f"write {words}, or remove the field"
    if ("number" in wanted or "integer" in wanted) and isinstance(value, str):
        return _number_hint(value)
    if "boolean" in wanted and isinstance(value, str):
        return "write true or false, without quotes"
    if "array" in wanted and isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"put it in a list: [{shorten(written or json.dumps(value), 30)}]"
    return f"write {words}"


def _number_hint(value: str) -> str:
    try:
        number = float(value)
    except ValueError:
        return "write a plain number"
    if abs(number) < 1e15:
        plain = f"{Decimal(repr(number)):f}".removesuffix(".0")
        return f"write the plain number {plain}, without quotes"
    return "write a plain number"


def show(value: Any) -> str:
    """A value as it stands in a message."""
    return f'"{shorten(value)}"' if isinstance(value, str) else shorten(json.dumps(value, default=str))


def wrong_value(rule: str, limit: Any, value: Any, schema: Mapping[str, Any]) -> tuple[str, str]:
    """(what was seen, what to do) for a value that a rule of the schema refuses."""
    say = schema.get("x-say", "")
    seen = show(value)
    if say and rule in ("minProperties", "maxProperties"):
        found = ", ".join(map(shorten, value)) or "nothing"
        return f"must hold {say}, but {found} is there", f"keep {say}"
    if say and rule in ("pattern", "anyOf", "oneOf"):
        better = _mended(value, str(limit)) if rule == "pattern" else ""
        return f"{seen} is not {say}", f"write {better or say}"
    if rule == "enum":
        return f"{seen} is not one of {', '.join(map(str, limit))}", did_you_mean(str(value), map(str, limit))
    if rule == "const":
        return f"must be {json.dumps(limit)}, but {seen} is there", f"write {json.dumps(limit)}"
    return _bounds(rule, limit, seen, schema)


def _mended(value: Any, pattern: str) -> str:
    """An id, ref or version as the author probably meant it, when that satisfies the pattern; else nothing.

    >>> _mended("My Rubric", "^[a-z][a-z0-9_]*$"), _mended("a@1.0", "^rubric/"), _mended("../x", "^[^.]+$")
    ('my_rubric', '"rubric/a@1.0"', '')
    """
    if not isinstance(value, str) or len(value) > 60:
        return ""
    name = re.sub(r"[^a-z0-9_]+", "_", value.lower()).strip("_")
    tries = {"^[a-z]": name, "^rubric/": f"rubric/{value}", "^[0-9]+": f"{value}.0"}
    meant = next((text for begin, text in tries.items() if pattern.startswith(begin)), "")
    return (meant if meant == name else f'"{meant}"') if meant and re.search(pattern, meant) else ""


def _bounds(rule: str, limit: Any, seen: str, schema: Mapping[str, Any]) -> tuple[str, str]:
    one = limit == 1
    known = {
        "minimum": (f"{seen} is less than {limit}", f"write {limit} or more"),
        "exclusiveMinimum": (f"{seen} is not more than {limit}", f"write more than {limit}"),
        "maximum": (f"{seen} is more than {limit}", f"write {limit} or less"),
        "exclusiveMaximum": (f"{seen} is not less than {limit}", f"write less than {limit}"),
        "minLength": ("is empty" if one else f"{seen} is too short", "write something, or remove it"),
        "maxLength": (f"{seen} is longer than {limit} characters", "shorten it"),
        "minItems": ("the list is empty" if one else "the list is too short", f"list at least {limit}"),
        "maxItems": (f"the list has more than {limit} items", "shorten it"),
        "minProperties": ("is empty", f"write at least {limit}"),
        "uniqueItems": ("an item is listed twice", "list each item once"),
        "pattern": (f"{seen} does not match {limit}", "see the schema"),
    }
    other = f"{seen} does not satisfy {rule} {shorten(json.dumps(limit, default=str))}"
    return known.get(rule, (other, str(schema.get("description", "see the schema")).rstrip(".")))
