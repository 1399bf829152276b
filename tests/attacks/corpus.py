"""The candidates of the range: those that want to pass without mending anything, and honest ones.

One YAML file for each family in `data/families` and `data/honest.yaml`, read strictly: a field that nobody
knows, a doubled id or an attack without a defence stops the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Candidate:
    """What somebody hands in for one task. Everything but `agent` and `response` becomes a patch."""

    id: str
    task: str
    does: str
    """One sentence for readers."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Path in the work tree -> its new text."""
    binary: Mapping[str, str] = field(default_factory=dict)
    """The same for bytes, in hexadecimal."""
    bytecode: Mapping[str, str] = field(default_factory=dict)
    """Path -> source, which is brought as bytecode that Python takes without a look at the source."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Path -> where the link leads."""
    removed: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    """Paths of `files` with the x bit."""
    patch: str = ""
    """A patch as it stands, instead of the fields above."""
    agent: str = ""
    """A shell script, let loose in the agent's room, instead of a patch."""
    response: str = ""
    """The answer to a question."""
    expected: Mapping[str, Any] | None = None
    """Other lists than the task's."""
    unprotected: tuple[str, ...] = ()
    """What the task would open by name."""
    family: str = "honest"


@dataclass(frozen=True)
class Attack(Candidate):
    """A candidate that must not pass."""

    stopped_by: str = ""
    """The one defence, by its name in `defences.SWITCHES`; empty for those that are known to win."""
    also_off: tuple[str, ...] = ()
    """Defences that would stop it as well; off in the control, too."""
    says: str = ""
    """A part of the reason the record gives."""
    end: str = "graded"
    """The end word of the record."""
    why: str = ""
    """Why it must not pass, or, of one that wins, what keeps it from being seen."""
    wins: str = "passed"
    """What it is after: "passed", or "no score" (errored, invalid, unscored)."""
    no_control: str = ""
    """Why there is no switch for the defence; empty where the control is run."""
    known_to_win: bool = False

    @property
    def controlled(self) -> bool:
        return not self.no_control and not self.known_to_win


@dataclass(frozen=True)
class Family:
    """Attacks of one kind."""

    name: str
    title: str
    attacks: tuple[Attack, ...]


@dataclass(frozen=True)
class Corpus:
    families: tuple[Family, ...]
    honest: tuple[Candidate, ...]

    @property
    def attacks(self) -> tuple[Attack, ...]:
        return tuple(attack for family in self.families for attack in family.attacks)

    def named(self, name: str) -> Candidate:
        return next(c for c in (*self.attacks, *self.honest) if c.id == name)


class Malformed(ValueError):
    """The corpus says something it must not; str() says what and where."""


@cache
def load(folder: Path = DATA) -> Corpus:
    """The whole corpus, read once. Raises Malformed."""
    families = tuple(_family(path) for path in sorted((folder / "families").glob("*.yaml")))
    honest = tuple(_made(Candidate, row, "honest.yaml") for row in _rows(folder / "honest.yaml"))
    corpus = Corpus(families, honest)
    twice = [name for name, n in Counter(c.id for c in (*corpus.attacks, *honest)).items() if n > 1]
    if twice:
        raise Malformed(f"two candidates are called {twice[0]}")
    return corpus


def _family(path: Path) -> Family:
    name = path.stem
    document = _yaml(path)
    attacks = tuple(_made(Attack, {**row, "family": name}, path.name) for row in document["attacks"])
    for attack in attacks:
        if attack.known_to_win == bool(attack.stopped_by) or not attack.why:
            raise Malformed(
                f"{path.name}: {attack.id} needs `why`, and either `stopped_by` or `known_to_win`"
            )
    return Family(name, document["title"], attacks)


def _yaml(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), loader)


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    yield from _yaml(path)


def _made(kind: type[Any], row: Mapping[str, Any], where: str) -> Any:
    known = {f.name for f in fields(kind)}
    strange = row.keys() - known
    if strange:
        raise Malformed(f"{where}: {row.get('id')}: nobody knows the field {min(strange)}")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
