"""Parse at the edge: from files that people write to frozen documents, or to every problem at once."""

from orchestrator.loading.located import Located
from orchestrator.loading.rubric import dump_rubric, load_rubric, parse_rubric, rubric_of
from orchestrator.loading.texts import parse_document, read_document

__all__ = [
    "Located",
    "dump_rubric",
    "load_rubric",
    "parse_document",
    "parse_rubric",
    "read_document",
    "rubric_of",
]
