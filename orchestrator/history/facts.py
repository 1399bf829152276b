"""A run folder read for counting: its header, and of each trial the facts that comparisons need.

The same trials, attempts and problems as `orchestrator.store.RunFolder` finds, without building whole
records: a run of 10,000 trials is read in a fraction of a second.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from orchestrator.documents.record import HIGHEST_POINTS, HIGHEST_SCORE
from orchestrator.errors import Problem
from orchestrator.journal import lines
from orchestrator.plan import Plan, TrialJob
from orchestrator.records import plain, refuse_foreign
from orchestrator.regular import read_regular
from orchestrator.store import HEADER, RECORDS, RunFolder, RunHeader
from orchestrator.summary import STATUSES

TAGS = "tags"
"""The file of a run folder that holds its later tags, one a line."""
GRADED = ("passed", "failed")
COSTS = ("cost", "cost_usd", "total_cost", "total_cost_usd")
TOKENS = ("total_tokens", "tokens")
_NEEDED = {
    "trial": str,
    "attempt": int,
    "final": bool,
    "benchmark": str,
    "task": str,
    "repeat": int,
    "status": str,
}
_FINITE = sys.float_info.max
_BOUNDS = {"score": (0, HIGHEST_SCORE), "question_score": (0, HIGHEST_POINTS), "seconds": (-_FINITE, _FINITE)}


@dataclass(frozen=True, slots=True)
class Delta:
    """What one score_delta check measured in one trial."""

    check: str
    tool: str
    delta: float
    """Improvement: higher is better, whatever the tool counts."""
    by_rule: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """[before, after] findings of each rule that the change moved."""


@dataclass(frozen=True, slots=True)
class TrialFacts:
    """One trial as it counts: its last final attempt, or where none is final its last one."""

    trial: str
    task: str
    agent: str
    repeat: int
    """1-based."""
    status: str
    end: str
    score: float | None
    """0 to 1; None unless passed or failed."""
    question_score: float | None
    """0 to 5."""
    seconds: float
    reason: str
    rubric: str
    """The ref of the rubric that gave the verdict, or that the task names; empty without one."""
    executors: str
    attempts: int
    state: str = ""
    """Digest of the task's state (source and setup)."""
    model: str = ""
    cost: float | None = None
    """In the currency of the agent's own account."""
    tokens: float | None = None
    checks: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)
    """(status, score) by check id, or by kind where it has none."""
    deltas: tuple[Delta, ...] = ()

    @property
    def graded(self) -> bool:
        """Whether it is anybody's score."""
        return self.status in GRADED

    @property
    def passed(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True)
class RunFacts:
    """One run: where it is, what it was, how each of its planned trials ended, in the plan's order."""

    folder: Path
    header: RunHeader
    plan: Plan
    trials: tuple[TrialFacts, ...]
    tags: tuple[str, ...] = ()

    @property
    def run_id(self) -> str:
        return self.header.run_id

    @property
    def agents(self) -> tuple[str, ...]:
        return self.plan.agents

    @property
    def counts(self) -> dict[str, int]:
        """By status, every status named; adds up to the trials planned."""
        found: dict[str, int] = dict.fromkeys(map(str, STATUSES), 0)
        for trial in self.trials:
            found[trial.status] += 1
        return found


Report = Callable[[Problem], None]


def read_run(folder: Path, report: Report | None = None) -> RunFacts:
    """The run in `folder`. Lines that are no records are told to `report` and left out.

    Raises AuthoringError when there is no readable run.
    """
    header = RunFolder(folder).header
    plan = Plan.from_json(header.plan, str(folder / HEADER))
    latest = _latest(folder / RECORDS, {job.trial: (job.benchmark, job.task) for job in plan.trials}, report)
    trials = tuple(latest.get(job.trial) or _never_begun(job) for job in plan.trials)
    return RunFacts(folder, header, plan, trials, read_tags(folder, header))


def _never_begun(job: TrialJob) -> TrialFacts:
    about = (job.trial, job.task, job.agent, job.repeat)
    return TrialFacts(*about, "not_run", "", None, None, 0.0, "never begun", "", "", 0)


def read_tags(folder: Path, header: RunHeader) -> tuple[str, ...]:
    """The tags a run was started with and those it was given since, sorted."""
    try:
        later = read_regular(folder / TAGS).decode("utf-8", "replace").split("\n")
    except OSError:
        return tuple(sorted(set(header.tags)))
    return tuple(sorted({tag.strip() for tag in later if tag.strip()}))


def write_tags(folder: Path, tags: set[str]) -> None:
    """Replace a run's tags in one step. Raises OSError where the folder cannot be written."""
    draft = folder / f".{TAGS}.draft"
    draft.write_text("".join(f"{tag}\n" for tag in sorted(tags)), encoding="utf-8")
    draft.replace(folder / TAGS)


def wrong_tag(tag: str) -> str:
    """Why `tag` cannot be one, or an empty text.

    >>> wrong_tag("nightly:main"), wrong_tag("a b")
    ('', "the tag 'a b' has white space or is empty; write it as one word")
    """
    if not tag or any(c.isspace() or not c.isprintable() for c in tag):
        return f"the tag {tag!r} has white space or is empty; write it as one word"
    return ""


def _latest(
    path: Path, planned: Mapping[str, tuple[str, str]], report: Report | None
) -> dict[str, TrialFacts]:
    """What counts of each planned trial. Only that is kept in memory, never a whole record."""
    found: dict[str, TrialFacts] = {}
    held: dict[str, tuple[bool, int]] = {}
    seen: set[tuple[str, int]] = set()
    for number, line, whole in lines(path):
        try:
            if not whole:
                raise ValueError("the line is torn; its attempt is lost")
            record = _record(line)
            trial, attempt = record["trial"], record["attempt"]
            refuse_foreign(trial, (record["benchmark"], record["task"]), planned)
            if (trial, attempt) in seen:
                raise ValueError(f"attempt {attempt} of {trial} is there twice; it counts once")
        except ValueError as error:
            if report is not None:
                report(Problem(str(path), number, "", str(error)))
            continue
        seen.add((trial, attempt))
        if trial not in planned:
            continue
        place = (record["final"], attempt)
        if trial not in held:
            found[trial], held[trial] = _facts(record, 1), place
        elif place > held[trial]:
            found[trial], held[trial] = _facts(record, found[trial].attempts + 1), place
        else:
            found[trial] = replace(found[trial], attempts=found[trial].attempts + 1)
    return found


def _record(line: bytes) -> dict[str, Any]:
    """The line as plain data, with the fields that are used here of the right types. Raises ValueError."""
    data = plain(line)
    for name, kind in _NEEDED.items():
        if type(data.get(name)) is not kind:
            raise ValueError(f"the line is not a trial record: {name} is missing or of another type")
    agent = data.get("agent")
    if (
        data["status"] not in STATUSES
        or not isinstance(agent, dict)
        or not isinstance(agent.get("name"), str)
    ):
        raise ValueError("the line is not a trial record: its status or agent is none")
    for name, (least, most) in _BOUNDS.items():
        value = data.get(name)
        if value is not None and not (isinstance(value, int | float) and least <= value <= most):
            raise ValueError(f"the line is not a trial record: {name} is {value!r}")
    return data


def _facts(record: Mapping[str, Any], attempts: int) -> TrialFacts:
    agent, verdict = record["agent"], _mapping(record.get("verdict"))
    status = record["status"] if record["final"] else "not_run"
    graded = status in GRADED
    usage = _mapping(agent.get("usage"))
    outcomes = [o for o in _sequence(verdict.get("outcomes")) if isinstance(o, dict)]
    return TrialFacts(
        trial=record["trial"],
        task=record["task"],
        agent=agent["name"],
        repeat=record["repeat"],
        status=status,
        end=str(record.get("end", "")),
        score=_number(record.get("score")) if graded else None,
        question_score=_number(record.get("question_score")) if graded else None,
        seconds=_number(record.get("seconds")) or 0.0,
        reason=str(record.get("reason", "")),
        rubric=str(verdict.get("rubric") or record.get("rubric_ref") or ""),
        executors=str(verdict.get("executors", "")),
        attempts=attempts,
        state=str(_mapping(record.get("digests")).get("state", "")),
        model=str(agent.get("model") or ""),
        cost=_first(usage, COSTS),
        tokens=_tokens(usage),
        checks={
            str(o.get("id") or o.get("kind", "")): (str(o.get("status", "")), _number(o.get("score")))
            for o in outcomes
        },
        deltas=tuple(_deltas(outcomes)),
    )


def _deltas(outcomes: list[dict[str, Any]]) -> Iterator[Delta]:
    for outcome in outcomes:
        details = _mapping(outcome.get("details"))
        delta = _number(details.get("delta"))
        if outcome.get("kind") != "score_delta" or delta is None:
            continue
        rules = {
            str(rule): (float(pair[0]), float(pair[1]))
            for rule, pair in _mapping(details.get("by_rule")).items()
            if isinstance(pair, list) and len(pair) == 2 and None not in map(_number, pair)
        }
        yield Delta(str(outcome.get("id") or "score_delta"), str(details.get("tool", "")), delta, rules)


def _tokens(usage: Mapping[str, Any]) -> float | None:
    whole = _first(usage, TOKENS)
    if whole is not None:
        return whole
    parts = [
        _first(usage, names)
        for names in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    ]
    told = [part for part in parts if part is not None]
    return sum(told) if told else None


def _first(usage: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    for name in names if usage else ():
        if (found := _number(usage.get(name))) is not None:
            return found
    return None


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) > _FINITE:
        return None
    return float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
