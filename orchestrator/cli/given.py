"""What a command was given, loaded: benchmark, profiles, rubrics, plug-ins; all problems at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from orchestrator.documents.benchmark import Benchmark, Config
    from orchestrator.documents.rubric import Rubric
    from orchestrator.errors import Problem
    from orchestrator.graders import Grader
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import RubricStore
    from orchestrator.schemas import RubricSchema

T = TypeVar("T")


@dataclass(frozen=True)
class Given:
    """A benchmark with everything it refers to."""

    benchmark: Benchmark
    config: Config
    rubrics: RubricStore
    registry: Registry
    quarantine: Mapping[str, str] = field(default_factory=dict)
    """Why a task is kept apart, by its id (quarantine.yaml)."""
    graders: Mapping[str, Grader] = field(default_factory=dict)
    """Those that its tasks name, as they name them."""


def load(
    path: Path, rubrics: Iterable[Path] = (), config: Path | None = None, registry: Registry | None = None
) -> Given:
    """Raises AuthoringError with every problem of the benchmark, its profiles and its rubrics together."""
    from orchestrator import graders
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import Accepted, check_references, load_benchmark, load_config, load_quarantine
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import FOLDER, RubricStore
    from sandboxes.home import home

    found = registry or Registry.load()
    place = find(path)
    accepted = Accepted(home() / "accepted")
    folder = place if place.is_dir() else place.parent
    own = [folder / FOLDER] if (folder / FOLDER).is_dir() else []
    problems: list[Problem] = []
    benchmark = _collecting(problems, lambda: load_benchmark(place, accepted))
    profiles = _collecting(problems, lambda: load_config(config or folder, accepted))
    tools = profiles.analyzers if profiles else {}
    registry = _collecting(problems, lambda: found.with_analyzers(tools)) or found
    store = _collecting(problems, lambda: RubricStore.load([*own, *rubrics], schemas(registry), accepted))
    if benchmark is None or profiles is None or store is None:
        raise AuthoringError(problems)
    apart = _collecting(problems, lambda: load_quarantine(benchmark, accepted)) or {}
    problems += check_references(benchmark, store, profiles, registry.analyzers)
    made = _collecting(problems, lambda: graders.make_all(benchmark, registry.graders, profiles)) or {}
    if problems:
        raise AuthoringError(problems)
    return Given(benchmark, profiles, store, registry, apart, made)


def _collecting(problems: list[Problem], read: Callable[[], T]) -> T | None:
    from orchestrator.errors import AuthoringError

    try:
        return read()
    except AuthoringError as error:
        problems += error.problems
        return None


def schemas(registry: Registry) -> RubricSchema:
    """The rubric schema with what the plug-ins bring."""
    from orchestrator.schemas import RubricSchema

    return RubricSchema.of(registry.schemas, registry.analyzers)


def beside(file: Path, schema: RubricSchema) -> RubricStore:
    """A rubric and the others in its folder; those that do not load are not there to be referred to."""
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import load_rubric
    from orchestrator.rubrics import RubricStore, built_in, files_of

    found: dict[str, Rubric] = {}
    for other in [file, *files_of(file.parent)]:
        try:
            rubric = load_rubric(other, schema)
        except AuthoringError:
            continue
        found.setdefault(rubric.ref, rubric)
    return RubricStore(found.values(), built_in)


def find(path: Path) -> Path:
    """`path` itself, or, when there is nothing there, the benchmark of that name that proctor brings.

    Raises AuthoringError naming those it brings when there is neither.
    """
    from orchestrator.errors import AuthoringError

    if path.exists():
        return path
    folder = shipped()
    if path.name == str(path) and (folder / path).is_dir():
        return folder / path
    brought = ", ".join(sorted(file.parent.name for file in folder.glob("*/benchmark.yaml")))
    raise AuthoringError(f"{path}: there is no such file; check the path, or name a shipped one: {brought}")


def shipped() -> Path:
    """The folder of the benchmarks that come along: inside the package, or beside it in a checkout."""
    import orchestrator

    package = Path(orchestrator.__file__).parent
    inside = package / "_benchmarks"
    return inside if inside.is_dir() else package.parent / "benchmarks"
