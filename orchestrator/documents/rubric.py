"""A rubric, as authors write it. Mirrors schema/rubric.schema.json, which is authoritative."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Combine = Literal["all_pass", "any_pass", "weighted_avg", "min", "max", "median"]
NUMERIC_MODES = frozenset({"weighted_avg", "min", "max", "median"})
DEFAULT_THRESHOLD = 0.5


class Scoring(BaseModel):
    """How outcomes combine (rules 125 to 138)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    combine: Combine
    threshold: float | None = None
    """0..1, numeric modes only; None means 0.5 (rule 133)."""
    weights: Mapping[str, float] = Field(default_factory=dict)
    """By check id; a check not listed weighs 1 (rule 136)."""


class Rubric(BaseModel):
    """A named, versioned, reusable bundle of checks (rules 8 to 21)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    version: str
    checks: tuple[Mapping[str, Any], ...]
    """As loaded; each validated against its own kind's definition."""
    scoring: Scoring
    label: str = ""
    description: str = ""
    applicable_bundles: tuple[str, ...] = ()
    """Empty: any bundle (rule 12)."""
    enabled: bool = True
    """False retires it without deleting (rule 29): refs to it resolve to nothing."""
    metadata: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def ref(self) -> str:
        return f"rubric/{self.id}@{self.version}"
