"""Proctor's own guards of a score_delta: what a change may not do to look better.

parse        every PHP and Python file it touches still parses, one at a time
code_lines   no analysed file loses most of its code (what is in strings is none), unless the code is found
             again in another
files        no file leaves the analysed set (what was wrong with it is counted back)
suppressions no comment is added that makes the tool look away (counted back where the tool obeys it)
config       nothing that steers a tool of this kind is edited (never obeyed; reported)

Each is on by default. A task may loosen one by name (`metadata.allow`: parse, code_lines, deletions,
suppressions) or have the last two fail a change (`metadata.forbid`: suppressions, config).
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.analyzers import Analyzer
from orchestrator.analyzers.source import bare_lines, language
from orchestrator.checks.causes import clip, printable
from orchestrator.checks.comparison import Comparison
from orchestrator.contract import ChangedFile, Step, StepResult
from sandboxes.spec import Command

PLACES_KEPT = 50
FILES_AT_ONCE = 200
MANY_LINES = 10
"""A file with fewer lines of code is only held to keep any at all."""
LEAST_KEPT = 0.5
"""Of a file's lines of code."""

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


# Parsing ----------------------------------------------------------------------------------------------------

_EACH = 'for f do out=$({check} 2>&1 </dev/null); printf "%s %s\\0%s\\0" "$?" "$f" "$out"; done; printf end'
_PHP = _EACH.replace("{check}", 'php -n -d display_errors=1 -l "$f"')
_COMPILE = (
    "import sys,warnings; warnings.simplefilter('ignore'); "
    "compile(open(sys.argv[1],'rb').read(), sys.argv[1], 'exec', dont_inherit=True)"
)
_PYTHON = _EACH.replace("{check}", f'python3 -I -B -c "{_COMPILE}" "$f"')
_CHECKS = {"php": ("php", _PHP), "python": ("python3", _PYTHON)}


@dataclass(frozen=True)
class Parsing:
    """The parse check of some files of a work tree, as steps of a room."""

    workdir: str
    paths: tuple[str, ...]

    @classmethod
    def of(cls, workdir: str, paths: Iterable[str]) -> Parsing:
        return cls(workdir, tuple(sorted(p for p in set(paths) if language(p) in _CHECKS)))

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(self._steps())

    def _steps(self) -> Iterable[Step]:
        for name, (program, script) in _CHECKS.items():
            mine = [f"{self.workdir}/{p}" for p in self.paths if language(p) == name]
            for first in range(0, len(mine), FILES_AT_ONCE):
                known = f"command -v {program} >/dev/null || {{ printf none; exit; }}; {script}"
                argv = ("/bin/sh", "-c", known, "sh", *mine[first : first + FILES_AT_ONCE])
                yield Step(Command(argv, cwd="/"))

    def broken(self, results: Sequence[StepResult]) -> dict[str, str] | None:
        """What does not parse, and why; None when no interpreter is there to tell."""
        found: dict[str, str] = {}
        told = not results
        for result in results:
            text = result.done.stdout.text
            if result.done.ok and text == "none":
                continue
            told = True
            *fields, last = text.split("\0")
            if not result.done.ok or last != "end":
                found["(the parse check)"] = f"did not come to its end: {result.done.end}"
            for head, said in zip(fields[::2], fields[1::2], strict=False):
                code, _, path = head.partition(" ")
                if code != "0":
                    words = [line.strip() for line in said.splitlines() if line.strip()] or [
                        f"exit code {code}"
                    ]
                    found[path.removeprefix(self.workdir + "/")] = words[0 if language(path) == "php" else -1]
        return found if told else None


def parse(broken: dict[str, str] | None, allowed: bool) -> Guard:
    """`broken` are files that parse no more."""
    if broken is None:
        return Guard("parse", "unavailable", "the room has no interpreter that could tell")
    if not broken:
        return Guard("parse", "passed")
    places = tuple(f"{path}: {clip(why, 200)}" for path, why in sorted(broken.items()))
    says = f"{len(broken)} touched file{'s' * (len(broken) > 1)} no longer parse{'s' * (len(broken) == 1)}"
    return Guard("parse", "loosened" if allowed else "failed", says, places)


# Code -------------------------------------------------------------------------------------------------------


def code_lines(changes: Collection[ChangedFile], compared: Comparison, allowed: bool) -> Guard:
    """Emptied, stubbed and minified files, told by their lines of code. Code that is found again in another
    analysed file was moved, not lost. Files that are not analysed any more are the `files` guard's."""
    analysed = compared.after.files
    if analysed is None:
        return Guard("code_lines", "unavailable", f"{compared.after.tool} does not say what it analysed")
    sides = [(c, _bare(c.old_path or c.path, c.before), _bare(c.path, c.after)) for c in changes]
    sides = [side for side in sides if side[0].path in analysed]
    gained: Counter[bytes] = Counter()
    for _, old, new in sides:
        gained += new - old
    places = []
    for change, old, new in sides:
        kept, total = new.total(), old.total()
        if not total or not _collapsed(kept, total):
            continue
        lost = old - new
        if _collapsed(kept + (lost & (gained - (new - old))).total(), total):
            places.append(f"{change.path}: {total} lines of code before, {kept} after")
    if not places:
        return Guard("code_lines", "passed")
    says = f"{len(places)} file{'s' * (len(places) > 1)} lost most of the code"
    return Guard("code_lines", "loosened" if allowed else "failed", says, tuple(places))


def _bare(path: str, source: bytes | None) -> Counter[bytes]:
    return Counter(line for line in bare_lines(path, source or b"", strings=False) if line)


def _collapsed(kept: int, total: int) -> bool:
    return kept == 0 if total < MANY_LINES else kept < total * LEAST_KEPT


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
