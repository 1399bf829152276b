"""The document that all sub-commands are about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A nightly.yaml, or the folder it is in; by default here.")
]
DEFAULT = Path("nightly.yaml")
