"""A verdict as Python callers read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from orchestrator.combine import grade
from orchestrator.outcomes import CheckOutcome, Verdict


@dataclass(frozen=True)
class Result:
    """What a rubric says of one response. Cannot be changed."""

    verdict: Verdict
    context_keys: tuple[str, ...] = ()

    @property
    def score(self) -> float | None:
        """0 to 1 in full precision; None when nothing could be executed: a skip, never a zero."""
        return self.verdict.score

    @property
    def passed(self) -> bool | None:
        return self.verdict.passed

    @property
    def grade(self) -> float | None:
        """The score on the scale of 0 to 5."""
        return grade(self.verdict.score)

    @property
    def reason(self) -> str:
        return self.verdict.reason

    @property
    def outcomes(self) -> tuple[CheckOutcome, ...]:
        """Each executed check's own result, in listed order."""
        return self.verdict.outcomes

    @property
    def skipped(self) -> tuple[CheckOutcome, ...]:
        return self.verdict.skipped

    @property
    def suggestions(self) -> tuple[str, ...]:
        """One line for each failed check that whoever wrote the response can act on."""
        return self.verdict.suggestions

    @property
    def rule_results(self) -> Mapping[str, bool | str]:
        """Passed or not by check name, and `<name>_error` for each function that raised (rules 187, 188)."""
        found: dict[str, bool | str] = {}
        for outcome in self.verdict.outcomes:
            error = f"{outcome.check_id}_error"
            if error in outcome.details:
                found[error] = outcome.details[error]
            found[outcome.name] = outcome.passed
        return MappingProxyType(found)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Which rubric, how many checks, which context keys: what a stored result must be able to tell."""
        count = len(self.verdict.outcomes) + len(self.verdict.skipped)
        facts = {"rubric": self.verdict.rubric, "rule_count": count, "context_keys": self.context_keys}
        return MappingProxyType(facts)

    def route(self, *, passed: str = "accept", failed: str = "review", unscored: str = "review") -> str:
        """Where a response goes by its verdict: names of your own, so that the rubric need not know them."""
        return {True: passed, False: failed, None: unscored}[self.verdict.passed]

    def summary(self) -> str:
        """The verdict and each check in a line, for people; scores with four places."""
        word = {True: "passed", False: "failed", None: "unscored"}[self.passed]
        score = "" if self.score is None else f", score {self.score:.4f}"
        lines = [f"{self.verdict.rubric}: {word}{score}", f"  {self.reason}"]
        for outcome in (*self.outcomes, *self.skipped):
            shown = "" if outcome.score is None else f" {outcome.score:.4f}"
            lines.append(f"  {outcome.status}{shown} {outcome.name}: {outcome.reason}")
        return "\n".join(lines)
