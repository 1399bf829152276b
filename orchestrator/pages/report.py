"""A run as one self-contained HTML file: no network, no script but ours, readable for years.

Rows and trials stand in compressed data blocks, so that a run of thousands of trials opens at once: a browser
unpacks only what is looked at.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Iterator

from markupsafe import Markup

from orchestrator import words
from orchestrator.documents.record import TrialRecord
from orchestrator.dossier import Artifacts, Dossier
from orchestrator.history.facts import RunFacts, TrialFacts, read_run
from orchestrator.pages import charts, overview, trialview
from orchestrator.pages.environment import csp_hash, environment, render, static
from orchestrator.pages.links import Filter, InFile
from orchestrator.pages.trialview import Room

EACH = 25
"""Trials of one data block."""
FIRST = 100
"""Rows that stand in the file without a script."""
LEVEL = 6
BUDGET = 11_000_000
"""Bytes of packed trials; what comes after, and passed trials come last, is shown in short."""
SHORT = Room(log=300, patch=800, logs=False, rows=10)
_GRAVITY = ("errored", "failed", "invalid", "unscored", "not_run", "passed")


def document(dossier: Dossier) -> bytes:
    """The file, as UTF-8."""
    facts = read_run(dossier.folder)
    report = dossier.report
    seen = overview.of(facts, report.gates, report.warnings, report.exit_code)
    names = words.short_names(facts.agents)
    trials = sorted(facts.trials, key=lambda trial: _GRAVITY.index(trial.status))
    records = [dossier.latest[trial.trial] for trial in trials if trial.trial in dossier.latest]
    style, script = static("style.css"), static("report.js")
    places = {record.trial: number for number, record in enumerate(records)}
    whole = render(
        "report.html.jinja",
        o=seen,
        run=facts,
        names=names,
        charts=charts.drawn(seen, names),
        link=InFile(),
        f=Filter(),
        rows=trials[:FIRST],
        count_text=f"{len(trials):,} trial{'s' * (len(trials) != 1)}",
        pager=None,
        style=Markup(style),
        script=Markup(script),
        style_hash=Markup(csp_hash(style)),
        script_hash=Markup(csp_hash(script)),
        data=_inline({"agents": list(facts.agents), "each": EACH, "total": len(trials), "places": places}),
        blocks=[("rows", _packed(list(_rows(facts, trials, names)))), *_parts(dossier, records)],
    )
    return whole.encode("utf-8", "replace")


def room_for(trials: int) -> Room:
    """How much of each trial is shown, so that the file stays small enough to be sent around."""
    if trials <= 200:
        return Room()
    if trials <= 1500:
        return Room(log=8_000, patch=32_000)
    return Room(log=1_500, patch=8_000, logs=trials <= 3000, rows=40)


def _rows(facts: RunFacts, trials: list[TrialFacts], names: dict[str, str]) -> Iterator[dict[str, object]]:
    row = environment().get_template("macros.html.jinja").module.trial_row  # type: ignore[attr-defined]
    numbers = {agent: n for n, agent in enumerate(facts.agents)}
    link = InFile()
    for trial in trials:
        yield {
            "s": trial.status,
            "a": numbers.get(trial.agent, -1),
            "k": f"{trial.task} {trial.reason}"[:1000].lower(),
            "h": str(row(trial, names.get(trial.agent, trial.agent), link.trial(trial.trial))),
        }


def _parts(dossier: Dossier, records: list[TrialRecord]) -> Iterator[tuple[str, Markup]]:
    room = room_for(len(records))
    template = environment().get_template("trial.html.jinja")
    link = InFile()
    read = Artifacts(dossier.folder).read
    spent = 0
    for start in range(0, len(records), EACH):
        views = [trialview.of(record, read, room) for record in records[start : start + EACH]]
        packed = _packed([template.render(t=view, link=link, attempts=()) for view in views])
        spent += len(packed)
        if spent > BUDGET:
            room = SHORT
        yield f"part-{start // EACH}", packed


def _packed(value: object) -> Markup:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Markup(b64encode(zlib.compress(data, LEVEL)).decode())


def _inline(value: object) -> Markup:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(value, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
