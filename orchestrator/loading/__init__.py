"""Parse at the edge: from files that people write to frozen documents, or to every problem at once."""

from orchestrator.loading.accepted import Accepted
from orchestrator.loading.benchmark import benchmark_file, load_benchmark, load_task
from orchestrator.loading.config import load_config
from orchestrator.loading.lint import Findings, lint
from orchestrator.loading.located import Located
from orchestrator.loading.nightly import load_nightly
from orchestrator.loading.quarantine import load_quarantine
from orchestrator.loading.references import check_references, lint_references
from orchestrator.loading.rubric import dump_rubric, load_rubric, parse_rubric, rubric_of
from orchestrator.loading.texts import parse_document, read_document

__all__ = [
    "Accepted",
    "Findings",
    "Located",
    "benchmark_file",
    "check_references",
    "dump_rubric",
    "lint",
    "lint_references",
    "load_benchmark",
    "load_config",
    "load_nightly",
    "load_quarantine",
    "load_rubric",
    "load_task",
    "parse_document",
    "parse_rubric",
    "read_document",
    "rubric_of",
]
