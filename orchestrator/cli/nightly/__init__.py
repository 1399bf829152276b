"""proctor nightly: a run every night, held against a baseline. One module per sub-command."""

from __future__ import annotations

NAME = "nightly"
SUMMARY = "Run benchmarks every night and tell a regression from chance."
COMMANDS = ("run", "install", "status", "trend")
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""
