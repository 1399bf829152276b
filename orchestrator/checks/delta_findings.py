"""The findings that a score_delta told of, read back from its outcome's details: for reports of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BASELINE_STATE = {"new": "new", "fixed": "absent", "gone": "absent", "hidden": "unchanged"}
"""What became of a finding -> the word SARIF 2.1.0 has for it (`result.baselineState`). What is hidden is
still there: give it a suppression of kind inSource as well."""
_KEYS = {"new": "new", "hidden": "suppressed", "gone": "gone", "fixed": "fixed"}
"""What became of a finding -> what `details.matched` counts it as; worst first."""


@dataclass(frozen=True)
class ToldFinding:
    """One row of an outcome's tables."""

    fate: str
    """new, hidden (behind a comment the change added), gone (with its file) or fixed."""
    path: str
    line: int
    """1-based; 0 when the tool names none. Of new ones in the state after, of others in the one before."""
    rule: str
    severity: str
    message: str


@dataclass(frozen=True)
class ToldFindings:
    """What an outcome keeps of them."""

    tool: str
    """With its version, where it is known."""
    rows: tuple[ToldFinding, ...]
    counts: Mapping[str, int]
    """How many findings met each fate, those left out of `rows` included."""

    @property
    def left_out(self) -> int:
        """So many more there were: an outcome keeps the first of each fate."""
        return max(0, sum(self.counts.values()) - len(self.rows))


def told(details: Mapping[str, Any]) -> ToldFindings | None:
    """From `details` of an outcome of kind score_delta, as recorded; None when it holds no findings. What is
    not as proctor writes it is left out, never an error.

    >>> told({"tool": "phpcs", "new": [["a.php", 3, "R", "error", "m"]], "matched": {"new": 2}}).left_out
    1
    """
    matched = details.get("matched")
    if not isinstance(matched, Mapping):
        return None
    rows = tuple(row for fate in _KEYS for row in _rows(fate, details.get(fate)))
    counts = {fate: matched.get(key, 0) for fate, key in _KEYS.items()}
    whole = {fate: count if isinstance(count, int) else 0 for fate, count in counts.items()}
    words = (details.get(name) for name in ("tool", "tool_version"))
    return ToldFindings(" ".join(str(word) for word in words if word), rows, whole)


def _rows(fate: str, rows: Any) -> Iterator[ToldFinding]:
    for row in rows if isinstance(rows, Sequence) and not isinstance(rows, str) else ():
        match row:
            case [str(path), int(line), str(rule), str(severity), str(message)]:
                yield ToldFinding(fate, path, line, rule, severity, message)
