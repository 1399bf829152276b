"""proctor rubric: write, find, check, convert and calibrate rubrics. One module per sub-command."""

from __future__ import annotations

NAME = "rubric"
SUMMARY = "Write, find, lint, convert and calibrate rubrics."
COMMANDS = ("list", "show", "new", "lint", "enable", "disable", "convert", "calibrate")
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""
