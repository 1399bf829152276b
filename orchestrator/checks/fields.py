"""The fields of a check, read once more: Python callers and plug-ins can get past the schema (C-50)."""

from __future__ import annotations

from typing import Any

from orchestrator.checks.responses import valid
from orchestrator.contract import Check


class Mistake(Exception):
    """The author's; the message says what and where."""


def texts(check: Check, field: str) -> list[str]:
    """The check's list of texts: at least one, none of them empty (C-48). Raises Mistake."""
    values: Any = check.get(field)
    if not isinstance(values, list | tuple) or not values:
        raise Mistake(f"{field} must be a list of at least one text")
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise Mistake(f"{field}[{index}] must be text, not {type(value).__name__}; quote it")
        if not value:
            raise Mistake(f"{field}[{index}] is empty and would be found in everything")
        if not value.isascii() and not valid(value):
            raise Mistake(f"{field}[{index}] is not valid UTF-8")
    return list(values)


def flag(check: Check, field: str, default: bool = False) -> bool:
    """Raises Mistake for anything but true and false."""
    value = check.get(field, default)
    if not isinstance(value, bool):
        raise Mistake(f"{field} must be true or false, not {value!r}")
    return value


def count(check: Check, field: str, least: int = 0, most: int | None = None) -> int | None:
    """A whole number, None when the field is not there. Raises Mistake."""
    if field not in check:
        return None
    value = check[field]
    if isinstance(value, bool) or not isinstance(value, int):
        raise Mistake(f"{field} must be a whole number, not {value!r}")
    if value < least or (most is not None and value > most):
        bounds = f"from {least} to {most}" if most is not None else f"{least} or more"
        raise Mistake(f"{field} is {value}; it must be {bounds}")
    return value


def share(check: Check, field: str, default: float | None = None) -> float:
    """A number from 0 to 1. Raises Mistake, also for a field that is not there and has no default."""
    value = check.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        # NaN is refused, too: no comparison with it holds.
        raise Mistake(f"{field} {value!r} is not a number from 0 to 1")
    return float(value)
