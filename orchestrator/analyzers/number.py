"""Any command that prints one number (rule 122): a readability score, a line count, a benchmark.

Options in the check's `metadata`: `command` (shell, run in the work tree), `higher_is_better` (must be
said), `unit` (a word for people). The number is the last line on stdout that is not empty, and that line
holds nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from orchestrator.analyzers.measurement import AnalyzerError, Measurement, OptionError, is_number, option
from orchestrator.analyzers.options import no_slips
from orchestrator.contract import Check, Step, StepResult
from sandboxes.spec import Command

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


class Number:
    """The `number` analyzer."""

    name = "number"

    def steps(self, check: Check, workdir: str) -> Sequence[Step]:
        command, _, _ = _options(check)
        return (Step(Command(command)),)

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        command, higher_is_better, unit = _options(check)
        done = results[-1].done
        if not done.ok:
            how = f"exit code {done.exit_code}" if done.end == "exited" else done.end
            raise AnalyzerError(f"the scorer ended with {how}, so what it printed is no score")
        return Measurement(
            tool=self.name,
            value=read_number(done.stdout.tail or done.stdout.head),
            higher_is_better=higher_is_better,
            unit=unit,
            command=command,
            config_digest=hashlib.sha256(json.dumps([command, higher_is_better, unit]).encode()).hexdigest(),
        )

    def config_paths(self, check: Check) -> Sequence[str]:
        return ()


def read_number(stdout: bytes) -> float:
    """The number on the last line that is not empty. Raises AnalyzerError for anything else.

    >>> read_number(b"warming up\\n12.50\\n\\n")
    12.5
    """
    lines = [line.strip() for line in stdout[-4096:].splitlines() if line.strip()]
    if not lines:
        raise AnalyzerError("the scorer printed nothing")
    text = lines[-1].decode("utf-8", "replace")
    if not _NUMBER.fullmatch(text) or not is_number(float(text)):
        raise AnalyzerError(f"the scorer's last line is not one finite number: {text[:120]!r}")
    return float(text)


def _options(check: Check) -> tuple[str, bool, str]:
    no_slips(check, ("command", "higher_is_better", "unit"))
    command = option(check, "command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise OptionError(f"metadata.command is {command!r}; it must be a shell command that prints a number")
    higher_is_better = option(check, "higher_is_better")
    if not isinstance(higher_is_better, bool):
        raise OptionError(f"metadata.higher_is_better is {higher_is_better!r}; say true or false")
    unit = option(check, "unit", "points")
    if not isinstance(unit, str):
        raise OptionError(f"metadata.unit is {unit!r}; it must be a word")
    return command, higher_is_better, unit
