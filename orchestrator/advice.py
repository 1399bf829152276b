"""Everything there is to say about a rubric without an answer to grade: its document, its refs, its patterns,
and what it makes of an answer that says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from orchestrator.contract import CheckExecutor
from orchestrator.errors import Problem
from orchestrator.grading import evaluate
from orchestrator.loading import Findings, lint
from orchestrator.loading.lint import PatternFault, Probe
from orchestrator.outcomes import CheckOutcome
from orchestrator.rubrics import RubricStore, Stored

if TYPE_CHECKING:
    from orchestrator.checks.regex import Regex

NOISE = "Zyx 0,\n-9 (wv)"
"""A text nobody asks for; a pattern that finds itself in it and in nothing at all asks for nothing."""


def advise(entry: Stored, store: RubricStore, executors: Sequence[CheckExecutor] = ()) -> Findings:
    """Errors stop a benchmark from validating; warnings teach. `store` holds what `entry` may refer to.

    With `executors` the rubric is tried on an empty answer, too. Raises nothing for what it finds.
    """
    from orchestrator.checks.regex import Regex  # loads PCRE2

    with closing(Regex(seconds=1.0)) as regex:
        found = lint(entry.rubric, entry.source, strict=True, probe=probe(regex))
    nothing = tuple(_passed_by_nothing(entry, store, executors)) if executors and not found.errors else ()
    return found + Findings(store.composite_problems(entry), nothing)


def probe(regex: Regex) -> Probe:
    """Tries patterns by PCRE2: does it compile, and does it ask for anything?

    >>> from orchestrator.checks.regex import Regex
    >>> probe(Regex())("[0-9]*", "").message
    'matches the empty text and so every text: it asks for nothing'
    """

    def tried(pattern: str, flags: str | None) -> PatternFault | None:
        from orchestrator.checks.regex import PatternError

        try:
            loose = regex.search(pattern, flags, "") and regex.search(pattern, flags, NOISE)
        except PatternError as cause:
            return PatternFault(str(cause), "mend it: the check fails whatever the answer", fatal=True)
        if not loose or "(?!" in pattern or "(?<!" in pattern:
            return None
        hint = "require at least one of what it looks for: + instead of *, or an anchor"
        return PatternFault("matches the empty text and so every text: it asks for nothing", hint)

    return tried


def _passed_by_nothing(
    entry: Stored, store: RubricStore, executors: Sequence[CheckExecutor]
) -> Iterator[Problem]:
    """Oracles fail an empty change, so only a rubric whose checks all ran on the text can be passed so."""
    verdict = evaluate(entry.rubric, "", {}, executors, store.resolve)
    unheard = [o for o in verdict.skipped if o.kind != "llm_judge"]
    if not verdict.passed or unheard or any(_skips_within(o) for o in verdict.outcomes):
        return
    message = "an empty answer passes: what is asked is only what must not be there"
    hint = "add a check that asks for something, unless other graders or rubrics do"
    place = ("checks",)
    if entry.source:
        yield entry.source.problem(place, message, hint)
    else:
        yield Problem(entry.file, 0, "checks", message, hint)


def _skips_within(outcome: CheckOutcome) -> bool:
    return bool(outcome.details.get("skipped_within"))
