"""proctor runs: find, tag and clear away earlier runs. One module per sub-command."""

from __future__ import annotations

NAME = "runs"
SUMMARY = "List, show, tag, import and prune earlier runs."
COMMANDS = ("list", "show", "tag", "import_", "rebuild", "prune")
"""In the order of the help page. Each is a module of this package with NAME, SUMMARY and command."""
