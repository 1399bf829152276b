"""What text checks that match patterns have in common: one bounded engine, loaded when first asked."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from orchestrator.checks.subjects import TextCheck

if TYPE_CHECKING:
    from orchestrator.checks.regex import Regex


class PatternedCheck(TextCheck):
    """`regex_seconds` is the CPU time one pattern may take on one text."""

    def __init__(self, regex_seconds: float = 3.0) -> None:
        self._regex_seconds = regex_seconds

    def close(self) -> None:
        """End what long-running patterns started; harmless when nothing was."""
        if "_regex" in self.__dict__:
            self._regex.close()

    @cached_property
    def _regex(self) -> Regex:
        from orchestrator.checks.regex import Regex  # loads PCRE2: only when a pattern is asked for

        return Regex(self._regex_seconds)
