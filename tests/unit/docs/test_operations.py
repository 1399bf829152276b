"""docs/operations.md says what every end means."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.documents.record import ENDS

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("end", ENDS)
def test_every_end_of_a_trial_is_explained(end: str) -> None:
    kind, _, which = end.partition(":")

    assert f"`{kind}" in PAGE
    assert not which or f"`:{which}`" in PAGE or f"`{end}`" in PAGE
