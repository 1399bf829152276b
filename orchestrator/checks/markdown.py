"""Has the text the wanted Markdown structure: markdown_structure (rules 99 and 106)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from orchestrator.checks.commonmark import Structure, structure
from orchestrator.checks.fields import Mistake, count, flag, texts
from orchestrator.checks.patterned import PatternedCheck
from orchestrator.checks.responses import quoted
from orchestrator.checks.target import normalized
from orchestrator.contract import Check, Context
from orchestrator.outcomes import CheckOutcome, failed, passed

if TYPE_CHECKING:
    pass

_OPTIONS = (
    "min_headings",
    "max_heading_level",
    "required_sections",
    "no_h1",
    "min_code_blocks",
    "forbidden_patterns",
)


class MarkdownStructureExecutor(PatternedCheck):
    """Binary. Every shortcoming is named, not only the first.

    Headings are counted wherever they stand, also in list items and quotes. Code blocks are the fenced and
    the indented ones. A required section is a heading whose text equals the given one but for case and
    runs of white space. A forbidden pattern ignores case, as a regex without flags does; one that hits a
    limit fails the check. A check without any option wants some block other than a paragraph.
    `regex_seconds` is the CPU time one pattern may take.
    """

    kinds = frozenset({"markdown_structure"})

    def judge(self, check: Check, text: str, context: Context) -> CheckOutcome:
        found = structure(text)
        facts = {"headings": len(found.headings), "code_blocks": found.code_blocks}
        short = [*_shortcomings(check, found), *self._forbidden(check, text)]
        if not any(option in check for option in _OPTIONS) and not found.structured:
            short.append("it is nothing but paragraphs")
        if short:
            return failed(check, "; ".join(short), **facts)
        counts = f"{len(found.headings)} headings, {found.code_blocks} code blocks"
        return passed(check, f"has the wanted structure ({counts})", **facts)

    def _forbidden(self, check: Check, text: str) -> Iterator[str]:
        from orchestrator.checks.regex import PatternError

        for pattern in texts(check, "forbidden_patterns") if "forbidden_patterns" in check else ():
            try:
                if self._regex.search(pattern, None, text):
                    yield f"the forbidden pattern {quoted(pattern)} matches"
            except PatternError as cause:
                raise Mistake(f"forbidden_patterns: {cause}") from None


def _shortcomings(check: Check, found: Structure) -> Iterator[str]:
    levels = [level for level, _ in found.headings]
    least = count(check, "min_headings")
    if least is not None and len(levels) < least:
        yield f"{len(levels)} headings, {least} wanted"
    deepest = count(check, "max_heading_level", 1, 6)
    if deepest is not None and max(levels, default=1) > deepest:
        yield f"a heading of level {max(levels)}, at most {deepest} wanted"
    if flag(check, "no_h1") and 1 in levels:
        yield "a heading of level 1, none wanted"
    here = {normalized(text) for _, text in found.headings}
    for wanted in texts(check, "required_sections") if "required_sections" in check else ():
        if normalized(wanted) not in here:
            yield f"no section {quoted(wanted)}"
    blocks = count(check, "min_code_blocks")
    if blocks is not None and found.code_blocks < blocks:
        yield f"{found.code_blocks} code blocks, {blocks} wanted"
