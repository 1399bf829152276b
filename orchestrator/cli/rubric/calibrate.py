"""proctor rubric calibrate: what stored runs say about a rubric's threshold and checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.rubric import places

if TYPE_CHECKING:
    from orchestrator.calibrate import Proposal, Sample
    from orchestrator.documents.record import TrialRecord
    from orchestrator.documents.rubric import Rubric
    from orchestrator.store import RunFolder

NAME = "calibrate"
SUMMARY = "Propose a threshold from stored runs."


def command(
    ref: Annotated[str, typer.Argument(metavar="REF", help="id@version; an id alone is its newest version.")],
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN...", help="Run folders; one named twice counts once.")
    ] = None,
    percent: Annotated[
        float,
        typer.Option(
            "--percentile",
            min=0,
            max=100,
            callback=options.finite,
            help="How many of 100 past scores the threshold may miss.",
        ),
    ] = 10,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", metavar="AGENT", help="Only these; by default all but gold and noop."),
    ] = None,
    folders: places.Folders = None,
    as_json: options.Json = False,
) -> int:
    """Propose a threshold from the scores that stored runs hold: the 10th percentile, usually up to the 15th.

    Shows the sample's size (a warning below 30), the distribution, each check's pass rate and scores, and
    what moved since the version before when the runs hold one: runs keep the rubrics they applied. Changes
    nothing.

    \b
    Examples:
      proctor rubric calibrate plain_answer runs/*
      proctor rubric calibrate bug_fix@1.0 runs/* --percentile 15 --json
    """
    found = study(ref, runs or [], percent, agents or [], folders)
    if as_json:
        from orchestrator.cli.printing import json_out

        json_out(found.plain())
    else:
        _tell(found)
    return 0


class Study:
    """Everything calibrate has to say."""

    def __init__(
        self,
        of: Sample,
        proposal: Proposal,
        rubric: Rubric | None,
        drift: dict[str, Any],
        rewritten: tuple[str, ...] = (),
    ) -> None:
        self.sample, self.proposal, self.rubric, self.drift = of, proposal, rubric, drift
        self.warnings = (*rewritten, *proposal.warnings)

    def plain(self) -> dict[str, Any]:
        """For --json."""
        from orchestrator.calibrate import PERCENTILES

        of = self.sample
        return {
            "rubric": of.ref,
            "sample_size": len(of.scores),
            "left_out": of.left_out,
            "passed": of.passed,
            "mean": of.mean,
            "min": of.scores[0],
            "max": of.scores[-1],
            "percentiles": {str(p): of.percentile(p) for p in PERCENTILES},
            "histogram": of.histogram,
            "proposed_threshold": self.proposal.threshold,
            "proposed_percentile": self.proposal.percent,
            "passing_at_proposed": self.proposal.passing,
            "current_threshold": _current(self.rubric),
            "checks": [
                {
                    "id": c.name,
                    "passed": c.passed,
                    "executed": c.executed,
                    "rate": c.rate,
                    "mean": c.mean,
                    "histogram": c.histogram,
                }
                for c in of.checks
            ],
            "warnings": self.warnings,
            "drift": self.drift,
        }


def study(ref: str, runs: list[Path], percent: float, agents: list[str], folders: list[Path] | None) -> Study:
    """Raises AuthoringError when a folder is no run, or when no run holds a score of that rubric."""
    from orchestrator import calibrate
    from orchestrator.errors import AuthoringError

    held = _runs(ref, runs)
    records = _records(held)
    known = calibrate.refs(records)
    there = ", ".join(r.removeprefix("rubric/") for r in known) or "no rubric's verdict"
    if _is_run(Path(ref)):
        raise AuthoringError(f"{ref} is a run; name the rubric before the runs: they hold {there}")
    wanted = _newest(ref if ref.startswith("rubric/") else f"rubric/{ref}", known)
    of = calibrate.sample(records, wanted, agents)
    if not of.scores:
        by = f" by {', '.join(agents)}" if agents else " by agents other than gold and noop"
        raise AuthoringError(f"{wanted} has no scored trial{by} in these runs; they hold {there}")
    texts = _applied(held, wanted)
    rubric = texts[-1][1] if texts else _document(wanted, folders)
    moved: dict[str, Any] = {}
    if older := [v for v in calibrate.versions(known, wanted) if _before(v, wanted)]:
        before = calibrate.sample(records, older[-1], agents)
        earlier = _applied(held, older[-1])
        text = earlier[-1][1] if earlier else _document(older[-1], folders)
        moved = {"since": older[-1], "changes": calibrate.drift(before, of, text, rubric)}
    return Study(of, calibrate.propose(of, rubric, percent), rubric, moved, calibrate.rewritten(texts))


def _is_run(path: Path) -> bool:
    from orchestrator.store import HEADER

    return (path / HEADER).is_file()


def _runs(ref: str, paths: list[Path]) -> list[RunFolder]:
    """The runs, each once (`runs/*` names the newest twice, as LATEST too); files are left out."""
    from orchestrator.errors import AuthoringError
    from orchestrator.store import RunFolder

    given = [*paths, *([Path(ref)] if _is_run(Path(ref)) else [])]
    if not given:
        raise AuthoringError(f"name the runs, too, such as: proctor rubric calibrate {ref} runs/*")
    found = [RunFolder(path) for path in given if not path.is_file()]
    return list({run.header.run_id: run for run in reversed(found)}.values())[::-1]


def _newest(wanted: str, known: tuple[str, ...]) -> str:
    """Of an id without a version the newest that the runs hold."""
    from orchestrator import library

    if "@" in wanted:
        return wanted
    return max((ref for ref in known if ref.startswith(f"{wanted}@")), key=library.order, default=wanted)


def _records(runs: list[RunFolder]) -> list[TrialRecord]:
    from orchestrator.cli.failure import left_out

    found = []
    for run in runs:
        latest = run.latest(left_out)
        found += [record for record in latest.values() if record.verdict is not None]
    return found


def _applied(runs: list[RunFolder], ref: str) -> list[tuple[str, Rubric]]:
    """The rubric as runs applied it, by run, newest last; runs that kept none are left out."""
    from orchestrator.applied import kept

    texts = [(str(run.path), kept(run.path).get(ref)) for run in sorted(runs, key=lambda r: r.header.started)]
    return [(run, text) for run, text in texts if text is not None]


def _document(ref: str, folders: list[Path] | None) -> Rubric | None:
    """The rubric as it is at hand now, where no run kept it: for its threshold and weights."""
    from orchestrator.errors import AuthoringError
    from orchestrator.plugins import Registry

    try:
        entry, _ = places.load(ref, folders, Registry.load())
    except AuthoringError:
        return None
    return entry.rubric if entry.rubric.ref == ref else None


def _before(other: str, ref: str) -> bool:
    from orchestrator.library import order

    return order(other) < order(ref)


def _current(rubric: Rubric | None) -> float | None:
    from orchestrator.documents.rubric import DEFAULT_THRESHOLD, NUMERIC_MODES

    if rubric is None or rubric.scoring.combine not in NUMERIC_MODES:
        return None
    return DEFAULT_THRESHOLD if rubric.scoring.threshold is None else rubric.scoring.threshold


def _tell(found: Study) -> None:
    from orchestrator.calibrate import PERCENTILES
    from orchestrator.cli import words
    from orchestrator.cli.failure import say

    of, proposal = found.sample, found.proposal
    size = len(of.scores)
    without = f" ({of.left_out} more without a score)" if of.left_out else ""
    print(f"{of.ref}: {words.many(size, 'score')}{without}, {of.passed} passed")
    print(f"  mean {words.score(of.mean)}, from {words.score(of.scores[0])} to {words.score(of.scores[-1])}")
    print("  percentiles: " + ", ".join(f"{p}th {words.score(of.percentile(p))}" for p in PERCENTILES))
    _bars(of)
    for rate in of.checks:
        counts = f"{rate.passed} of {rate.executed} ({rate.rate:.0%})"
        print(f"  {rate.name}: passed {counts}, mean {words.score(rate.mean)}{_spread(rate.histogram)}")
    meet = f"{proposal.percent:g}th percentile; {proposal.passing} of {size} meet it"
    print(f"proposed threshold: {words.score(proposal.threshold)} ({meet})")
    current = _current(found.rubric)
    if current is not None:
        print(f"its threshold now: {current:g} ({of.passing(current)} of {size} meet it)")
    for warning in found.warnings:
        say(f"warning: {warning}")
    for change in found.drift.get("changes", ()):
        say(f"warning: since {found.drift['since']}: {change}")


def _spread(histogram: tuple[int, ...]) -> str:
    """How many scores lie in each tenth, where there are others than 0 and 1."""
    if not any(histogram[1:-1]):
        return ""
    return ", by tenths " + " ".join(map(str, histogram))


def _bars(of: Sample) -> None:
    """Ten bars, the longest forty characters; scores at the top last."""
    tallest = max(of.histogram)
    for number, count in enumerate(of.histogram):
        bar = "#" * max(1 if count else 0, round(40 * count / tallest))
        print(f"  {number / 10:.1f} {bar}{' ' * bool(bar)}{count or ''}".rstrip())
