"""Documents that their schema was content with before: the same ones are not examined again.

Examining costs more than all else at the start of a command (loading the library for it most of all). Only
"nothing to object" is remembered; whatever is refused is examined, and explained, every time.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.loading.explain import explain

if TYPE_CHECKING:
    from orchestrator.errors import Problem
    from orchestrator.loading.located import Located
    from orchestrator.schemas import Checker

LARGEST = 1 << 20
"""Bytes; a list grown longer is begun afresh."""


class Accepted:
    """What was accepted, by the digest of schema and data, in a text file of one digest a line.

    `file` None remembers nothing. A file that cannot be read or written is no reason to stop: documents are
    then examined as if they were new.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file

    def problems(self, checker: Checker, doc: Located) -> list[Problem]:
        """What the schema refuses of the document; see `explain`."""
        if doc.faults or doc.doubts or self._file is None:
            return list(explain(checker, doc, doc.data))
        key = _digest(checker, doc)
        if key in self._known:
            return []
        found = list(explain(checker, doc, doc.data))
        if not found:
            self.remember(checker, doc)
        return found

    def knows(self, checker: Checker, doc: Located) -> bool:
        """Whether exactly this was accepted before."""
        return self._file is not None and _digest(checker, doc) in self._known

    def remember(self, checker: Checker, doc: Located) -> None:
        """The document was examined and nothing was found."""
        if self._file is None or doc.faults or doc.doubts:
            return
        key = _digest(checker, doc)
        self._known.add(key)
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            if self._file.exists() and self._file.stat().st_size > LARGEST:
                flags |= os.O_TRUNC
            place = os.open(self._file, flags, 0o600)
            try:
                os.write(place, f"{key}\n".encode())
            finally:
                os.close(place)
        except OSError:
            pass

    @cached_property
    def _known(self) -> set[str]:
        try:
            return set(self._file.read_text("ascii").split()) if self._file else set()
        except (OSError, ValueError):
            return set()


def _digest(checker: Checker, doc: Located) -> str:
    data = json.dumps(doc.data, sort_keys=True)
    return hashlib.sha256(f"{checker.digest} {data}".encode()).hexdigest()
