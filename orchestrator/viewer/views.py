"""What each page of the viewer shows: from an address and the library to markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from orchestrator import words
from orchestrator.documents.record import TrialRecord
from orchestrator.dossier import Artifacts
from orchestrator.errors import AuthoringError
from orchestrator.history import claims
from orchestrator.history.compare import Comparison
from orchestrator.history.index import RunFilter, TrialFilter
from orchestrator.history.rows import RunRow
from orchestrator.history.trends import KINDS, Trend
from orchestrator.pages import charts, trialview
from orchestrator.pages.environment import render
from orchestrator.pages.links import Filter, InViewer, query
from orchestrator.summary import STATUSES
from orchestrator.viewer.library import Library
from orchestrator.viewer.work import Working, at_work, going_on

Asked = Mapping[str, str]
RUNS_SHOWN = 50
TRIALS_SHOWN = 100
SERIES_SHOWN = 60


@dataclass(frozen=True)
class Pager:
    """Where one is in a long list."""

    number: int
    pages: int
    before: str
    after: str


def runs(library: Library, asked: Asked) -> str:
    """The runs, the newest first."""
    fields = {name: asked.get(name, "").strip() for name in ("benchmark", "agent", "tag", "revision")}
    page = _page(asked)
    wanted = RunFilter(**{name: value or None for name, value in fields.items()})
    found = library.runs(wanted, (page - 1) * RUNS_SHOWN, RUNS_SHOWN)
    rows = [(row, InViewer(row.run_id), going_on(row.folder)) for row in found.rows]
    return render(
        "runs.html.jinja",
        here="runs",
        rows=rows,
        total=found.total,
        fields=fields,
        narrowed=any(fields.values()),
        root=str(library.root),
        ready=library.ready,
        pager=_pager(page, found.total, RUNS_SHOWN, lambda n: "/" + query(**fields, page=n)),
    )


def run(library: Library, run_id: str, asked: Asked) -> str:
    """One run. Raises AuthoringError when there is none."""
    row = library.run(run_id)
    link = InViewer(row.run_id)
    f = Filter(asked.get("status", ""), asked.get("agent", ""), asked.get("q", "").strip(), _page(asked))
    wanted = TrialFilter(
        status=f.status if f.status in STATUSES else None, agent=f.agent or None, text=f.q or None
    )
    found = library.trials(row, wanted, (f.page - 1) * TRIALS_SHOWN, TRIALS_SHOWN)
    figures = library.figures(row)
    whole = f"{found.total:,}" + (f" of {row.planned:,}" if found.total != row.planned else "")
    return render(
        "run.html.jinja",
        here="runs",
        row=row,
        o=figures.seen if figures else None,
        names=figures.names if figures else words.short_names(row.agents),
        charts=figures.charts if figures else None,
        live=figures is None or going_on(row.folder),
        working=_working(library, row) if figures and figures.live else (),
        link=link,
        f=f,
        rows=[trial.facts for trial in found.rows],
        count_text=whole + (" trial" if row.planned == 1 else " trials"),
        pager=_pager(
            f.page,
            found.total,
            TRIALS_SHOWN,
            lambda n: link.filter(status=f.status, agent=f.agent, q=f.q, page=n),
        ),
    )


def _working(library: Library, row: RunRow) -> tuple[Working, ...]:
    """What has begun and has no record by now: the figures may be a moment old."""
    places = library.places(row)
    places.follow()
    return at_work(row.folder, places)


def trial(library: Library, run_id: str, trial_id: str, attempt: int | None) -> str:
    """One trial. Raises AuthoringError when there is none, or it has no such attempt."""
    row = library.run(run_id)
    link = InViewer(row.run_id)
    records = library.places(row).attempts(trial_id)
    record = chosen(records, attempt)
    if record is None:
        raise AuthoringError(
            f"{words.shorten(words.safe(trial_id), 80)} has no record"
            + (f" of attempt {attempt}" if records else "")
        )
    return render(
        "trial_page.html.jinja",
        here="runs",
        t=trialview.of(record, Artifacts(row.folder).read),
        link=link,
        attempts=[(r.attempt, link.trial(r.trial, r.attempt)) for r in records],
        files=[(name, link.file(record.trial, name, record.attempt)) for name in record.artifacts],
    )


def chosen(records: Sequence[TrialRecord], attempt: int | None) -> TrialRecord | None:
    """The attempt that was asked for; else the one that counts."""
    if attempt is not None:
        return next((record for record in records if record.attempt == attempt), None)
    return max(records, key=lambda record: (record.final, record.attempt), default=None)


def compare(library: Library, asked: Asked) -> str:
    """Two runs against each other, or the question which."""
    base, new = asked.get("base", ""), asked.get("new", "")
    across = asked.get("across") == "yes"
    agents = (asked.get("base_agent", ""), asked.get("new_agent", ""))
    known = library.runs(RunFilter(), 0, 200).rows
    found: tuple[Comparison, ...] = ()
    trouble = ""
    if base and new:
        try:
            found = library.compared(base, new, across, *agents)
        except AuthoringError as error:
            trouble = str(error).replace("say it with --base-agent and --new-agent", "choose them above")
    return render(
        "compare.html.jinja",
        here="compare",
        known=known,
        base=base,
        new=new,
        across=across,
        agents=agents,
        whose=[next((row.agents for row in known if row.run_id == word), ()) for word in (base, new)],
        found=found,
        claim=claims.claim,
        points=claims.points,
        trouble=trouble,
        link=InViewer,
    )


def trends(library: Library, asked: Asked) -> str:
    """How one benchmark moved over its runs."""
    known = library.runs(RunFilter(), 0, 500).rows
    names = list(dict.fromkeys(row.benchmark for row in known))
    benchmark = asked.get("benchmark", "") or (names[0] if names else "")
    by = next((kind for kind in KINDS if kind == asked.get("by")), KINDS[0])
    q = asked.get("q", "").strip()
    found = library.trend(benchmark, by)
    series = [s for s in found.series if q.lower() in f"{s.name} {s.agent}".lower()]
    series.sort(key=lambda s: (-abs(s.change), s.name, s.agent))
    called = words.short_names(dict.fromkeys(s.agent for s in found.series))
    return render(
        "trends.html.jinja",
        here="trends",
        benchmarks=names,
        benchmark=benchmark,
        kinds=KINDS,
        by=by,
        q=q,
        trend=found,
        series=series[:SERIES_SHOWN],
        left_out=max(0, len(series) - SERIES_SHOWN),
        names=called,
        chart=_trend_chart(found, called) if by == "agent" else Markup(""),
        link=InViewer,
    )


def _trend_chart(found: Trend, called: Mapping[str, str]) -> Markup:
    series = [s for s in found.series if s.agent != "noop"][: len(charts.TONES)]
    lines = [
        {"run": when, "agent": called.get(s.agent, s.agent), "rate": point.value}
        for s in series
        for when, point in zip(_whens(found.runs), s.points, strict=True)
        if point is not None
    ]
    return Markup(charts.trend(lines, [called.get(s.agent, s.agent) for s in series], len(found.runs)))


def _whens(runs: Sequence[RunRow]) -> list[str]:
    """A short name for each run by when it began; runs of the same minute are told apart."""
    met: Counter[str] = Counter()
    names = []
    for row in runs:
        name = row.started[5:16].replace("T", " ")
        met[name] += 1
        names.append(name if met[name] == 1 else f"{name} ({met[name]})")
    return names


def _page(asked: Asked) -> int:
    written = asked.get("page", "")
    return max(1, int(written)) if written.isascii() and written.isdecimal() and len(written) < 8 else 1


def _pager(page: int, total: int, each: int, address: Callable[[int], str]) -> Pager | None:
    pages = max(1, -(-total // each))
    if pages < 2:
        return None
    return Pager(
        page, pages, address(page - 1) if page > 1 else "", address(page + 1) if page < pages else ""
    )
