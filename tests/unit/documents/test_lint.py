"""Advice for authors: what loads and is probably not meant."""

from __future__ import annotations

import pytest

from orchestrator.loading import lint, parse_document, rubric_of


def advice(checks: str, scoring: str) -> list[str]:
    text = f'id: a\nversion: "1.0"\nchecks:\n  - {checks}\nscoring: {scoring}\n'
    doc = parse_document(text, "a.yaml")
    return [str(p) for p in lint(rubric_of(doc), doc).warnings]


TEXT = "{id: a, kind: must_contain_any, values: [x]}"
ALL = "{combine: all_pass}"


@pytest.mark.parametrize(
    ("check", "scoring", "words"),
    [
        (
            TEXT,
            "{combine: all_pass, threshold: 0.5}",
            "a.yaml:5: scoring.threshold: all_pass does not use a threshold",
        ),
        (TEXT, "{combine: min}", "no threshold: 0.5 holds"),
        (TEXT, "{combine: weighted_avg, threshold: 0.5, weights: {a: 3}}", "the weights add up to 3, not 1"),
        (TEXT, "{combine: weighted_avg, threshold: 0.5, weights: {a: 0}}", "all weights are zero"),
        (TEXT, "{combine: min, threshold: 0.5, weights: {a: 1}}", "min does not use weights"),
        (
            "{kind: target_match, reference_path: expected.a, mode: chrf}",
            ALL,
            "chrf without a threshold passes at 0.5",
        ),
        (
            "{kind: target_match, reference_path: expected.a, threshold: 0.9}",
            ALL,
            "mode normalized does not use a threshold",
        ),
        ("{kind: regex, patterns: [x]}", ALL, "no flags: matching ignores case"),
        ("{kind: regex, flags: i, patterns: [x, y]}", ALL, "no mode: one matching pattern is enough"),
        ("{kind: command, command: make test | tee log}", ALL, "checks[0].command: in a pipe only the last"),
        (
            "{kind: score_delta, tool: phpcs, min_delta: 1, guard_command: 'a | b'}",
            ALL,
            "checks[0].guard_command",
        ),
    ],
)
def test_advice_is_given_with_its_line(check: str, scoring: str, words: str) -> None:
    assert any(words in line for line in advice(check, scoring))


@pytest.mark.parametrize(
    ("check", "scoring"),
    [
        (TEXT, "{combine: weighted_avg, threshold: 0.5, weights: {a: 1}}"),
        ("{kind: regex, flags: '', patterns: [x]}", ALL),
        ("{kind: command, command: \"grep -q 'a|b' f || exit 1\"}", ALL),
        ("{kind: command, command: 'set -o pipefail; a | b'}", ALL),
        ("{kind: target_match, reference_path: expected.a, mode: chrf, threshold: 0.4}", ALL),
    ],
)
def test_nothing_is_said_where_nothing_is_amiss(check: str, scoring: str) -> None:
    assert advice(check, scoring) == []
