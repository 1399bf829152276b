"""How questions are scored, which judges there are, and what a run must reach. Mirrors the schema's
`scoring`, `gate`, `judge` and `panel`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Aggregation = Literal["majority_vote", "average", "weighted_average", "median"]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class QuestionScoring(_Document):
    """A benchmark's `scoring`."""

    question_pass_threshold: float = 3.5
    """On 0 to 5: the least mean over a question's graders that passes it."""


class Gate(_Document):
    """What a run must reach, for each agent that `agent` (a glob; default every one) names."""

    metric: str
    """pass_rate, mean_score and rubric:<id> are on 0 to 1, question_score is on 0 to 5."""
    at_least: float
    kind: Literal["hard", "soft", "shadow"] = "hard"
    """hard decides the exit code, soft warns, shadow is only reported."""
    agent: str = "*"


class JudgeModel(_Document):
    """One entry of `judges` in proctor.yaml: a model behind an OpenAI-compatible chat endpoint."""

    endpoint: str
    """The API's base, such as http://localhost:8000/v1; /chat/completions is added."""
    model: str
    key_env: str | None = None
    """Name of the environment variable that holds the key; the key itself stands in no document."""
    timeout: float = 60.0
    """Seconds for one answer."""
    weight: float = 1.0
    """In a panel's weighted_average."""
    options: Mapping[str, Any] = Field(default_factory=lambda: {"temperature": 0})
    """Further fields of the request."""


class JudgePanel(_Document):
    """One entry of `panels` in proctor.yaml: several judges that give one grade."""

    judges: tuple[str, ...]
    aggregation: Aggregation
