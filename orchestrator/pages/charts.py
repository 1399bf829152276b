"""The charts of a run, drawn on our side by Vega-Lite: still SVG, without a script.

Colours are CSS variables, so one drawing suits a dark page and a light one. The caption above a chart and the
table beside it say the same in words, so the drawing itself is hidden from screen readers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from orchestrator.pages.overview import BINS, AgentLine, Overview, Step

INK, FAINT, LINE = "var(--ink)", "var(--faint)", "var(--line)"
TONES = ("var(--tone-1)", "var(--tone-2)", "var(--tone-3)", "var(--tone-4)", "var(--tone-5)", "var(--tone-6)")
AGENTS_SHOWN = 12
WIDTH = 460
_IDS = re.compile(r'\b(id="|url\(#)([\w-]+)')

_CONFIG: dict[str, Any] = {
    "aria": False,
    "background": None,
    "font": "inherit",
    "view": {"stroke": None},
    "axis": {
        "labelColor": FAINT,
        "titleColor": FAINT,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 170,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": FAINT,
        "labelFontSize": 12,
        "labelLimit": 220,
        "symbolType": "square",
        "orient": "top",
        "title": None,
    },
}


@dataclass(frozen=True)
class Drawn:
    """The charts of a run, as markup; empty where there is nothing to draw."""

    intervals: Markup
    scores: Markup
    drift: Markup


def drawn(seen: Overview, names: Mapping[str, str]) -> Drawn:
    """The charts of one run. The first of a process takes a while: the engine that draws is started."""
    return Drawn(
        Markup(intervals(seen.agents)), Markup(scores(seen.scores, names)), Markup(drift(seen.drift))
    )


def intervals(agents: Sequence[AgentLine]) -> str:
    """Pass rates as points in their 95 % intervals. Empty where nothing was graded."""
    rows = [
        {"agent": a.name, "rate": a.interval.rate, "low": a.interval.low, "high": a.interval.high}
        for a in agents[:AGENTS_SHOWN]
        if a.interval is not None
    ]
    if not rows:
        return ""
    where = {
        "field": "agent",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"ticks": False, "labelPadding": 12},
    }
    scale = {"domain": [0, 1]}
    axis = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1], "title": "pass rate, 95 % interval"}
    reach = {"field": "low", "type": "quantitative", "scale": scale, "axis": axis}
    return _svg(
        {
            "data": {"values": rows},
            "width": WIDTH - 170,
            "height": {"step": 30},
            "encoding": {"y": where},
            "layer": [
                {
                    "mark": {
                        "type": "rule",
                        "strokeWidth": 7,
                        "strokeCap": "round",
                        "color": "var(--tone-soft)",
                    },
                    "encoding": {"x": reach, "x2": {"field": "high"}},
                },
                {
                    "mark": {
                        "type": "point",
                        "filled": True,
                        "size": 110,
                        "color": "var(--tone-1)",
                        "opacity": 1,
                    },
                    "encoding": {"x": {"field": "rate", "type": "quantitative"}},
                },
            ],
        },
        "intervals",
    )


def scores(found: Sequence[tuple[str, float]], names: Mapping[str, str]) -> str:
    """How many graded trials have which score, by agent."""
    agents = list(dict.fromkeys(agent for agent, _ in found))[: len(TONES)]
    bins: dict[tuple[str, int], int] = {}
    for agent, score in found:
        if agent in agents:
            key = (agent, min(BINS - 1, int(score * BINS)))
            bins[key] = bins.get(key, 0) + 1
    if not bins:
        return ""
    heights = Counter[int]()
    for (_, n), count in bins.items():
        heights[n] += count
    ticks = min(4, max(heights.values()))
    rows = [
        {"agent": names.get(agent, agent), "from": n / BINS, "to": (n + 1) / BINS, "trials": count}
        for (agent, n), count in bins.items()
    ]
    colour = {
        "field": "agent",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": [names.get(a, a) for a in agents], "range": list(TONES[: len(agents)])},
        "legend": {"columns": 2} if len(agents) > 1 else None,
    }
    return _svg(
        {
            "data": {"values": rows},
            "width": WIDTH - 60,
            "height": 170,
            "mark": {"type": "bar", "binSpacing": 2},
            "encoding": {
                "x": {
                    "field": "from",
                    "bin": {"binned": True, "step": 1 / BINS},
                    "type": "quantitative",
                    "title": "score",
                    "scale": {"domain": [0, 1]},
                    "axis": {"values": [0, 0.25, 0.5, 0.75, 1], "grid": False},
                },
                "x2": {"field": "to"},
                "y": {
                    "field": "trials",
                    "type": "quantitative",
                    "title": "trials",
                    "axis": {"tickCount": ticks, "format": "d", "domain": False},
                },
                "color": colour,
                "order": {"field": "agent", "sort": "descending"},
            },
        },
        "scores",
    )


def drift(steps: Sequence[Step]) -> str:
    """Pass rate and median time along the run, one above the other."""
    if not steps:
        return ""
    rows = [{"step": s.number / len(steps), "rate": s.rate, "seconds": s.seconds} for s in steps]
    along = {
        "field": "step",
        "type": "quantitative",
        "title": "share of the run",
        "axis": {"format": "%", "grid": False, "tickCount": 5},
    }
    return _svg(
        {
            "data": {"values": rows},
            "vconcat": [
                _line("rate", "pass rate", "%", TONES[0], {**along, "title": None}, [0, 1]),
                _line("seconds", "median seconds", "~g", TONES[1], along, None),
            ],
            "spacing": 14,
        },
        "drift",
    )


def _line(
    field: str, title: str, form: str, colour: str, along: Mapping[str, Any], domain: list[int] | None
) -> dict[str, Any]:
    scale: dict[str, Any] = {"domain": domain} if domain else {"zero": True}
    axis = {"format": form, "tickCount": 3, "domain": False}
    measure = {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}
    mark = {"type": "line", "color": colour, "strokeWidth": 2, "point": {"color": colour, "size": 24}}
    return {
        "width": WIDTH - 60,
        "height": 80,
        "mark": mark,
        "encoding": {"x": dict(along), "y": measure},
    }


def trend(points: Sequence[Mapping[str, Any]], agents: Sequence[str], runs: int) -> str:
    """Pass rates over runs, a line for each agent: points of {"run", "agent", "rate"}, oldest first."""
    if runs < 2 or not points:
        return ""
    rate = {
        "field": "rate",
        "type": "quantitative",
        "scale": {"domain": [0, 1]},
        "axis": {"format": "%", "tickCount": 5, "domain": False, "title": "pass rate"},
    }
    colour = {
        "field": "agent",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(agents), "range": list(TONES[: len(agents)])},
        "legend": {"columns": 3},
    }
    where = {"field": "run", "type": "ordinal", "sort": None, "title": None, "axis": {"labelAngle": -40}}
    return _svg(
        {
            "data": {"values": [dict(point) for point in points]},
            "width": 760,
            "height": 220,
            "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 44}},
            "encoding": {"x": where, "y": rate, "color": colour},
        },
        "trend",
    )


def _svg(spec: Mapping[str, Any], name: str) -> str:
    """The drawing. Ids get the chart's name before them: several drawings stand on one page."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg({"config": _CONFIG, **spec}, vl_version="5.20")
    drawn = _IDS.sub(rf"\g<1>{name}-\g<2>", drawn)
    return drawn.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
