"""Whatever the pattern: an answer in bounded time, Python's own where both engines speak one dialect.

A silent pass would be a check that passes although one of its patterns gave no answer, or although the other
engine finds nothing.
"""

from __future__ import annotations

import re
from typing import Any

import pcre
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.checks.regex import PatternError, Regex
from orchestrator.checks.text import TextExecutor
from orchestrator.contract import Context

SECONDS = 0.2
EXECUTOR = TextExecutor(SECONDS)
ENGINE = Regex(SECONDS)
TEXTS = st.text("aAbBéÉ1 -\n", max_size=40) | st.text("ab", max_size=8).map(lambda part: part * 300)

ATOMS = st.sampled_from(
    ["a", "b", "é", "1", ".", r"\d", "[ab]", "[^a]", "[a-cé]", r"\b", r"\n", "^", "$", "-", " "]
)
PLAIN = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        inner.map(lambda part: f"({part})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,3}", "*?", "+?"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        ),
        st.tuples(st.sampled_from(["(?=", "(?!"]), inner).map(lambda both: f"{both[0]}{both[1]})"),
    ),
    max_leaves=6,
)
"""Patterns that mean one thing in PCRE2 and in Python."""
PIECES = st.sampled_from(
    [
        *[
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "*",
            "+",
            "?",
            "|",
            "\\",
            "^",
            "$",
            ".",
            "a",
            "b",
            "é",
            "\x00",
            "\U0001f600",
        ],
        *[
            "(?R)",
            "(?1)",
            "(?<n>",
            r"\k<n>",
            r"\1",
            r"\C",
            r"\X",
            r"\R",
            r"\K",
            r"\p{L}",
            r"\P{Greek}",
            "(?i)",
            "(?x)",
        ],
        *[
            "(*LIMIT_MATCH=999999999)",
            "(*UTF)",
            "(*COMMIT)",
            "(*SKIP)",
            "(?>",
            "(?<=",
            "(?<!",
            "(?#",
            "[[:alpha:]]",
        ],
        *[
            "{1000}",
            "{1,65535}",
            r"\x{110000}",
            r"\x{d800}",
            r"\Q",
            r"\E",
            "(?C1)",
            "*+",
            "(a+)+",
            "(?:a|aa)*",
            ".*",
        ],
    ]
)
WILD = st.lists(PIECES | st.text(max_size=3), min_size=1, max_size=8).map("".join)
FLAGS = st.none() | st.text("imsxu", max_size=3)


@settings(max_examples=80, deadline=None)
@given(PLAIN, st.sampled_from(["", "i", "m", "s", "ims"]), TEXTS)
def test_two_engines_agree(pattern: str, flags: str, text: str) -> None:
    try:
        found = ENGINE.search(pattern, flags, text)
    except PatternError as error:
        assert "does not compile" not in str(error), "Python compiles it"
        return
    if len(text) > 60:
        return  # Python's engine has no limits
    options = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    assert found == bool(re.search(pattern, text, sum(options[flag] for flag in flags)))


@settings(max_examples=80, deadline=None)
@given(st.lists(WILD | PLAIN, min_size=1, max_size=3), st.sampled_from(["any", "all"]), FLAGS, TEXTS)
def test_a_pattern_without_an_answer_never_passes(
    patterns: list[str], mode: str, flags: str | None, text: str
) -> None:
    check: dict[str, Any] = {"kind": "regex", "patterns": patterns, "mode": mode}
    check |= {} if flags is None else {"flags": flags}

    outcome = EXECUTOR.execute(check, text, Context())

    assert outcome.status in ("passed", "failed")
    assert outcome.reason
    answers = [answer(pattern, flags, text) for pattern in patterns]
    if "refused" in answers:
        assert not outcome.passed
    elif "limit" not in answers and "within its limits" not in outcome.reason:
        assert outcome.passed == (any if mode == "any" else all)(a == "match" for a in answers)


def answer(pattern: str, flags: str | None, text: str) -> str:
    """match, no match, refused, or limit: from the library itself."""
    if not pattern:
        return "refused"
    letters = "i" if flags is None else flags
    options = int(pcre.Flag.NEVER_BACKSLASH_C)
    for letter, flag in (("i", "CASELESS"), ("m", "MULTILINE"), ("s", "DOTALL"), ("x", "EXTENDED")):
        options |= int(pcre.Flag[flag]) if letter in letters else 0
    try:
        found = pcre.compile(f"(*LIMIT_MATCH=20000){pattern}", options).search(text)
    except pcre.PcreError as error:
        word = getattr(getattr(error, "error_code", None), "name", "")
        return "limit" if "LIMIT" in word else "refused"
    return "no match" if found is None else "match"
