"""What rubrics teach us about rubrics: checks that work as written and still do not judge what was meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES, Rubric
from orchestrator.loading.located import Path, shorten

Advice = tuple[Path, str, str]
"""Where, what was seen, what to do."""

FORM = frozenset({"must_not_contain", "format", "markdown_structure", "word_count"})
"""Kinds that look at an answer's form: an answer beside the point can pass them."""
_DELIMITED = re.compile(r"/.+/[imsxu]*\Z", re.DOTALL)
_FORBIDS = re.compile(r"(?:\\A|\^)\(\?!")
_WORD = re.compile(r"(?<!\\)[^\W\d_]{3,}")
_SETTINGS = re.compile(r"\\[pP]\{[^}]*\}|\[[^\]]*\]|\(\?[^)=!<]*[):]|\\\w")


def habits(rubric: Rubric) -> Iterator[Advice]:
    """Advice that needs nothing but the rubric itself."""
    yield from _form_before_substance(rubric)
    yield from _thresholds(rubric)
    yield from _negative_any(rubric)
    yield from _doubles(rubric)
    yield from _contradictions(rubric)
    for number, check in enumerate(rubric.checks):
        path = ("checks", number)
        yield from _values(check, path)
        yield from _delimiters(check, path)
        if check["kind"] == "llm_judge" and not str(check.get("description", "")).strip():
            hint = "write a description: it is all that judges read of this check"
            yield path, "llm_judge without a description says nothing to judges", hint


def _form_before_substance(rubric: Rubric) -> Iterator[Advice]:
    """Checks anybody can pass must not outweigh those that matter (rule 224)."""
    if rubric.scoring.combine != "weighted_avg":
        return
    weights = [_weight(rubric, check) for check in rubric.checks]
    light = {n: w for n, (c, w) in enumerate(zip(rubric.checks, weights, strict=True)) if _is_form(c)}
    total, share = sum(weights), sum(light.values(), Fraction(0))
    if not total or not share or len(light) == len(weights):
        return
    share /= total
    threshold = DEFAULT_THRESHOLD if rubric.scoring.threshold is None else rubric.scoring.threshold
    alone = share >= Fraction(repr(float(threshold)))
    if not alone and share < Fraction(1, 2):
        return
    names = ", ".join(_name(rubric.checks[n], n) for n in light)
    effect = "they pass alone" if alone else "as much as all that matters"
    message = f"checks of form ({names}) hold {float(share):.0%} of the weight: {effect}"
    yield ("scoring", "weights"), message, "give the checks that an answer beside the point fails more weight"


def _thresholds(rubric: Rubric) -> Iterator[Advice]:
    scoring = rubric.scoring
    if scoring.combine in NUMERIC_MODES and scoring.threshold == 0:
        yield ("scoring", "threshold"), "every score meets a threshold of 0", "write the score that passes"
    if scoring.combine != "weighted_avg" or not any(_weight(rubric, check) for check in rubric.checks):
        return
    for check in rubric.checks:
        name = check.get("id", "")
        if scoring.weights.get(name) == 0:
            message = f"a weight of 0: {name} is executed and never counts"
            yield ("scoring", "weights", name), message, "give it a weight, or take the check out"


def _negative_any(rubric: Rubric) -> Iterator[Advice]:
    if rubric.scoring.combine != "any_pass" or len(rubric.checks) < 2:
        return
    for number, check in enumerate(rubric.checks):
        if check["kind"] == "must_not_contain":
            message = "under any_pass an answer passes by not saying these words, whatever else it lacks"
            yield ("checks", number), message, "combine by all_pass, or move it into a rubric of its own"


def _doubles(rubric: Rubric) -> Iterator[Advice]:
    seen: dict[str, int] = {}
    for number, check in enumerate(rubric.checks):
        bare = {k: v for k, v in check.items() if k not in ("id", "description", "metadata")}
        key = json.dumps(bare, sort_keys=True, default=str)
        if "metadata" not in check and seen.setdefault(key, number) != number:
            message = f"asks the same as checks[{seen[key]}]: it counts twice"
            yield ("checks", number), message, "remove one, and give the other its weight"


def _contradictions(rubric: Rubric) -> Iterator[Advice]:
    """A required text that holds a forbidden one: no answer can pass both checks."""
    forbids = [(n, c) for n, c in enumerate(rubric.checks) if c["kind"] == "must_not_contain"]
    for number, check in enumerate(rubric.checks):
        if check["kind"] != "must_contain_any":
            continue
        for other, against in forbids:
            fold = not against.get("case_sensitive", False)
            held = [_folded(v, fold) for v in check["values"]]
            bad = [_folded(v, fold) for v in against["values"]]
            if all(any(b in v for b in bad) for v in held):
                message = f"every value holds what checks[{other}] forbids: no answer passes both"
                yield ("checks", number, "values"), message, "change one of the two lists"


def _values(check: Mapping[str, Any], path: Path) -> Iterator[Advice]:
    """A value that another value of the list is a part of changes nothing."""
    if check["kind"] not in ("must_contain_any", "must_not_contain"):
        return
    values = [_folded(v, not check.get("case_sensitive", False)) for v in check["values"]]
    for index, value in enumerate(values):
        part = next((o for o, v in enumerate(values) if v in value and (v != value or o < index)), None)
        if part is not None:
            seen = f'does nothing: it holds "{shorten(check["values"][part])}", which is in the list, too'
            yield (*path, "values", index), seen, "remove one of them"
        if value != value.strip():
            message = "begins or ends with white space, which must then be there, too"
            yield (*path, "values", index), message, "remove it, or use a regex with \\b"


def _delimiters(check: Mapping[str, Any], path: Path) -> Iterator[Advice]:
    for index, pattern in enumerate(check["patterns"] if check["kind"] == "regex" else ()):
        if _DELIMITED.match(pattern):
            message = "the slashes around the pattern are part of it: patterns have no delimiters"
            yield (*path, "patterns", index), message, "remove them, and write letters after them as flags"


def _is_form(check: Mapping[str, Any]) -> bool:
    """Whether the check can be passed without a word to the point.

    >>> _is_form({"kind": "regex", "patterns": [r"^.{20,}$", "[.!?]"]})
    True
    >>> _is_form({"kind": "regex", "patterns": ["refund|invoice"]})
    False
    """
    if check["kind"] == "regex":
        return all(_FORBIDS.match(p) or not _WORD.search(_SETTINGS.sub(" ", p)) for p in check["patterns"])
    if check["kind"] == "must_contain_any":
        return all(len(v.strip()) < 3 for v in check["values"])
    return check["kind"] in FORM


def _weight(rubric: Rubric, check: Mapping[str, Any]) -> Fraction:
    return Fraction(repr(float(rubric.scoring.weights.get(str(check.get("id", "")), 1))))


def _name(check: Mapping[str, Any], number: int) -> str:
    return str(check.get("id") or f"checks[{number}]")


def _folded(text: str, fold: bool) -> str:
    return text.casefold() if fold else text
