"""What a run must reach: the benchmark's gates, held against its records. Pure (rule 193, C-44)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import fsum

from orchestrator.combine import meets
from orchestrator.documents.record import TrialRecord
from orchestrator.documents.scoring import Gate
from orchestrator.errors import EXIT_FAILED, EXIT_OK


@dataclass(frozen=True)
class GateResult:
    """One gate, for one agent."""

    gate: Gate
    agent: str
    """As planned; the gate's glob where no agent of the run fits it."""
    value: float | None
    """None when there was nothing to measure."""
    trials: int
    """How many the value is of."""
    met: bool

    @property
    def reason(self) -> str:
        """For people."""
        return self.told(self.agent)

    def told(self, agent: str) -> str:
        """The same, with the agent called as a table calls it."""
        if self.value is None:
            return f"{self.gate.metric} could not be measured: no graded trial of {agent} has one"
        verb = "reaches" if self.met else "is below"
        return f"{self.gate.metric} {self.value:.4g} of {agent} {verb} {self.gate.at_least:g}"


def evaluate(
    gates: Iterable[Gate], agents: Sequence[str], latest: Mapping[str, TrialRecord]
) -> tuple[GateResult, ...]:
    """Every gate for every agent it holds for. `latest` is what counts of each trial, by trial.

    Only graded trials are measured. A gate that cannot be measured, also because no agent fits its glob, is
    not met: a mistyped name must not open it.
    """
    graded = [r for r in latest.values() if r.final and r.status in ("passed", "failed")]
    found = []
    for gate in gates:
        fits = [agent for agent in agents if fnmatchcase(agent, gate.agent)]
        for agent in fits or [gate.agent]:
            values = list(_values(gate.metric, [r for r in graded if r.agent.name == agent]))
            value = fsum(values) / len(values) if values else None
            met = value is not None and meets(value, gate.at_least)
            found.append(GateResult(gate, agent, value, len(values), met))
    return tuple(found)


def exit_code(ungated: int, gates: Iterable[Gate], results: Iterable[GateResult]) -> int:
    """A run's exit code, from the one it has without gates: with gates a failed trial alone is no failure, a
    missed hard gate is one. What is graver than a failure stays."""
    if not tuple(gates) or ungated not in (EXIT_OK, EXIT_FAILED):
        return ungated
    missed = any(result.gate.kind == "hard" and not result.met for result in results)
    return EXIT_FAILED if missed else EXIT_OK


def _values(metric: str, records: Iterable[TrialRecord]) -> Iterator[float]:
    """What the trials that have it say; the gate's value is their mean."""
    kind, _, rubric = metric.partition(":")
    for record in records:
        if kind == "pass_rate":
            yield float(record.status == "passed")
        elif kind == "rubric":
            verdict = record.verdict
            if verdict is not None and verdict.score is not None and _id(verdict.rubric) == rubric:
                yield verdict.score
        else:
            value = record.score if kind == "mean_score" else record.question_score
            if value is not None:
                yield value


def _id(ref: str) -> str:
    return ref.removeprefix("rubric/").partition("@")[0]
