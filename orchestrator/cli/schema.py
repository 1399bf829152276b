"""proctor schema: the JSON Schemas of the documents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

NAME = "schema"
SUMMARY = "Print a document's JSON Schema."


class Document(StrEnum):
    """What has a schema."""

    rubric = "rubric"
    benchmark = "benchmark"
    record = "record"


def command(
    document: Annotated[Document, typer.Argument(help="Which document's schema.")] = Document.rubric,
) -> int:
    """Print a JSON Schema (Draft 2020-12); the rubric's includes the checks that plug-ins bring.

    \b
    Example:
      proctor schema rubric > rubric.schema.json
    """
    from orchestrator.cli.printing import json_out

    json_out(load(document))
    return 0


def load(document: Document) -> Any:
    """The schema as plain values. Raises AuthoringError when a plug-in's part of it is unfit."""
    if document is not Document.rubric:
        from orchestrator.schemas import load as static

        return static(document.value)
    from orchestrator.cli.given import schemas
    from orchestrator.plugins import Registry

    return schemas(Registry.load()).schema
