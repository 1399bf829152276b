"""The templates and what they may call. Autoescape is on everywhere, and hidden characters are spelt out."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache
from importlib.resources import files
from typing import Any

import jinja2

from orchestrator import words
from orchestrator.pages.overview import when


@cache
def environment() -> jinja2.Environment:
    """Made once: templates are compiled when they are first used."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("orchestrator.pages"),
        autoescape=True,
        finalize=_plain,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(word=words.word, score=words.score, grade=words.grade, seconds=words.seconds)
    made.globals.update(size=words.size, brief=words.brief, agent_name=words.agent_name, when=when)
    made.globals["statuses"] = tuple(name for name in words.STATUS if name != "running")
    badge = made.get_template("macros.html.jinja").make_module({"badges": {}}).badge  # type: ignore[attr-defined]
    made.globals["badges"] = {
        name: badge(name, word.text) for name, word in {**words.CHECK, **words.STATUS}.items()
    }
    made.filters.update(percent=percent, thousands=thousands)
    return made


def render(template: str, **values: Any) -> str:
    """One page, or a part of one."""
    return environment().get_template(template).render(**values)


def static(name: str) -> str:
    """A file that stands beside the templates: the style sheet, a script."""
    return files("orchestrator.pages").joinpath("static", name).read_text(encoding="utf-8")


def csp_hash(text: str) -> str:
    """How a content security policy names an inline script or style sheet."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def percent(value: float | None) -> str:
    """
    >>> percent(0.957), percent(0.9996), percent(1), percent(None)
    ('96 %', '99.9 %', '100 %', '-')
    """
    if value is None:
        return "-"
    if 0.995 <= value < 1:
        return f"{int(value * 1000) / 10:g} %"
    if 0 < value < 0.005:
        return "under 1 %"
    return f"{value:.0%}".replace("%", " %")


def thousands(value: float) -> str:
    """
    >>> thousands(12345)
    '12,345'
    """
    return f"{value:,.0f}"


def _plain(value: Any) -> Any:
    """Every value passes here on its way out, so the usual ones are through at once."""
    if value.__class__ is str and not value.isprintable():
        return words.safe(value)
    return value
