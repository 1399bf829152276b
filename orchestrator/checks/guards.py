"""Proctor's own guards of a score_delta: what a change may not do to look better.

parse        every PHP and Python file it touches still parses, one at a time
code_lines   no code is lost, or hidden where the tool does not look (`checks.code_guard`)
files        no file leaves the analysed set (what was wrong with it is counted back)
suppressions no comment is added that makes the tool look away (counted back where the tool obeys it)
config       nothing that steers a tool of this kind is edited (never obeyed; reported)

Each is on by default. A task may loosen one by name (`metadata.allow`: parse, code_lines, deletions,
suppressions) or have the last two fail a change (`metadata.forbid`: suppressions, config).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.analyzers import Analyzer
from orchestrator.checks.causes import clip, printable
from orchestrator.checks.comparison import Comparison
from orchestrator.contract import ChangedFile

PLACES_KEPT = 50

State = Literal["passed", "failed", "reported", "loosened", "unavailable"]


@dataclass(frozen=True)
class Guard:
    """What one guard saw. Only "failed" decides."""

    name: str
    state: State
    says: str = ""
    places: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"state": self.state}
        if self.says:
            facts["says"] = self.says
        if self.places:
            facts["places"] = [printable(place) for place in self.places[:PLACES_KEPT]]
        return facts


def parse(broken: dict[str, str] | None, allowed: bool) -> Guard:
    """`broken` are files that parse no more."""
    if broken is None:
        return Guard("parse", "unavailable", "the room has no interpreter that could tell")
    if not broken:
        return Guard("parse", "passed")
    places = tuple(f"{path}: {clip(why, 200)}" for path, why in sorted(broken.items()))
    says = f"{len(broken)} touched file{'s' * (len(broken) > 1)} no longer parse{'s' * (len(broken) == 1)}"
    return Guard("parse", "loosened" if allowed else "failed", says, places)


# What is counted back, and what is reported -----------------------------------------------------------------


def files(compared: Comparison) -> Guard:
    """Files that left the analysed set."""
    if compared.after.files is None and compared.findings is None:
        return Guard("files", "unavailable", f"{compared.after.tool} does not say what it analysed")
    if not compared.left:
        return Guard("files", "passed")
    says = (
        f"{len(compared.left)} files with findings left the analysed set; {compared.gone:.10g} counted back"
    )
    return Guard("files", "loosened" if "deletions" in compared.allow else "reported", says, compared.left)


def suppressions(compared: Comparison, forbidden: bool) -> Guard:
    """Comments that make the tool look away."""
    found = compared.suppressed
    if not found:
        return Guard("suppressions", "passed")
    says = f"{len(found)} new; {compared.hidden:.10g} counted back"
    state: State = "failed" if forbidden else "loosened" if "suppressions" in compared.allow else "reported"
    return Guard("suppressions", state, says, tuple(f"{s.path}:{s.line}: {s.text}" for s in found))


def config(
    analyzer: Analyzer, steering: Collection[str], changes: Collection[ChangedFile], forbidden: bool
) -> Guard:
    """Edits of what steers analyzers. `steering` are paths that do steer this one: put back beforehand."""
    globs = tuple(getattr(analyzer, "config_names", ()))
    edited = [
        c.path for c in changes if _steers(c.path, steering, globs) or _steers(c.old_path, steering, globs)
    ]
    if not edited:
        return Guard("config", "passed")
    back = sum(path in steering for path in edited)
    says = f"{len(edited)} edited, none obeyed" + (f"; {back} put back for the analysis" if back else "")
    return Guard("config", "failed" if forbidden else "reported", says, tuple(edited))


def _steers(path: str | None, steering: Collection[str], globs: Collection[str]) -> bool:
    if path is None:
        return False
    name = path.rpartition("/")[2]
    return path in steering or any(fnmatch.fnmatchcase(name, glob) for glob in globs)
