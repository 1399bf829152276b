"""How close is the response to the reference text that the question holds: target_match (rules 70 to 86)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from orchestrator.checks.fields import Mistake, share
from orchestrator.checks.paths import PathError, texts
from orchestrator.checks.subjects import TextCheck
from orchestrator.combine import meets
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

DEFAULT_MODE = "normalized"
DEFAULT_THRESHOLD = 0.5
"""For chrf, where the check names none (C-21)."""
LONG = 20_000
"""Characters from which chrF is counted in little memory, to the same score."""
BEGINNING = 200
"""Characters that are compared before two whole texts are."""

Scorer = Callable[[str, str], float]
"""(response, reference) -> 0..1."""
PathResolver = Callable[[Mapping[str, Any], Any], Sequence[str]]


class TargetMatchExecutor(TextCheck):
    """Compares the response with each reference; the closest one counts (rule 73).

    `scorer` and `resolver` are injected services (rule 149); the defaults are sacrebleu's chrF and
    `paths.texts`.
    """

    kinds = frozenset({"target_match"})

    def __init__(self, scorer: Scorer | None = None, resolver: PathResolver = texts) -> None:
        self._scorer = scorer or chrf
        self._resolver = resolver

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        mode = check.get("mode", DEFAULT_MODE)
        threshold = share(check, "threshold", DEFAULT_THRESHOLD)
        if mode not in ("exact", "normalized", "chrf"):
            raise Mistake(f"unknown mode {mode!r}: write exact, normalized or chrf")
        try:
            references = self._resolver(context, check.get("reference_path"))
        except PathError as cause:
            return failed(check, str(cause))
        if mode == "chrf":
            return self._similar(check, text, references, threshold)
        return _equal(check, text, references, mode)

    def _similar(self, check: Check, text: str, references: Sequence[str], threshold: float) -> CheckOutcome:
        scores = [self._scorer(text, reference) for reference in references]
        best = max(range(len(scores)), key=scores.__getitem__)
        score = scores[best]
        which = f" (variant {best + 1} of {len(references)})" if len(references) > 1 else ""
        if meets(score, threshold):
            return passed(check, f"chrf {score:.4f} meets {threshold:g}{which}", score)
        return failed(check, f"chrf {score:.4f} is below {threshold:g}{which}", score)


@lru_cache(maxsize=4)
def normalized(text: str) -> str:
    """Trimmed, runs of any Unicode white space as one space, case-folded; nothing else (C-33, C-51).

    Remembered, since several checks look at one response.

    >>> normalized("  Straße\\u00a0 Eins\\n")
    'strasse eins'
    """
    return _plain(text)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def chrf(response: str, reference: str) -> float:
    """chrF (character 6-grams, beta 2) as sacrebleu computes it for a sentence, as a share of 1.

    >>> chrf("the cat", "the cat")
    1.0
    """
    if max(len(response), len(reference)) > LONG:
        from orchestrator.checks.chrf import similarity

        return similarity(response, reference)
    from sacrebleu.metrics.chrf import CHRF  # slow to load: only when a check asks for it

    return cast(float, CHRF().sentence_score(response, [reference]).score) / 100


def _equal(check: Check, text: str, references: Sequence[str], mode: str) -> CheckOutcome:
    equal = _alike if mode == "normalized" else str.__eq__
    same = any(equal(text, reference) for reference in references)
    several = f"any of {len(references)} references" if len(references) > 1 else "the reference"
    if same:
        return passed(check, f"equals {several} ({mode})")
    return failed(check, f"differs from {several} ({mode})")


def _alike(one: str, other: str) -> bool:
    """Equal once normalized. Most texts that differ do so at once: a text's normalized beginning is its
    beginning's normalized form."""
    begun = sorted((_plain(one[:BEGINNING]), _plain(other[:BEGINNING])), key=len)
    return begun[1].startswith(begun[0]) and normalized(one) == normalized(other)
