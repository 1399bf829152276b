"""An audit: a command that prints JSON with a score in it, higher is better, as the Drupal Audit module does.

Options in the check's `metadata`: `command` (shell, run in the work tree), `value` (a path of names and
numbers to the score, such as `audits.phpcs.score`; "score"), `minimum` and `maximum` (0 and 100: a score
beyond them is none), `exit_codes` (of a finished run; [0]). Nothing else of the report is read: the exact
shape of each audit is its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.analyzers.measurement import AnalyzerError, Measurement, OptionError, is_number, option
from orchestrator.analyzers.options import no_slips
from orchestrator.analyzers.reports import Raw, Report, agree, loads
from orchestrator.contract import Check, Step, StepResult
from sandboxes.spec import Command


class Audit:
    """The `audit` analyzer."""

    name = "audit"

    def steps(self, check: Check, workdir: str) -> Sequence[Step]:
        return (Step(Command(_options(check).command)),)

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        options = _options(check)
        done = results[-1].done
        if done.end != "exited" or done.exit_code is None:
            raise AnalyzerError(f"the audit did not come to its end: {done.end}")
        if done.stdout.truncated:
            raise AnalyzerError(f"the audit wrote {done.stdout.total} bytes, more than is kept")
        raw = Raw(done.stdout.data, done.exit_code, stderr=done.stderr.text)
        agree("the audit", raw, options.exit_codes, "a finished run")
        return Measurement(
            tool=self.name,
            value=score(loads("audit", raw), options.value, options.minimum, options.maximum),
            higher_is_better=True,
            unit="points",
            command=options.command,
            exit_code=done.exit_code,
            config_digest=options.digest(),
        )

    def config_paths(self, check: Check) -> Sequence[str]:
        return ()


def read(raw: Raw) -> Report:
    """A saved report whose score is called `score`."""
    return Report(value=score(loads("audit", raw), "score"))


def score(document: Any, path: str, minimum: float = 0, maximum: float = 100) -> float:
    """The number at `path`. Raises AnalyzerError when it is missing, no number or out of its range.

    >>> score({"audits": [{"score": 71.5}]}, "audits.0.score")
    71.5
    """
    value = document
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name[:9]) < len(value):
            value = value[int(name)]
        else:
            raise AnalyzerError(f"the audit's report has nothing at {path}: {name!r} is not there")
    if not is_number(value):
        raise AnalyzerError(f"the audit's report has {value!r} at {path}, which is no number")
    if not minimum <= value <= maximum:
        raise AnalyzerError(f"the audit's score {value} at {path} is not within {minimum} to {maximum}")
    return float(value)


@dataclass(frozen=True)
class _Options:
    command: str
    value: str
    minimum: float
    maximum: float
    exit_codes: tuple[int, ...]

    def digest(self) -> str:
        facts = [self.command, self.value, self.minimum, self.maximum, self.exit_codes]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _options(check: Check) -> _Options:
    no_slips(check, ("command", "value", "minimum", "maximum", "exit_codes"))
    command = option(check, "command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise OptionError(
            f"metadata.command is {command!r}; it must be a shell command that prints the audit"
        )
    value = option(check, "value", "score")
    if not isinstance(value, str) or not all(value.split(".")):
        raise OptionError(f"metadata.value is {value!r}; it must be a path such as summary.score")
    low, high = option(check, "minimum", 0), option(check, "maximum", 100)
    if not is_number(low) or not is_number(high) or low >= high:
        raise OptionError(f"metadata.minimum and maximum are {low!r} and {high!r}; they must be a range")
    codes = option(check, "exit_codes", [0])
    if (
        not isinstance(codes, list | tuple)
        or not codes
        or not all(type(c) is int and 0 <= c < 256 for c in codes)
    ):
        raise OptionError(f"metadata.exit_codes is {codes!r}; it must be a list of exit codes")
    return _Options(command, value, float(low), float(high), tuple(codes))
