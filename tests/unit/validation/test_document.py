"""The validation document and its schema have the same fields."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from orchestrator import schemas
from orchestrator.documents import validation as v

PARTS = [v.Tally, v.Flicker, v.Headroom, v.Proposal, v.Evidence, v.TaskValidation]


@pytest.mark.parametrize("model", [v.Validation, *PARTS], ids=lambda model: model.__name__)
def test_schema_and_model_have_the_same_fields(model: type[BaseModel]) -> None:
    schema: dict[str, Any] = schemas.load("validation")
    part = schema if model is v.Validation else schema["$defs"][model.__name__]
    needed = {name for name, field in model.model_fields.items() if field.is_required()}

    assert set(part["properties"]) == set(model.model_fields)
    assert set(part["required"]) == needed
    assert part["additionalProperties"] is False


def test_every_verdict_is_in_the_schema() -> None:
    verdict = schemas.load("validation")["$defs"]["TaskValidation"]["properties"]["verdict"]

    assert tuple(verdict["enum"]) == v.Verdict.__args__  # type: ignore[attr-defined]
