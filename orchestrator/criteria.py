"""What judges read: the question's own criteria, with the rubric's checks as plain text (rules 31 to 39)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.contract import Check
from orchestrator.documents.rubric import Rubric


def merge(criteria: str, rubric: Rubric | None) -> str:
    """The criteria, a blank line, then "- text" for each check that has something to say, in order (C-29).

    Without a rubric the criteria stay as they are (rules 26 and 27). No machine field gets in: no flags,
    patterns, schema refs, judge models, commands or reference texts (rule 36).
    """
    if rubric is None:
        return criteria
    lines = [f"- {line}" for check in rubric.checks if (line := line_of(check))]
    parts = [part for part in (criteria.rstrip(), "\n".join(lines)) if part]
    return "\n\n".join(parts) if lines else criteria


def line_of(check: Check) -> str:
    """One check in one line for judges: its description, else its kind's stock sentence, else nothing.

    >>> line_of({"kind": "must_contain_any", "values": ["sorry", "apologies"]})
    'The response contains at least one of: "sorry", "apologies".'
    >>> line_of({"kind": "must_not_contain", "values": ["eval("], "subject": "patch"})
    'The lines that the change adds contain none of: "eval(".'
    >>> line_of({"kind": "regex", "patterns": ["x"], "flags": "i"})
    ''
    """
    described = check.get("description")
    if isinstance(described, str) and described.strip():
        return _one_line(described)
    stock = _STOCK.get(str(check.get("kind", "")))
    return _one_line(stock(check)) if stock else ""


def _contains(check: Check) -> str:
    return f"{_subject(check)} at least one of: {_listed(check)}."


def _avoids(check: Check) -> str:
    return f"{_subject(check)} none of: {_listed(check)}."


def _target(check: Check) -> str:
    """The path alone: the reference text is the answer."""
    what = _subject(check, "agrees", "agree")
    return f"{what} with the reference answer kept at {check.get('reference_path', '?')}."


def _command(check: Check) -> str:
    if check.get("expect") == "test_transitions":
        return "The verification command fails before the change and succeeds with it."
    return "The verification command succeeds once the change is in."


def _delta(check: Check) -> str:
    tool, least = check.get("tool", "scorer"), check.get("min_delta", 0)
    if isinstance(least, int | float) and least <= 0:
        bound = f" by more than {-least:g}" if least else ""
        return f"The change does not worsen the {tool} result{bound}."
    return f"The change improves the {tool} result by at least {least}."


_STOCK: Mapping[str, Callable[[Check], str]] = {
    "must_contain_any": _contains,
    "must_not_contain": _avoids,
    "target_match": _target,
    "command": _command,
    "score_delta": _delta,
}


def _subject(check: Check, one: str = "contains", many: str = "contain") -> str:
    """What the check looks at, and the verb that goes with it."""
    subject = check.get("subject", "response")
    if isinstance(subject, Mapping):
        return f"The file {subject.get('file', '?')} {one}"
    if subject == "patch":
        return f"The lines that the change adds {many}"
    return f"The {_SUBJECTS.get(str(subject), 'response')} {one}"


_SUBJECTS = {"patch_text": "patch", "transcript": "transcript"}


def _listed(check: Check) -> str:
    values: Any = check.get("values", ())
    return ", ".join(f'"{value}"' for value in values)


def _one_line(text: str) -> str:
    return " ".join(text.split())
