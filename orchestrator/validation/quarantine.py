"""Writing quarantine.yaml: the tasks that validation found unfit, to be committed beside the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from orchestrator.documents.validation import TaskValidation
from orchestrator.loading.quarantine import FILE_NAME
from orchestrator.loading.quoting import quoted

UNFIT = ("invalid", "flickering")
"""A slow task judges rightly, and is not kept apart."""
_HEAD = """\
# Tasks that are kept apart: they are not run, their trials count as invalid, and no average holds them.
# `proctor validate --execute --write-quarantine` writes this file anew; a task that is mended leaves it.
quarantine:
"""


def update(folder: Path, held: Mapping[str, str], found: Iterable[TaskValidation]) -> Path | None:
    """Rewrite the file in `folder`; returns it, or None when no task is left in it (it is removed then).

    `held` is what the file says now ("<verdict>: <why>" by task). Tasks that were not examined, or of which
    nothing could be said, stay as they were.
    """
    entries = dict(held)
    for task in found:
        if task.verdict in UNFIT:
            entries[task.task] = f"{task.verdict}: {'; '.join(task.why)}"
        elif task.verdict != "unknown":
            entries.pop(task.task, None)
    file = folder / FILE_NAME
    if not entries:
        file.unlink(missing_ok=True)
        return None
    file.write_text(text(entries), encoding="utf-8")
    return file


def text(entries: Mapping[str, str]) -> str:
    """The file's text, by task id.

    >>> print(text({"a": "invalid: gold fails"}).splitlines()[-3])
      - task: "a"
    """
    lines = []
    for task, said in sorted(entries.items()):
        verdict, _, why = said.partition(": ")
        lines += [f"  - task: {quoted(task)}", f"    verdict: {verdict}", f"    why: {quoted(why)}"]
    return _HEAD + "\n".join(lines) + "\n"
