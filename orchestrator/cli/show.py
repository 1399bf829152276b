"""proctor show: everything about one trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from orchestrator.documents.record import OutcomeRecord, TrialRecord

NAME = "show"
SUMMARY = "Show everything about one trial."
LOG_LINES = 40
BAR = 30


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    trial: Annotated[
        str, typer.Argument(metavar="TRIAL", help="A trial's id, or enough of it: a task, or task.agent.")
    ],
    attempt: Annotated[
        int | None, typer.Option(metavar="N", help="This attempt; by default the one that counts.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Whole logs and details, not only their ends.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The record as one JSON document.")] = False,
) -> int:
    """Show one trial: verdict, outcomes and why, the change, phases, logs.

    \b
    Example:
      proctor show runs/LATEST csv_quotes.gold.1      of the newest run below runs/
    """
    record = find(run, trial, attempt)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(record.model_dump(mode="json"))
        return 0
    from orchestrator.cli.printing import console

    out = console()
    for text, style in story(record, run, full):
        out.print(text, style=style or None, markup=False, soft_wrap=True)
    return 0


def find(run: Path, wanted: str, attempt: int | None) -> TrialRecord:
    """The record that `wanted` names. Raises AuthoringError when none or several trials fit."""
    from orchestrator import words
    from orchestrator.errors import AuthoringError
    from orchestrator.store import RunFolder

    folder = RunFolder(run)
    known: dict[str, list[TrialRecord]] = {}
    for record in folder.records():
        known.setdefault(record.trial, []).append(record)
    fits = [wanted] if wanted in known else [t for t, rs in known.items() if _fits(t, rs[0].task, wanted)]
    if len(fits) != 1:
        said = "several trials fit" if fits else "no trial fits"
        listed = ", ".join((fits or list(known))[:12]) or "none yet"
        wanted = words.shorten(" ".join(wanted.split()), 60)
        raise AuthoringError(f'{run}: {said} "{wanted}"; {"name one of" if fits else "it has"}: {listed}')
    records = known[fits[0]]
    if attempt is None:
        return max(records, key=lambda record: (record.final, record.attempt))
    for record in records:
        if record.attempt == attempt:
            return record
    has = ", ".join(str(record.attempt) for record in records)
    raise AuthoringError(f"{fits[0]} has no attempt {attempt}; it has {has}")


def _fits(trial: str, task: str, wanted: str) -> bool:
    return task == wanted or trial.startswith(wanted)


def story(record: TrialRecord, run: Path, full: bool) -> Iterator[tuple[str, str]]:
    """(text, style) blocks, in reading order."""
    from orchestrator import words

    shown = _Shown()
    word = words.word(record.status)
    yield f"{words.mark(record.status)} {word.text}  {words.safe(record.trial)}", f"bold {word.style}"
    yield words.safe(record.reason), ""
    yield from _facts(record)
    yield from _grades(record)
    if record.verdict is not None:
        for outcome in (*record.verdict.outcomes, *record.verdict.skipped):
            yield from _outcome(outcome, full, shown)
        for warning in record.verdict.warnings:
            yield f"warning: {words.safe(warning)}", "yellow"
    yield from _phases(record)
    yield from _change(record, run)
    yield from _logs(record, run, full, shown)
    if record.error:
        yield "\nerror", "bold"
        yield words.safe(shown.where(record.error, "error") or record.error.rstrip()), ""


class _Shown:
    """What has been printed already, so that no output of a command is read twice."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def where(self, text: str, name: str) -> str:
        """ "(as above, under stderr)" for what was shown before, or was part of it; else empty, and `text`
        counts as shown under `name`."""
        text = text.strip()
        known = (n for t, n in self._texts.items() if t == text or ("\n" in text and text in t))
        found = next(known, None) if text else None
        if found is not None:
            return f"(as above, under {found})"
        self._texts[text] = name
        return ""


def _facts(record: TrialRecord) -> Iterator[tuple[str, str]]:
    from orchestrator import words

    yield "", ""
    agent = words.agent_name(record.agent.name) + (f" ({record.agent.model})" if record.agent.model else "")
    facts = {
        "task": f"{record.task} of {record.benchmark} {record.benchmark_version}",
        "agent": f"{agent}, {record.agent.ended}",
        "rubric": (record.rubric_ref or "none") + (" (does not resolve)" if record.ref_unresolved else ""),
        "score": f"{words.score(record.score)} (grade {words.grade(record.score)} of 5)",
        "end": record.end,
        "attempt": f"{record.attempt}{'' if record.final else ' (tried again)'}",
        "started": f"{record.started_at}, took {words.seconds(record.seconds)}",
        "sandbox": record.provider or "none needed",
    }
    if record.unenforced:
        facts["not enforced"] = ", ".join(record.unenforced)
    for name, value in facts.items():
        yield f"  {name:<13}{words.safe(value)}", ""


def _grades(record: TrialRecord) -> Iterator[tuple[str, str]]:
    """Who graded it, where that is more than the rubric."""
    from orchestrator import words

    if all(grade.name == "rubric_checks" for grade in record.grades):
        return
    mean = words.score(record.question_score)
    yield f"\ngrades (0 to 5), question score {mean}", "bold"
    for grade in record.grades:
        yield f"  {words.safe(grade.name)}: {words.score(grade.score)}", ""
        yield f"    {words.safe(words.shorten(grade.reason, 500))}", "dim"


def _outcome(outcome: OutcomeRecord, full: bool, shown: _Shown) -> Iterator[tuple[str, str]]:
    from orchestrator import words

    word = words.word(outcome.status)
    name = outcome.id or outcome.kind
    kind = f" ({outcome.kind})" if outcome.id else ""
    score = "" if outcome.score is None else f", {words.score(outcome.score)}"
    yield f"\n{words.mark(outcome.status)} {words.safe(name)}{kind}: {word.text}{score}", word.style
    yield _indent(outcome.reason, full), ""
    for line in _details(outcome.details, full, shown):
        yield line, "dim"


def _details(details: Mapping[str, Any], full: bool, shown: _Shown) -> Iterator[str]:
    import json

    from orchestrator import words

    for name, value in details.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if name in ("stdout", "stderr", "evidence") and (above := shown.where(text, name)):
            yield f"    {name}: {above}"
        elif "\n" in text.strip():
            yield f"    {name}:"
            yield _indent(text, full, "      ")
        else:
            yield f"    {name}: {words.safe(text if full else words.shorten(text, 200))}"


def _phases(record: TrialRecord) -> Iterator[tuple[str, str]]:
    from orchestrator import words

    if not record.phases:
        return
    yield "\nphases", "bold"
    whole = max(record.seconds, 1e-9)
    for phase in record.phases:
        before = round(BAR * min(1.0, phase.started / whole))
        length = max(1, round(BAR * min(1.0, phase.seconds / whole)))
        bar = (" " * before + "#" * length)[:BAR].ljust(BAR)
        memory = "" if phase.peak_memory is None else f"  peak {words.size(phase.peak_memory)}"
        yield f"  {phase.phase:<12}{words.seconds(phase.seconds):>8}  |{bar}|{memory}", ""


def _change(record: TrialRecord, run: Path) -> Iterator[tuple[str, str]]:
    from orchestrator import words

    change = record.change
    if change is None:
        return
    count = len(change.files)
    yield f"\nchange: {words.many(count, 'file')}, {words.size(change.bytes)}", "bold"
    if change.touched_protected:
        yield f"  put back before grading: {words.safe(', '.join(change.touched_protected))}", "yellow"
    for mend in change.mended:
        yield f"  mended: {words.safe(mend)}", "yellow"
    data = _artifact(record, run, "change.patch")
    for line in [] if data is None else data.decode("utf-8", "replace").splitlines():
        yield f"  {words.safe(line)}", _diff_style(line)


def _diff_style(line: str) -> str:
    if line.startswith(("diff ", "index ", "--- ", "+++ ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _logs(record: TrialRecord, run: Path, full: bool, shown: _Shown) -> Iterator[tuple[str, str]]:
    from orchestrator import words

    for name in record.artifacts:
        data = None if name == "change.patch" else _artifact(record, run, name)
        if data is None:
            continue
        text = data.decode("utf-8", "replace")
        yield f"\n{words.place(name)} ({words.place(run / record.artifacts[name])})", "bold"
        yield _indent(shown.where(text, name) or text, full), ""


def _artifact(record: TrialRecord, run: Path, name: str) -> bytes | None:
    place = record.artifacts.get(name)
    if place is None:
        return None
    path = (run / place).resolve()
    if not path.is_relative_to(run.resolve()):  # a record may come from anywhere
        return None
    from orchestrator.regular import read_regular

    try:
        return read_regular(path)
    except OSError:
        return None


def _indent(text: str, full: bool, by: str = "    ") -> str:
    from orchestrator import words

    lines: Iterable[str] = text.rstrip().splitlines()
    lines = list(lines)
    left_out = [] if full or len(lines) <= LOG_LINES else [f"[{len(lines) - LOG_LINES} lines more: --full]"]
    return "\n".join(by + words.safe(line) for line in [*left_out, *lines[-LOG_LINES if left_out else 0 :]])
