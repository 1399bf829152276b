"""A program that was never there: no submission can be blamed for what the rooms of a task lack (B042)."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestrator.checks.causes import printable
from orchestrator.contract import Judge, StepResult

RUNNERS = frozenset({"coverage", "mypy", "nose2", "nox", "pytest", "ruff", "tox"})
"""Modules that come with the room and never with a work tree; any other may be what the task asks for."""
_NOT_FOUND = re.compile(r"^\S*sh: (?:(?:line )?\d+: )?([^\s:/]+): (?:command )?not found\s*$", re.MULTILINE)
_NO_MODULE = re.compile(r"^\S*python\S*: No module named '?([\w.]+)'?\s*$", re.MULTILINE)


def never_there(command: str, judge: Judge, after: StepResult, before: Callable[[], StepResult]) -> str:
    """The program that both states miss; empty when it is not that.

    `before` is asked only when the after state misses a program, and no code of the candidate runs there.
    A program that the command looks for in the work tree (by a path, or with a PATH that leads into it) is
    none of these: the task may be to write it.
    """
    if not missing_program(after) or "PATH=" in command or judge.workdir in judge.env.get("PATH", ""):
        return ""
    return missing_program(before())


def missing_program(result: StepResult) -> str:
    """What the shell or python could not find, by its own words; empty when it found everything."""
    done = result.done
    if done.end != "exited" or done.exit_code not in (1, 127):
        return ""
    words = printable(done.stderr.text[-4096:])
    if done.exit_code == 127:
        found = _NOT_FOUND.findall(words)
        return found[-1] if found else ""
    modules = [name for name in _NO_MODULE.findall(words) if name in RUNNERS]
    return modules[-1] if modules else ""
