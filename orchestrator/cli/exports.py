"""Writing a run in another form to a file, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orchestrator import words
from orchestrator.cli.writing import takes_a_stream, write_file
from orchestrator.dossier import Dossier
from orchestrator.errors import AuthoringError


def write(form: str, file: Path, dossier: Dossier) -> tuple[Path, ...]:
    """The files that were written: `file`, or for `eee` with several agents one for each.

    Raises AuthoringError and OSError as `write_file` does.
    """
    documents = _eee(file, dossier) if form == "eee" else {file: FORMS[form](dossier)}
    for path, data in documents.items():
        write_file(path, data)
        _tell(path, len(data))
    return tuple(documents)


def _html(dossier: Dossier) -> bytes:
    from orchestrator.pages import report

    return report.document(dossier)


def _junit(dossier: Dossier) -> bytes:
    from orchestrator.outputs import junit

    return junit.document(dossier)


def _sarif(dossier: Dossier) -> bytes:
    from orchestrator.outputs import sarif

    return _json(sarif.document(dossier))


def _markdown(dossier: Dossier) -> bytes:
    from orchestrator.outputs import markdown

    return markdown.document(dossier).encode("utf-8", "replace")


def _csv(dossier: Dossier) -> bytes:
    from orchestrator.outputs import sheet

    return sheet.document(dossier).encode("utf-8", "replace")


FORMS: Mapping[str, Callable[[Dossier], bytes]] = {
    "html": _html,
    "junit": _junit,
    "sarif": _sarif,
    "markdown": _markdown,
    "csv": _csv,
}


def _eee(file: Path, dossier: Dossier) -> dict[Path, bytes]:
    """One document per agent, and one file per document: that is what the format's readers take."""
    from orchestrator.outputs import eee

    found = eee.documents(dossier)
    if not found:
        raise AuthoringError(f"{dossier.folder} has no graded trial yet: there is nothing to write to {file}")
    documents = [(words.agent_name(agent), _json(document)) for agent, document in found.items()]
    if len(documents) == 1:
        return {file: documents[0][1]}
    if takes_a_stream(file):
        raise AuthoringError(
            f"--eee writes {len(documents)} documents, one for each agent: name a file, not {file}"
        )
    return {_beside(file, n, name): data for n, (name, data) in enumerate(documents, 1)}


def _beside(file: Path, number: int, agent: str) -> Path:
    """
    >>> _beside(Path("out/eval.json"), 2, "predictions:a b.jsonl").name
    'eval.2-predictions-a-b-jsonl.json'
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", agent).strip("-")
    return file.with_name(f"{file.stem}.{number}-{name}{file.suffix or '.json'}")


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _tell(path: Path, size: int) -> None:
    from orchestrator.cli.failure import say

    say(f"wrote {path} ({words.size(size)})")
