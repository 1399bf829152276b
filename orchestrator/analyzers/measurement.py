"""What one run of an analyzer says, as a value that can be stored and compared (C-12)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeGuard

from orchestrator.contract import Check, Step, StepResult


class OptionError(Exception):
    """The check's options are wrong: its author's mistake. str() names the option and what it may be."""


class AnalyzerError(Exception):
    """The run is no measurement: a crash, a cut or polluted report, nothing analysed (never "no findings").

    `facts` are JSON-serialisable details for people, such as partial counts: shown, never scored.
    """

    def __init__(self, reason: str, **facts: Any) -> None:
        super().__init__(reason)
        self.facts = facts


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing an analyzer complains about."""

    rule: str
    path: str
    """Relative to the analysed root, with forward slashes."""
    line: int
    """1-based; 0 when the tool names none."""
    message: str = ""
    severity: str = "error"
    content: str | None = None
    """The source line without its white space, where the source is at hand: identity that survives a move."""
    key: str = ""
    """More of its identity, for tools whose rules are coarse: a message without numbers, a name."""


@dataclass(frozen=True)
class Measurement:
    """One valid run. `value` is in `unit`; which direction is better is said, never guessed."""

    tool: str
    value: float
    higher_is_better: bool
    unit: str
    tool_version: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    """errors, warnings, files."""
    command: str = ""
    exit_code: int = 0
    taken_at: str = ""
    """ISO 8601, UTC; empty for one that was not stored."""
    target: str = ""
    config_digest: str = ""
    """Of everything that steers the tool: standard, flags, what is counted."""
    findings: tuple[Finding, ...] | None = None
    """None when the tool gives only a number."""
    files: frozenset[str] | None = None
    """What was really analysed; None when the tool does not tell."""

    def improvement_over(self, before: Measurement) -> float:
        """Always positive when better (C-11)."""
        change = self.value - before.value
        return change if self.higher_is_better else -change

    def weighed(self, weights: Mapping[str, float]) -> Measurement:
        """With findings counted by weight of their severity (1 where none is given). A tool that only gives
        a number keeps it. Raises OptionError then, since nothing could be weighed."""
        if not weights:
            return self
        if self.findings is None:
            raise OptionError(f"metadata.weights: {self.tool} gives no findings that could be weighed")
        value = math.fsum(weights.get(finding.severity, 1.0) for finding in self.findings)
        said = json.dumps([self.config_digest, sorted(weights.items())])
        digest = hashlib.sha256(said.encode()).hexdigest()
        return replace(self, value=value, unit=f"weighed {self.unit}", config_digest=digest)

    def to_json(self) -> dict[str, Any]:
        """Without findings and files: what an author stores as `baseline`."""
        return {
            "tool": self.tool,
            "tool_version": self.tool_version,
            "value": self.value,
            "higher_is_better": self.higher_is_better,
            "unit": self.unit,
            "counts": dict(self.counts),
            "command": self.command,
            "exit_code": self.exit_code,
            "taken_at": self.taken_at,
            "target": self.target,
            "config_digest": self.config_digest,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Measurement:
        """A stored measurement; what it does not say is empty, and `mismatch` does not compare it.

        Raises ValueError with a sentence for anything that is not one.
        """
        blank = cls("", 0, False, "").to_json()
        for name, value in stored.items():
            if name not in blank:
                raise ValueError(f"{name!r} is not part of a measurement")
            if name != "value" and type(value) is not type(blank[name]):
                raise ValueError(f"{name} is {value!r}, not of the kind a measurement has there")
        if not isinstance(stored.get("tool"), str) or not is_number(stored.get("value")):
            raise ValueError("tool and value (a finite number) must be given")
        facts = {"higher_is_better": None} | dict(stored)
        return cls(**(blank | facts | {"value": float(stored["value"])}))

    def mismatch(self, other: Measurement) -> str:
        """Why `other` cannot be compared with this one, in words; empty when it can. What this one does not
        say is not compared."""
        pairs = {
            "tool": (self.tool, other.tool),
            "direction": (self.higher_is_better, other.higher_is_better),
            "unit": (self.unit, other.unit),
            "tool_version": (self.tool_version, other.tool_version),
            "target": (self.target, other.target),
            "config_digest": (self.config_digest, other.config_digest),
        }
        said = {name: pair for name, pair in pairs.items() if pair[0] not in (None, "")}
        return ", ".join(f"{name} {a!r} against {b!r}" for name, (a, b) in said.items() if a != b)


class Analyzer(Protocol):
    """One tool. Stateless.

    Optional: `suppresses` (name of a syntax in `suppressions`, whose new comments are reported),
    `obeys_suppressions(check)` (False when the run defeats them, so that nothing must be counted back; True
    when it is missing), `outside` (True when it runs on the image's own programs alone and nothing of the
    candidate's: search paths into the work tree are closed, touched files are parsed ahead of it in the
    same container), `config_names` (globs of the files tools of its kind are steered by, for the report).
    """

    name: str

    def steps(self, check: Check, workdir: str) -> Sequence[Step]:
        """What to run in one fresh room. Raises OptionError."""
        ...

    def read(self, check: Check, workdir: str, results: Sequence[StepResult]) -> Measurement:
        """`results` may be shorter than `steps` when one that had to succeed did not.
        Raises AnalyzerError for anything that is not a finished, consistent run."""
        ...

    def config_paths(self, check: Check) -> Sequence[str]:
        """Paths in the work tree that steer the tool: taken from the state before the change."""
        ...


def option(check: Check, name: str, default: Any = None) -> Any:
    """One analyzer option: from the check's `metadata`."""
    metadata = check.get("metadata")
    if metadata is None:
        return default
    if not isinstance(metadata, Mapping):
        raise OptionError(f"metadata is {metadata!r}; it must be a mapping")
    return metadata.get(name, default)


def is_number(value: Any) -> TypeGuard[int | float]:
    """A finite int or float; true and false are not numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
