"""Which rubrics there are, and what a rubric_ref means (rules 24 to 29, C-2, C-26)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from orchestrator import library
from orchestrator.documents.benchmark import Benchmark
from orchestrator.documents.rubric import Rubric
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading import Accepted, Located, read_document, rubric_of
from orchestrator.loading.located import show_path
from orchestrator.loading.words import did_you_mean
from orchestrator.schemas import RubricSchema

FOLDER = "rubrics"
"""Beside benchmark.yaml."""
SUFFIXES = (".yaml", ".yml", ".json")
MAX_DEPTH = 3
"""Composites inside each other, the root counting as 0 (C-27)."""


@dataclass(frozen=True)
class Stored:
    """A rubric and where it came from; `source` is None for one made in Python."""

    rubric: Rubric
    source: Located | None = None

    @property
    def file(self) -> str:
        return self.source.file if self.source else "(made in Python)"


@cache
def built_in(ref: str) -> Stored | None:
    """The rubric of that ref that comes with proctor; read when it is first asked for."""
    file = library.files().get(ref)
    if file is None:
        return None
    source = read_document(file)
    return Stored(rubric_of(source), source)


class RubricStore:
    """Rubrics by ref. Frozen once built. Its own come first, then those that `library` knows."""

    def __init__(
        self,
        rubrics: Iterable[Rubric | Stored] = (),
        library: Callable[[str], Stored | None] = lambda ref: None,
    ) -> None:
        """Raises AuthoringError when two rubrics have the same id and version."""
        self._library = library
        self._stored: dict[str, Stored] = {}
        problems: list[Problem] = []
        for item in rubrics:
            entry = item if isinstance(item, Stored) else Stored(item)
            before = self._stored.setdefault(entry.rubric.ref, entry)
            if before is not entry:
                problems.append(_double(entry, before))
        if problems:
            raise AuthoringError(problems)

    @classmethod
    def load(
        cls,
        places: Iterable[Path | str],
        schemas: RubricSchema | None = None,
        accepted: Accepted | None = None,
    ) -> RubricStore:
        """Every rubric file below the given folders (or a file itself), each file once; a ref that none of
        them has may still be that of a built-in rubric.

        Raises AuthoringError with the problems of all files together.
        """
        stored: list[Stored] = []
        problems: list[Problem] = []
        for file in _files(places, problems):
            try:
                source = read_document(file)
                stored.append(Stored(rubric_of(source, schemas, accepted), source))
            except AuthoringError as error:
                problems.extend(error.problems)
        try:
            store = cls(stored, built_in)
        except AuthoringError as error:
            problems.extend(error.problems)
        if problems:
            raise AuthoringError(problems)
        return store

    @classmethod
    def beside(
        cls, benchmark: Benchmark, more: Iterable[Path | str] = (), schemas: RubricSchema | None = None
    ) -> RubricStore:
        """The benchmark's own rubrics folder, where it has one, and `more` places."""
        own = benchmark.root / FOLDER
        return cls.load([*([own] if own.is_dir() else []), *more], schemas)

    def resolve(self, ref: str | None) -> Rubric | None:
        """The enabled rubric of exactly that id and version; None otherwise (rules 25, 27, 28)."""
        entry = self.find(ref or "")
        return entry.rubric if entry and entry.rubric.enabled else None

    def find(self, ref: str) -> Stored | None:
        """The rubric of that ref, enabled or not, with its source."""
        return self._stored.get(ref) or self._library(ref)

    def __iter__(self) -> Iterator[Stored]:
        """Its own rubrics; those of the library are found and not listed."""
        return iter(self._stored.values())

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def refs(self) -> tuple[str, ...]:
        """All refs, disabled rubrics' too, in the order of loading."""
        return tuple(self._stored)

    def warnings(self) -> tuple[Problem, ...]:
        """Pairs of versions that read alike, such as "1.0" and "1.0.0" (C-2)."""
        found = []
        for entry in self:
            twin = self._stored.get(f"{entry.rubric.ref}.0")
            if twin and entry.rubric.version.count(".") == 1:
                message = (
                    f'"{entry.rubric.version}" and "{twin.rubric.version}" ({twin.file}) are two versions'
                )
                found.append(_problem(entry, ("version",), message, "refs match exactly; keep one of them"))
        return tuple(found)

    def problems(self) -> tuple[Problem, ...]:
        """Composites that lead nowhere, in a circle or too deep: skipped when run, refused by validate."""
        found = [problem for entry in self for problem in self.composite_problems(entry)]
        return tuple(dict.fromkeys(found))

    def composite_problems(self, entry: Stored) -> tuple[Problem, ...]:
        """What is wrong with the composites of one rubric, followed down to MAX_DEPTH (C-26, C-27)."""
        return tuple(self._walk(entry, entry, None, (entry.rubric.ref,)))

    def _walk(
        self, top: Stored, entry: Stored, outer: int | None, chain: tuple[str, ...]
    ) -> Iterator[Problem]:
        for number, check in enumerate(entry.rubric.checks):
            ref = str(check.get("rubric_ref", ""))
            if check.get("kind") != "composite":
                continue
            outermost = number if outer is None else outer
            path = ("checks", outermost, "rubric_ref")
            inner = self.find(ref)
            trail = " > ".join((*chain, ref))
            if ref in chain:
                yield _problem(top, path, f"runs in a circle: {trail}", "take one of these composites out")
            elif len(chain) > MAX_DEPTH:
                message = f"nests deeper than {MAX_DEPTH} levels: {trail}"
                yield _problem(top, path, message, "flatten the chain")
            elif inner is None or not inner.rubric.enabled:
                state = "is disabled" if inner else "is not there"
                via = f" (through {trail})" if len(chain) > 1 else ""
                yield _problem(top, path, f"{ref} {state}{via}", self.advice(ref))
            else:
                yield from self._walk(top, inner, outermost, (*chain, ref))

    def advice(self, ref: str) -> str:
        """What to do about a ref that resolves to nothing: name the versions or ids that are there."""
        name = ref.removeprefix("rubric/").partition("@")[0]
        versions = [e.rubric.version for e in self if e.rubric.id == name and e.rubric.enabled]
        prefix = f"rubric/{name}@"
        shipped = (r for r in library.files() if r.startswith(prefix) and r not in self._stored)
        versions += [r.removeprefix(prefix) for r in shipped if self._library(r)]
        if versions:
            return f"there is {name} in version " + ", ".join(versions)
        return (
            did_you_mean(name, {e.rubric.id for e in self if e.rubric.enabled})
            if self._stored
            else ("there are no rubrics here; name their folder")
        )


def files_of(folder: Path, *, below: bool = False) -> list[Path]:
    """The files of a folder (and of those `below` it) that may be rubrics, sorted: YAML and JSON, but no
    schema for editors (`*.schema.json`)."""
    found = folder.rglob("*") if below else folder.iterdir()
    return sorted(
        p for p in found if p.suffix in SUFFIXES and not p.name.endswith(".schema.json") and p.is_file()
    )


def _files(places: Iterable[Path | str], problems: list[Problem]) -> Iterator[Path]:
    seen: set[Path] = set()
    for place in map(Path, places):
        if place.is_dir():
            found = files_of(place, below=True)
        elif place.exists():
            found = [place]
        else:
            problems.append(Problem(str(place), 0, "", "there is no such folder", "check the path"))
            continue
        for file in found:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


def _double(entry: Stored, before: Stored) -> Problem:
    line = before.source.line(("id",)) if before.source else 0
    message = f"{entry.rubric.ref} is already defined in {before.file}" + (f", line {line}" if line else "")
    return _problem(entry, ("id",), message, "give it another version or id")


def _problem(entry: Stored, path: tuple[str | int, ...], message: str, hint: str) -> Problem:
    if entry.source:
        return entry.source.problem(path, message, hint)
    return Problem(entry.file, 0, show_path(path), message, hint)
