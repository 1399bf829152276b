"""proctor init: a commented benchmark to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

NAME = "init"
SUMMARY = "Start a benchmark of your own."
STARTER = "starter"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make; must be new or empty.")],
) -> int:
    """Make a benchmark with one task that validates and runs.

    \b
    Example:
      proctor init my-benchmark && proctor run my-benchmark --agent gold --agent noop
    """
    write(folder)
    print(f"made {folder}: read {folder / 'benchmark.yaml'}, then")
    print(f"  proctor validate {folder}")
    print(f"  proctor run {folder} --agent gold --agent noop")
    return 0


def write(folder: Path) -> None:
    """Fill `folder` from the starter. Raises AuthoringError when something is there already."""
    import shutil

    from orchestrator.cli.given import shipped
    from orchestrator.errors import AuthoringError

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise AuthoringError(f"{folder}: is there already and not empty; name a new folder")
    shutil.copytree(
        shipped() / STARTER, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    document = folder / "benchmark.yaml"
    text = document.read_text(encoding="utf-8")
    document.write_text(text.replace("id: my_benchmark", f"id: {identifier(folder)}", 1), encoding="utf-8")


def identifier(folder: Path) -> str:
    """A benchmark id made of the folder's name.

    >>> identifier(Path("/tmp/My Tests-2"))
    'my_tests_2'
    """
    word = re.sub(r"[^a-z0-9]+", "_", folder.resolve().name.lower()).strip("_")
    return word if word[:1].isalpha() else f"benchmark_{word}".rstrip("_")
