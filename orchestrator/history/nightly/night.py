"""One night, as a story: run the benchmarks, judge them, record the night, clear away, tell.

Who runs a benchmark is passed in (`Execute`), so that this knows nothing of engines and terminals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

from orchestrator.documents.nightly import (
    REGRESSION,
    Finding,
    GateEnd,
    Night,
    NightBenchmark,
    Nightly,
    NightRun,
)
from orchestrator.errors import (
    EXIT_AUTHOR,
    EXIT_FAILED,
    EXIT_INFRASTRUCTURE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    AuthoringError,
)
from orchestrator.history.facts import read_run
from orchestrator.history.nightly import baselines, due
from orchestrator.history.nightly.clearing import clear_away
from orchestrator.history.nightly.judgement import Judged, Rerun, finding, gate_ends, judge
from orchestrator.history.nightly.ledger import Ledger
from orchestrator.history.nightly.telling import notify
from orchestrator.history.pairing import Side, Subject, sides
from orchestrator.store import HEADER, RunFolder, now
from orchestrator.summary import PRECEDENCE
from orchestrator.surroundings import machine


@dataclass(frozen=True)
class Order:
    """A run that the night wants."""

    benchmark: NightBenchmark
    candidates: tuple[str, ...]
    repeats: int
    out: Path
    """Its folder; holds the run to go on with where a run is in it already."""
    tags: tuple[str, ...]
    apart: Mapping[str, str]
    """Tasks that are kept apart, and why."""
    tasks: str | None = None


@dataclass(frozen=True)
class Ran:
    """How it ended."""

    exit_code: int
    """The run's own; failed trials alone make it 0 here."""
    problem: str = ""


_Apart = dict[str, dict[str, str]]
Execute = Callable[[Order], Ran]
"""Carries out a run; raises nothing but what ends the night (KeyboardInterrupt)."""


@dataclass(frozen=True)
class _Held:
    """A benchmark's run of this night, and what it is held against."""

    order: Order
    subject: Subject
    base: Subject | None


@dataclass
class _Tally:
    """What has come together so far."""

    runs: list[NightRun] = field(default_factory=list)
    held: list[_Held] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    gates: list[GateEnd] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    codes: set[int] = field(default_factory=set)

    def trouble(self, code: int, said: str) -> None:
        self.codes.add(code)
        if said:
            self.problems.append(said)


def run_night(config: Nightly, execute: Execute, clock: Callable[[], datetime]) -> Night | None:
    """One night from beginning to end; None when it was interrupted: the next call goes on with it.

    `clock` tells the time with its zone. Raises InfrastructureError when a night is running already.
    """
    ledger = Ledger(config.root, config.id)
    with ledger.alone():
        earlier = ledger.nights()
        name = due.name_of({night.night for night in earlier}, config.at, clock())
        night = _carried_out(config, name, earlier, execute, clock)
        if night is None:
            return None
        ledger.append(night)
        clear_away(config, (*earlier, night))
    failures = notify(config.notify, night, earlier[-1] if earlier else None)
    if not failures:
        return night
    code = night.exit_code or EXIT_INFRASTRUCTURE
    return night.model_copy(update={"exit_code": code, "problems": (*night.problems, *failures)})


def _carried_out(
    config: Nightly, name: str, earlier: Sequence[Night], execute: Execute, clock: Callable[[], datetime]
) -> Night | None:
    started = now()
    tally = _Tally()
    apart = set_apart(config, clock().date())
    for number, benchmark in enumerate(config.benchmarks):
        order = _order(config, benchmark, name, number, apart)
        ran = execute(order)
        if ran.exit_code == EXIT_INTERRUPTED:
            return None
        _take_in(config, order, ran, earlier, tally)

    def again(side: Side, tasks: tuple[str, ...]) -> Rerun | None:
        return _again(config, name, side, tasks, tally, execute)

    judged = _judged(config, earlier, tally, again)
    if EXIT_INTERRUPTED in tally.codes:
        return None
    tally.findings += [finding(one) for one in judged]
    for held in tally.held:
        tally.gates += _gates(config, held, tally.findings)
    tally.problems += _unknown(config, apart, tally)
    if any(gate.kind == "hard" and not gate.met for gate in tally.gates):
        tally.codes.add(EXIT_FAILED)
    code = next((code for code in PRECEDENCE if code in tally.codes), EXIT_OK)
    return Night(
        nightly=config.id,
        night=name,
        started=started,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        exit_code=code,
        passed=code == EXIT_OK,
        runs=tuple(tally.runs),
        findings=tuple(tally.findings),
        gates=tuple(tally.gates),
        problems=tuple(tally.problems),
        machine=machine(),
    )


def _order(
    config: Nightly,
    benchmark: NightBenchmark,
    night: str,
    number: int,
    apart: _Apart,
) -> Order:
    slug = re.sub(r"[^a-z0-9_]+", "-", Path(benchmark.benchmark).name.lower()).strip("-") or "run"
    return Order(
        benchmark=benchmark,
        candidates=config.candidates,
        repeats=config.repeats,
        out=config.root / night / f"{number + 1}-{slug}",
        tags=(f"nightly:{config.id}", f"night:{night}"),
        apart={**apart.get("", {}), **apart.get(benchmark.benchmark, {})},
        tasks=benchmark.tasks,
    )


def set_apart(config: Nightly, today: date) -> _Apart:
    """Why, by task, by benchmark as nightly.yaml names it ("": every one); what has run out is not in it."""
    found: _Apart = {}
    for entry in config.quarantine:
        if entry.until is None or date.fromisoformat(entry.until) >= today:
            found.setdefault(entry.benchmark or "", {})[entry.task] = entry.why
    return found


def _take_in(config: Nightly, order: Order, ran: Ran, earlier: Sequence[Night], tally: _Tally) -> None:
    """A benchmark's run, and the baseline it is held against."""
    tally.trouble(ran.exit_code, ran.problem)
    if not (order.out / HEADER).is_file():
        return
    run = read_run(order.out)
    subject = Subject.of(run, f"night {order.out.parent.name}")
    base = None
    try:
        base = baselines.find(config, subject.benchmark, earlier)
    except AuthoringError as error:
        tally.trouble(EXIT_AUTHOR, str(error))
    tally.runs.append(
        NightRun(
            benchmark=subject.benchmark,
            folder=order.out.relative_to(config.root).as_posix(),
            run_id=subject.run_id,
            exit_code=ran.exit_code,
            baseline=None if base is None else base.run_id,
        )
    )
    tally.held.append(_Held(order, subject, base))


def _judged(
    config: Nightly,
    earlier: Sequence[Night],
    tally: _Tally,
    again: Callable[[Side, tuple[str, ...]], Rerun | None],
) -> tuple[Judged, ...]:
    """Everything that can be compared, together: one level for the whole night."""
    pairs: list[tuple[Side, Side]] = []
    for held in tally.held:
        if held.base is None:
            continue
        try:
            found = sides(held.base, held.subject)
            judge(found, level=config.level, confirm=_AT_ONCE, earlier=(), again=_never)
        except AuthoringError as error:
            tally.trouble(EXIT_AUTHOR, f"{error}; choose another baseline")
            continue
        pairs += found
    return judge(pairs, level=config.level, confirm=config.confirm, earlier=earlier, again=again)


_AT_ONCE = Nightly.model_fields["confirm"].default.model_copy(update={"by": "nothing"})


def _never(side: Side, tasks: tuple[str, ...]) -> Rerun | None:
    return None


def _again(
    config: Nightly, night: str, side: Side, tasks: tuple[str, ...], tally: _Tally, execute: Execute
) -> Rerun | None:
    """The tasks that turned once more, in a run of their own beside the night's."""
    held = next(held for held in tally.held if held.subject.run_id == side.subject.run_id)
    number = held.subject.agents.index(side.agent) + 1
    order = replace(
        held.order,
        candidates=(side.agent,),
        repeats=config.confirm.repeats,
        out=held.order.out.with_name(f"{held.order.out.name}.again-{number}"),
        tags=(f"again:{config.id}", f"night:{night}"),
        apart={},
        tasks=",".join(tasks),
    )
    ran = execute(order)
    tally.trouble(ran.exit_code, ran.problem)
    if ran.exit_code == EXIT_INTERRUPTED or not (order.out / HEADER).is_file():
        return None
    return Rerun(Subject.of(read_run(order.out)), order.out.relative_to(config.root).as_posix())


def _gates(config: Nightly, held: _Held, findings: Sequence[Finding]) -> tuple[GateEnd, ...]:
    measured = any(gate.metric != REGRESSION for gate in config.gates)
    latest = RunFolder(held.order.out).latest() if measured else {}
    about = held.subject
    return gate_ends(config.gates, about.benchmark, about.agents, findings, held.base is not None, latest)


def _unknown(config: Nightly, apart: _Apart, tally: _Tally) -> list[str]:
    """Tasks that are kept apart and that nobody has: a mistyped name keeps nothing apart."""
    found = []
    for name, tasks in apart.items():
        runs = [held.subject for held in tally.held if name in ("", held.order.benchmark.benchmark)]
        known = {trial.task for run in runs for trial in run.trials}
        found += [f"quarantine: no benchmark of this night has the task {t}" for t in tasks if t not in known]
    return found if len(tally.held) == len(config.benchmarks) else []
