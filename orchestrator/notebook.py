"""What one attempt leaves behind: phase times, artifacts, and in the end one record.

Stands beside the line of `trial.run`: the story says what happens, the notebook keeps what was seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from orchestrator.agents import AgentReport
from orchestrator.documents.record import (
    AgentRecord,
    ChangeRecord,
    End,
    GradeRecord,
    OutcomeRecord,
    PhaseTime,
    TrialRecord,
    TrialStatus,
    VerdictRecord,
)
from orchestrator.evidence import Heard
from orchestrator.journal import JournalGone
from orchestrator.outcomes import HIGHEST_GRADE, CheckOutcome, Grade, Verdict, question_score
from orchestrator.worktree.change import Change
from sandboxes.protocol import Done


@dataclass
class Notebook:
    """One attempt's notes. Belongs to one thread.

    `folder` is where artifacts go (made on first use); `run_folder` is what their recorded paths are
    relative to. `listen` hears the name of each phase as it begins. `clock` is monotonic seconds.
    """

    trial: str
    attempt: int
    facts: Mapping[str, Any]
    """Record fields known from the start: benchmark, benchmark_version, task, repeat, rubric_ref, ..."""
    agent: AgentRecord
    folder: Path
    run_folder: Path
    listen: Callable[[str], None] = lambda phase: None
    clock: Callable[[], float] = time.monotonic
    phases: list[PhaseTime] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    unenforced: tuple[str, ...] = ()
    change: ChangeRecord | None = None
    response_sha256: str | None = None
    ref_unresolved: bool = False
    grades: tuple[Grade, ...] = ()
    started_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._peak: int | None = None
        self._cpu: float | None = None
        self._throttled: float | None = None

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time one phase; what `saw` is told inside it is added to it. Phases do not nest."""
        self.listen(name)
        began, self._peak, self._cpu, self._throttled = self.clock(), None, None, None
        try:
            yield
        finally:
            now = self.clock()
            self.phases.append(
                PhaseTime(
                    phase=name,
                    started=round(began - self._began, 6),
                    seconds=round(now - began, 6),
                    peak_memory=self._peak,
                    cpu_seconds=self._cpu,
                    throttled_seconds=self._throttled,
                )
            )

    def saw(self, done: Done) -> None:
        """A command ended: its peak memory, cpu seconds and throttling belong to the current phase."""
        if done.usage.peak_memory is not None:
            self._peak = max(self._peak or 0, done.usage.peak_memory)
        if done.usage.cpu_seconds is not None:
            self._cpu = round((self._cpu or 0.0) + done.usage.cpu_seconds, 6)
        if done.usage.throttled_seconds is not None:
            self._throttled = round((self._throttled or 0.0) + done.usage.throttled_seconds, 6)

    def keep(self, name: str, data: bytes) -> None:
        """Write an artifact (`name` is ours: no slashes from outside) and remember where it lies."""
        path = self.folder / name
        try:
            _write(path, data)
        except FileNotFoundError:
            self._still_there()
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(path, data)
        self.artifacts[name] = path.relative_to(self.run_folder).as_posix()

    def keep_materials(self, digest: str, facts: Callable[[], Mapping[str, str]] | None) -> None:
        """What was fetched and installed for the task's state: one file for all trials that have it. None:
        nothing was. `facts` is called only when the file is not there yet."""
        if facts is None:
            return
        path = self.run_folder / "materials" / f"{digest[:32]}.json"
        if not path.exists():
            if not (seen := facts()):
                return
            self._still_there()
            text = json.dumps(seen, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{self.trial}.{self.attempt}.part")
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        self.artifacts["materials.json"] = path.relative_to(self.run_folder).as_posix()

    def _still_there(self) -> None:
        """A run folder that was removed is not made again: its records are lost, and that is told."""
        if not self.run_folder.is_dir():
            raise JournalGone(self.run_folder)

    def keep_report(self, report: AgentReport) -> None:
        """What the agent said of itself: its answer byte for byte, its end, usage, log and trajectory."""
        said = report.response
        data = said if isinstance(said, bytes) else said.encode("utf-8", "surrogatepass")
        self.response_sha256 = hashlib.sha256(data).hexdigest()
        self.agent = AgentRecord(
            name=self.agent.name,
            model=report.model,
            ended=report.ended,
            exit_code=report.exit_code,
            usage=report.usage,
            note=report.note,
        )
        if data:
            self.keep("response.txt", data)
        if report.log:
            self.keep("agent.log", report.log)
        if report.trajectory is not None:
            self.keep("trajectory.json", json.dumps(report.trajectory, ensure_ascii=False).encode())

    def keep_brought(self, patch: bytes) -> Change:
        """The change that a patch asks for. The patch as it was handed in is kept where it is another one,
        or none at all. Raises PatchError."""
        change = None
        try:
            change = Change.read(patch)
            return change
        finally:
            if patch and (change is None or change.patch != patch):
                self.keep("brought.patch", patch)

    def keep_change(self, change: Change) -> None:
        """The change that is graded, and how it was mended where it was."""
        self.change = ChangeRecord(
            sha256=change.sha256,
            bytes=len(change.patch),
            files=change.files,
            mended=change.mended,
        )
        self.digests["change"] = change.sha256
        if change.patch:
            self.keep("change.patch", change.patch)

    def touched(self, protected: tuple[str, ...]) -> None:
        """Protected paths that the change touched, and that were put back."""
        if self.change is not None and protected:
            self.change = self.change.model_copy(update={"touched_protected": protected})

    def heard(self, heard: Heard) -> None:
        """A command of a judge's room ended: keep its streams whole as far as they were kept."""
        done = heard.result.done
        if not heard.cached:
            self.saw(done)
        for stream, output in (("stdout", done.stdout), ("stderr", done.stderr)):
            if output.total:
                self.keep(f"{heard.side}-{heard.room}-{heard.index + 1}.{stream}.txt", output.data)

    def keep_grades(self, grades: tuple[Grade, ...]) -> None:
        """What the graders said, and the answers they had from elsewhere."""
        self.grades = grades
        for grade in grades:
            for name, data in grade.kept.items():
                self.keep(name, data)

    @property
    def verdict_decides(self) -> bool:
        """Whether the rubric's verdict alone is the trial's: no other grader was chosen."""
        return all(grade.name == "rubric_checks" for grade in self.grades)

    def record(
        self,
        status: TrialStatus,
        end: End,
        reason: str,
        *,
        verdict: Verdict | None = None,
        error: str | None = None,
        final: bool = True,
    ) -> TrialRecord:
        """The attempt, whole. Only passed and failed trials have a score."""
        score = grade = None
        if status in ("passed", "failed"):
            score, grade = self._scores(verdict)
        return TrialRecord(
            trial=self.trial,
            attempt=self.attempt,
            final=final,
            agent=self.agent,
            status=status,
            end=end,
            score=score,
            reason=reason,
            verdict=None if verdict is None else _verdict(verdict),
            grades=tuple(
                GradeRecord(**{f: getattr(g, f) for f in GradeRecord.model_fields}) for g in self.grades
            ),
            question_score=grade,
            change=self.change,
            response_sha256=self.response_sha256,
            ref_unresolved=self.ref_unresolved,
            started_at=self.started_at,
            seconds=round(self.clock() - self._began, 6),
            phases=tuple(self.phases),
            unenforced=self.unenforced,
            digests=dict(self.digests),
            artifacts=dict(self.artifacts),
            error=error,
            **self.facts,
        )

    def _scores(self, verdict: Verdict | None) -> tuple[float | None, float | None]:
        """On 0 to 1 and on 0 to 5 (C-41): the verdict's, or the mean of the grades. 0 for work that could not
        be graded."""
        grade = question_score(self.grades)
        if grade is not None and not self.verdict_decides:
            return grade / HIGHEST_GRADE, grade
        score = 0.0 if verdict is None else verdict.score
        return score, None if score is None else HIGHEST_GRADE * score


def _write(path: Path, data: bytes) -> None:
    """As path.write_bytes does, in half of its system calls: every trial writes a handful of small files."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    try:
        written = 0
        while written < len(data):
            written += os.write(file, memoryview(data)[written:])
    finally:
        os.close(file)


def _verdict(verdict: Verdict) -> VerdictRecord:
    return VerdictRecord(
        rubric=verdict.rubric,
        score=verdict.score,
        passed=verdict.passed,
        reason=verdict.reason,
        outcomes=tuple(_outcome(o) for o in verdict.outcomes),
        skipped=tuple(_outcome(o) for o in verdict.skipped),
        warnings=verdict.warnings,
        executors=verdict.executors,
        route=verdict.route,
    )


def _outcome(outcome: CheckOutcome) -> OutcomeRecord:
    return OutcomeRecord(
        id=outcome.check_id,
        kind=outcome.kind,
        status=outcome.status,
        score=outcome.score,
        passed=outcome.passed if outcome.executed else None,
        reason=outcome.reason,
        details=dict(outcome.details),
    )
