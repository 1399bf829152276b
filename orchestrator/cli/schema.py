"""proctor schema: the JSON Schemas of the documents."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

NAME = "schema"


class Document(StrEnum):
    """What has a schema."""

    rubric = "rubric"
    benchmark = "benchmark"
    record = "record"


def command(
    document: Annotated[Document, typer.Argument(help="Which document's schema.")] = Document.rubric,
) -> int:
    """Print a JSON Schema (Draft 2020-12); the rubric's includes the checks that plug-ins bring.

    Example: proctor schema rubric > rubric.schema.json
    """
    from orchestrator.cli.printing import json_out

    json_out(load(document))
    return 0


def load(document: Document) -> object:
    raise NotImplementedError
