"""From what a task's rounds showed to one verdict on the task, with reasons. Pure.

The before state and no-op are one state seen twice: both must fail, for the reason the task is about. Gold
must pass. Every round must say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from orchestrator.documents.benchmark import Task
from orchestrator.documents.record import TrialRecord
from orchestrator.documents.validation import Evidence, Flicker, Tally, TaskValidation, Verdict
from orchestrator.validation.flicker import flickering
from orchestrator.validation.headroom import headroom, proposed, short_of
from orchestrator.validation.witness import Look, Sighting
from orchestrator.words import many

REASON_KEPT = 600
"""Characters of a reason in a sentence of ours."""
ODD_ENDS = (
    "missing_binary",
    "limit_hit",
    "nothing_ran",
    "run_incomplete",
    "report_unreadable",
    "analyzer_error",
)
"""No-op ending so fails for another reason than the fault; exit_zero does not ask, so it is only a note."""


@dataclass(frozen=True)
class Round:
    """One trial of a validation: its last record, and every check's look. None: it was never begun."""

    record: TrialRecord | None
    looks: tuple[Look, ...] = ()

    @property
    def status(self) -> str:
        return "not_run" if self.record is None or not self.record.final else self.record.status

    @property
    def reason(self) -> str:
        return "never begun" if self.record is None else self.record.reason

    @property
    def would_pass(self) -> bool:
        """Whether the rubric itself was satisfied, whatever else was held against the trial."""
        verdict = None if self.record is None else self.record.verdict
        return self.status == "passed" or bool(verdict and verdict.passed)

    @property
    def guard(self) -> str:
        return next((look.guard for look in self.looks if look.guard), "")

    @property
    def sightings(self) -> tuple[Sighting, ...]:
        return tuple(sighting for look in self.looks for sighting in look.sightings)


def judge(task: Task, gold: Sequence[Round], noop: Sequence[Round]) -> TaskValidation:
    """The verdict on `task` from equally many rounds of gold and of no-op."""
    both = (*gold, *noop)
    wrong = list(_wrong(task, gold, noop))
    flicker = flickering(task, [r.sightings for r in gold], [r.sightings for r in noop])
    deciding = [f for f in flicker if f.listed]
    mixed = [*_mixed(gold, noop), *(_told(f) for f in deciding)]
    room = headroom([s for r in both for s in r.sightings])
    slow = short_of(room)
    lost = [r.reason for r in both if r.status in ("errored", "not_run")]
    verdict, why = _first(
        ("unknown", lost[:1]), ("flickering", mixed), ("invalid", wrong), ("slow", slow.verdict)
    )
    return TaskValidation(
        task=task.id,
        verdict=verdict,
        why=tuple(dict.fromkeys(why)),
        notes=tuple(dict.fromkeys((*_notes(gold, noop), *slow.notes, *_idle(flicker, deciding)))),
        before=_tally(noop, [r.status != "invalid" and not r.would_pass for r in noop], "fails"),
        gold=_tally(gold, [r.status == "passed" for r in gold], "passes"),
        noop=_tally(noop, [r.status == "failed" and not r.would_pass and not r.guard for r in noop], "fails"),
        seconds=round(sum(r.record.seconds for r in both if r.record), 3),
        headroom=room,
        proposed=proposed([s for r in gold for s in r.sightings]),
        flicker=tuple(flicker),
        evidence=tuple(_evidence(gold, noop)),
    )


def judge_question(task: Task, gold: Sequence[Round], noop: Sequence[Round]) -> TaskValidation:
    """A task without rooms: only text is graded, so gold is the response it lists, if it lists one."""
    found = judge(task, gold, noop)
    if found.verdict == "unknown":
        return found
    note = ""
    why: tuple[str, ...] = ()
    if all(r.status == "unscored" for r in gold):
        note = "nothing of it can be executed, so nothing was examined"
    elif not isinstance(task.expected.get("response"), str):
        note = "it lists no expected.response, so no right answer could be tried"
    elif found.verdict != "valid":
        why = found.why
    verdict: Verdict = found.verdict if why else "valid"
    return found.model_copy(update={"verdict": verdict, "why": why, "notes": (note,) if note else ()})


def _first(*choices: tuple[Verdict, Sequence[str]]) -> tuple[Verdict, Sequence[str]]:
    """The first verdict that has a reason."""
    return next(((verdict, why) for verdict, why in choices if why), ("valid", ()))


def _wrong(task: Task, gold: Sequence[Round], noop: Sequence[Round]) -> Iterator[str]:
    """What is wrong in every round alike."""
    if refused := _refusals(noop):
        yield refused[0]
    guards = [r.guard for r in noop]
    if guards and all(guards):
        yield _said(f"a guard fails on the unmodified state: {guards[0]}")
    if noop and all(r.would_pass for r in noop):
        yield "doing nothing passes, so a pass proves nothing"
    if gold and all(r.status != "passed" for r in gold):
        yield from (f"gold: {reason}" for reason in _refusals(gold)[:1] if reason not in refused)
        failed = next((r.reason for r in gold if r.status in ("failed", "unscored")), "")
        if failed:
            yield _said(f"gold, the task's own fix, does not pass: {failed}")


def _refusals(rounds: Sequence[Round]) -> list[str]:
    """Why the task was refused, when every round refused it."""
    if not rounds or any(r.status != "invalid" for r in rounds):
        return []
    return [_said(r.reason) for r in rounds]


def _mixed(gold: Sequence[Round], noop: Sequence[Round]) -> Iterator[str]:
    """Equal trials that ended differently."""
    for name, rounds, ends in (
        ("gold", gold, [r.status for r in gold]),
        ("noop", noop, [_noop_end(r) for r in noop]),
    ):
        if len(set(ends)) > 1:
            odd = next(r for r, end in zip(rounds, ends, strict=True) if end != ends[0])
            yield _said(f"{name} ended differently: {', '.join(ends)} ({odd.reason})")


def _told(flicker: Flicker) -> str:
    return _said(f"{flicker.test} ({flicker.state}): {', '.join(flicker.statuses)}")


def _noop_end(round_: Round) -> str:
    return "passes" if round_.would_pass else "guard failed" if round_.guard else round_.status


def _notes(gold: Sequence[Round], noop: Sequence[Round]) -> Iterator[str]:
    ends = {r.record.end for r in noop if r.record and r.status == "failed"}
    for end in sorted(e for e in ends if e.startswith(ODD_ENDS)):
        yield f"no-op ends {end}: it fails for another reason than a failing test"
    scores = sorted({r.record.score for r in gold if r.record and r.record.score is not None})
    if len(scores) > 1:
        yield f"gold's score differs from round to round: {', '.join(f'{s:.4g}' for s in scores)}"


def _idle(flicker: Iterable[object], deciding: Sequence[object]) -> Iterator[str]:
    count = sum(1 for _ in flicker) - len(deciding)
    if count:
        yield f"{many(count, 'test')} outside the lists flicker; they do not count"


def _tally(rounds: Sequence[Round], right: Sequence[bool], verb: str) -> Tally:
    good = sum(right)
    return Tally(rounds=len(rounds), as_it_must=good, words=f"{verb} {good}/{len(rounds)}")


def _evidence(gold: Sequence[Round], noop: Sequence[Round]) -> Iterator[Evidence]:
    odd = [r for r in gold if r.status != "passed"]
    odd += [r for r in noop if r.status != "failed" or r.would_pass or r.guard]
    for round_ in odd:
        record = round_.record
        if record is not None:
            yield Evidence(
                trial=record.trial,
                status=round_.status,
                end=record.end,
                reason=record.reason,
                said=(record.error or "")[-2000:],
            )


def _said(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_KEPT else line[: REASON_KEPT - 1] + "…"
