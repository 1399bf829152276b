"""Which file a check's `schema_ref` means: a path or id inside the author's schemas or ours, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator import schemas
from orchestrator.checks.fields import Mistake
from orchestrator.checks.readers import NoDocument, read_json

FOLDER = "schemas"
"""Beside `benchmark.yaml`: the author's JSON Schemas. Proctor's own schema folder is looked into after it."""
LARGEST = 4 << 20
"""Bytes of a schema file."""
_MOST_FILES = 500
_ENDINGS = ("", ".json", ".schema.json")


def load(ref: Any, root: Path | None) -> Any:
    """The schema in the file that `ref` names; `root` is the folder of the author's documents.

    `ref` is a path (".json" and ".schema.json" may be left out) or a file's `$id`. Raises Mistake.
    """
    if not isinstance(ref, str) or not ref:
        raise Mistake(f"schema_ref {ref!r} must be the path of a schema file")
    if ref.startswith("/") or "://" in ref or "\\" in ref or "\0" in ref or ".." in ref.split("/"):
        raise Mistake(f"schema_ref {ref!r} must stay inside the schema folder")
    folders = [root / FOLDER] if root is not None else []
    for folder in (*folders, schemas.folder()):
        for file in _named(folder, ref):
            return _read(file, ref)
    for folder in (*folders, schemas.folder()):
        for file in _files(folder):
            schema = _read(file, ref, quiet=True)
            if isinstance(schema, dict) and schema.get("$id") == ref:
                return schema
    where = " or ".join(str(folder) for folder in folders) or "the schema folder"
    raise Mistake(f"schema_ref {ref!r} names no file and no $id in {where}")


def _named(folder: Path, ref: str) -> Iterator[Path]:
    for ending in _ENDINGS:
        file = folder / f"{ref}{ending}"
        if _is_inside(file, folder):
            yield file


def _files(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.json"))[:_MOST_FILES] if folder.is_dir() else []
    return [file for file in found if _is_inside(file, folder)]


def _is_inside(file: Path, folder: Path) -> bool:
    """A regular file that no link takes out of the folder."""
    try:
        return file.is_file() and file.resolve().is_relative_to(folder.resolve())
    except OSError:
        return False


def _read(file: Path, ref: str, *, quiet: bool = False) -> Any:
    try:
        if file.stat().st_size > LARGEST:
            raise Mistake(f"schema_ref {ref!r}: its file is larger than {LARGEST >> 20} MiB")
        return read_json(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NoDocument, Mistake) as trouble:
        if quiet:
            return None
        raise Mistake(f"schema_ref {ref!r}: {trouble}") from None
