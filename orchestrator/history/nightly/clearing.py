"""Which folders of nights go, and taking them away."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from orchestrator.documents.nightly import Night, Nightly
from orchestrator.errors import EXIT_OK
from orchestrator.history.facts import read_tags
from orchestrator.store import HEADER, RunFolder

NIGHT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(\.[0-9]+)?")
"""Names of the folders of nights."""


def clear_away(config: Nightly, nights: Sequence[Night]) -> tuple[str, ...]:
    """Delete the folders of nights beyond the retention. Those of the newest nights, of tonight's baselines,
    and those with a run that somebody tagged, stay. Returns the names of those that went."""
    newest = nights[-config.retention.nights :]
    keep = {night.night for night in newest}
    used = {run.baseline for run in nights[-1].runs if run.baseline} if nights else set()
    keep |= {night.night for night in nights if any(run.run_id in used for run in night.runs)}
    first = next((n.night for n in nights if any(run.exit_code == EXIT_OK for run in n.runs)), None)
    if config.baseline.policy == "first" and first:
        keep.add(first)
    finished = {night.night for night in nights}
    oldest = min(night.night for night in newest)
    gone = []
    for folder in sorted(p for p in config.root.iterdir() if NIGHT.fullmatch(p.name) and p.is_dir()):
        old = folder.name in finished or folder.name < oldest  # one that never ended is no night, but old
        if folder.name in keep or not old or _tagged(folder):
            continue
        grave = folder.with_name(f".pruned-{folder.name}")
        shutil.rmtree(grave, ignore_errors=True)
        folder.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)
        gone.append(folder.name)
    return tuple(gone)


def _tagged(night: Path) -> bool:
    """Whether somebody gave one of its runs a tag."""
    for path in night.glob(f"*/{HEADER}"):
        tags = read_tags(path.parent, RunFolder(path.parent).header)
        if any(tag.partition(":")[0] not in ("nightly", "night", "again") for tag in tags):
            return True
    return False
