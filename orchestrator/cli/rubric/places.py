"""Which rubric a word on the command line means: a file, one in the folders at hand, or a built-in one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from orchestrator.plugins import Registry
    from orchestrator.rubrics import RubricStore, Stored

RubricName = Annotated[
    str, typer.Argument(metavar="RUBRIC", help="A file, an id, id@version, or the name of a built-in rubric.")
]
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--rubrics",
        metavar="DIR",
        help="Folders of rubrics; by default ./rubrics, else here. May be repeated.",
    ),
]


@dataclass(frozen=True)
class Place:
    """A file that calls itself a rubric. Nothing but id and version has been looked at."""

    path: Path
    ref: str
    built_in: bool = False


def locate(word: str, folders: list[Path] | None = None) -> Place:
    """The rubric that `word` means; of an id without a version the newest. Own files go before built-in ones.

    Raises AuthoringError naming what there is.
    """
    from orchestrator import library
    from orchestrator.errors import AuthoringError
    from orchestrator.loading.words import did_you_mean

    if Path(word).is_file():
        return next(_of_file(Path(word)), Place(Path(word), ""))
    known = [*own(folders), *built_in()]
    wanted = word if word.startswith("rubric/") else f"rubric/{word}"
    found = [p for p in known if p.ref == wanted or p.ref.partition("@")[0] == wanted]
    if not found:
        hint = did_you_mean(word, {p.ref.removeprefix("rubric/").partition("@")[0] for p in known})
        raise AuthoringError(f"{word}: there is no such file and no rubric of that name; {hint}")
    own_first = [p for p in found if not p.built_in] or found
    return max(own_first, key=lambda place: library.order(place.ref))


def own(folders: list[Path] | None = None) -> list[Place]:
    """The rubrics in the given folders, or in ./rubrics, or else those that lie here. What cannot be read is
    left out."""
    return [place for file in files(folders) for place in _of_file(file)]


def files(folders: list[Path] | None = None) -> list[Path]:
    """The files that may be rubrics; without named folders and ./rubrics, the ones here that are.

    Raises AuthoringError for a folder or file that is not there.
    """
    from orchestrator.errors import AuthoringError
    from orchestrator.rubrics import FOLDER, files_of

    found: list[Path] = []
    if not folders and not Path(FOLDER).is_dir():
        return [path for path in files_of(Path()) if is_rubric(path)]
    for folder in folders or [Path(FOLDER)]:
        if not folder.exists():
            raise AuthoringError(f"{folder}: there is no such folder; name one that holds rubrics")
        found += files_of(folder, below=True) if folder.is_dir() else [folder]
    return list(dict.fromkeys(found))


def built_in() -> list[Place]:
    """The rubrics that come with proctor."""
    from orchestrator import library

    return [Place(path, ref, True) for ref, path in library.files().items()]


def load(word: str, folders: list[Path] | None, registry: Registry) -> tuple[Stored, RubricStore]:
    """The rubric that `word` means, and the rubrics its composites may name. Raises AuthoringError."""
    from orchestrator.cli.given import beside, schemas
    from orchestrator.loading import read_document, rubric_of
    from orchestrator.rubrics import RubricStore, Stored

    place = locate(word, folders)
    schema = schemas(registry)
    source = read_document(place.path)
    entry = Stored(rubric_of(source, schema), source)
    if folders:
        places = [*folders, *([] if place.built_in else [place.path])]
        return entry, RubricStore.load(places, schema)
    return entry, beside(place.path, schema)


def is_rubric(file: Path) -> bool:
    """Whether it calls itself one: it has an id and checks."""
    return file.is_file() and next(_of_file(file), None) is not None


def _of_file(file: Path) -> Iterator[Place]:
    from orchestrator.errors import AuthoringError
    from orchestrator.loading import read_document

    try:
        data: Any = read_document(file).data
    except AuthoringError:
        return
    if isinstance(data, dict) and isinstance(data.get("id"), str) and "checks" in data:
        yield Place(file, f"rubric/{data['id']}@{data.get('version', '')}")
