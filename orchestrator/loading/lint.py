"""What loads and still is probably not meant: advice for authors, and what validate refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES, Rubric
from orchestrator.errors import Problem
from orchestrator.loading.habits import habits
from orchestrator.loading.located import Located, Path, shorten, show_path
from orchestrator.loading.words import did_you_mean

WEIGHT_TOLERANCE = 1e-3
"""How far the weights' sum may be from 1 before the advice is given (C-22)."""
_PIPE = re.compile(r"(?<!\|)\|(?![|&])")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.")


@dataclass(frozen=True)
class Findings:
    """`errors` stop validate; `warnings` are shown and change nothing."""

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    def __add__(self, other: Findings) -> Findings:
        return Findings(self.errors + other.errors, self.warnings + other.warnings)


@dataclass(frozen=True)
class PatternFault:
    """What trying a pattern showed. `fatal`: it can never match, because it does not even compile."""

    message: str
    hint: str
    fatal: bool = False


Probe = Callable[[str, str | None], PatternFault | None]
"""Tries a pattern under its flags; given by whoever has a regex engine at hand (see orchestrator.advice)."""


def lint(
    rubric: Rubric, source: Located | None = None, strict: bool = False, probe: Probe | None = None
) -> Findings:
    """Advice about one rubric; with `source` (the document it came from) each has its line.

    A weight for a check that is not there is a warning, and an error when `strict` (C-24). With `probe` the
    patterns are tried, too; one that does not compile is an error.
    """
    problems = _Lines(source, rubric.ref)
    weights = list(_dangling(rubric, problems))
    advice = [*_scoring(rubric, problems), *_all_checks(rubric, problems)]
    advice += [problems(path, message, hint) for path, message, hint in habits(rubric)]
    tried = list(_tried(rubric, probe)) if probe else []
    errors = [problems(path, fault.message, fault.hint) for path, fault in tried if fault.fatal]
    advice += [problems(path, fault.message, fault.hint) for path, fault in tried if not fault.fatal]
    if strict:
        return Findings(tuple(sorted([*weights, *errors])), tuple(sorted(advice)))
    return Findings(tuple(sorted(errors)), tuple(sorted([*weights, *advice])))


@dataclass(frozen=True)
class _Lines:
    source: Located | None
    name: str

    def __call__(self, path: Path, message: str, hint: str, key: bool = False) -> Problem:
        if self.source:
            return self.source.problem(path, message, hint, key=key)
        return Problem(self.name, 0, show_path(path), message, hint)


def _dangling(rubric: Rubric, problem: _Lines) -> Iterator[Problem]:
    ids = {str(check["id"]) for check in rubric.checks if check.get("id")}
    for name, message, hint in unknown_weights(rubric.scoring.weights, ids):
        yield problem(("scoring", "weights", name), message, hint, key=True)


def unknown_weights(weights: Iterable[str], ids: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """(id, what was seen, what to do) for each weight that belongs to no check."""
    for name in weights:
        if name not in ids:
            hint = did_you_mean(name, ids) if ids else "give the check this id, or remove the weight"
            yield name, f'no check has the id "{shorten(name)}": this weight does nothing', hint


def _scoring(rubric: Rubric, problem: _Lines) -> Iterator[Problem]:
    scoring = rubric.scoring
    path = ("scoring",)
    if scoring.combine not in NUMERIC_MODES and scoring.threshold is not None:
        message = f"{scoring.combine} does not use a threshold: it is ignored"
        yield problem(
            (*path, "threshold"), message, "remove it, or combine by weighted_avg, min, max or median"
        )
    if scoring.combine in NUMERIC_MODES and scoring.threshold is None:
        yield problem(path, f"no threshold: {DEFAULT_THRESHOLD} holds", "write the threshold that is meant")
    if not scoring.weights:
        return
    if scoring.combine != "weighted_avg":
        yield problem(
            (*path, "weights"), f"{scoring.combine} does not use weights: they are ignored", "remove them"
        )
        return
    listed = [scoring.weights.get(str(check.get("id", "")), 1.0) for check in rubric.checks]
    total = sum(listed)
    if total == 0:
        yield problem((*path, "weights"), "all weights are zero: the score is always 0", "give one a weight")
    elif abs(total - 1) > WEIGHT_TOLERANCE:
        message = f"the weights add up to {total:g}, not 1; scores are divided by their sum"
        yield problem((*path, "weights"), message, "write shares of 1 if that is what is meant")
    for number, check in enumerate(rubric.checks):
        if not check.get("id"):
            message = "has no id, so it weighs 1 beside the listed weights"
            yield problem(("checks", number), message, "give it an id and a weight")


def _all_checks(rubric: Rubric, problem: _Lines) -> Iterator[Problem]:
    for number, check in enumerate(rubric.checks):
        path = ("checks", number)
        kind = check.get("kind")
        if kind == "regex":
            yield from _regex(check, path, problem)
        elif kind == "target_match":
            yield from _target_match(check, path, problem)
        elif kind == "markdown_structure" and check.get("no_h1") and check.get("max_heading_level") == 1:
            yield problem(path, "no_h1 and max_heading_level 1 together allow no heading", "remove one")
        for name in ("command", "guard_command"):
            if kind in ("command", "score_delta") and isinstance(check.get(name), str):
                yield from _pipe(check[name], (*path, name), problem)


def _regex(check: Any, path: Path, problem: _Lines) -> Iterator[Problem]:
    if "flags" not in check:
        hint = 'write flags: "i" to say so, or flags: "" to mind the case'
        yield problem(path, "no flags: matching ignores case", hint)
    if "mode" not in check and len(check["patterns"]) > 1:
        yield problem(path, "no mode: one matching pattern is enough", "write mode: any or mode: all")


def _target_match(check: Any, path: Path, problem: _Lines) -> Iterator[Problem]:
    if check.get("mode") == "chrf" and "threshold" not in check:
        yield problem(path, f"chrf without a threshold passes at {DEFAULT_THRESHOLD}", "write the threshold")
    if check.get("mode", "normalized") != "chrf" and "threshold" in check:
        mode = check.get("mode", "normalized")
        yield problem((*path, "threshold"), f"mode {mode} does not use a threshold", "remove it, or use chrf")


def _pipe(command: str, path: Path, problem: _Lines) -> Iterator[Problem]:
    """The exit code of `a | b` is b's alone."""
    if _PIPE.search(_QUOTED.sub("", command)) and "pipefail" not in command:
        message = "in a pipe only the last command's exit code counts: a failure before it is lost"
        yield problem(path, message, "run the command without a pipe")


def _tried(rubric: Rubric, probe: Probe) -> Iterator[tuple[Path, PatternFault]]:
    for number, check in enumerate(rubric.checks):
        field = {"regex": "patterns", "markdown_structure": "forbidden_patterns"}.get(str(check["kind"]), "")
        for index, pattern in enumerate(check.get(field, ())):
            if fault := probe(pattern, check.get("flags")):
                yield ("checks", number, field, index), fault
