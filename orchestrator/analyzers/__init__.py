"""Deterministic scorers for `score_delta`: what an analyzer is, and what it measures.

An analyzer is found by entry point (group `orchestrator.analyzers`, the name is the check's `tool`), built
once with no arguments, and used from many threads.
"""

from __future__ import annotations

from orchestrator.analyzers.measurement import (
    Analyzer,
    AnalyzerError,
    Finding,
    Measurement,
    OptionError,
)

__all__ = ["Analyzer", "AnalyzerError", "Finding", "Measurement", "OptionError"]
