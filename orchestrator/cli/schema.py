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
    validation = "validation"
    quarantine = "quarantine"
    nightly = "nightly"


_DOCUMENTS = "Whose schema: rubric, benchmark, record, validation, quarantine or nightly."


def command(
    document: Annotated[Document, typer.Argument(metavar="DOCUMENT", help=_DOCUMENTS)] = Document.rubric,
    with_plugins: Annotated[
        bool,
        typer.Option("--with-plugins", help="With the check kinds and tools of what is installed here."),
    ] = False,
) -> int:
    """Print a JSON Schema (Draft 2020-12), as it is shipped or as it holds on this machine.

    \b
    Examples:
      proctor schema benchmark
      proctor schema rubric --with-plugins > rubric.schema.json    for an editor
    """
    from orchestrator.cli.printing import json_out

    json_out(load(document, with_plugins))
    return 0


def load(document: Document, with_plugins: bool = False) -> Any:
    """The schema as plain values; plug-ins have a part in the rubric's alone (rule 159).

    Raises AuthoringError when a plug-in's part of it is unfit.
    """
    if document is not Document.rubric or not with_plugins:
        from orchestrator.schemas import load as static

        return static(document.value)
    from orchestrator.cli.given import schemas
    from orchestrator.plugins import Registry

    return schemas(Registry.load()).schema
