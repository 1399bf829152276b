"""Which earlier run a night is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.documents.nightly import Night, Nightly, NightRun
from orchestrator.errors import EXIT_OK, AuthoringError
from orchestrator.history.facts import read_run
from orchestrator.history.index import Index, RunFilter
from orchestrator.history.pairing import Subject
from orchestrator.store import HEADER


def find(config: Nightly, benchmark: str, nights: Sequence[Night]) -> Subject | None:
    """The baseline of a benchmark (its id) by the document's policy; None when there is none yet.

    `nights` are the earlier ones, the oldest first. A run whose folder is gone is passed over. Raises
    AuthoringError for a pinned run that is not there, or is of another benchmark.
    """
    if config.baseline.policy == "pinned":
        return _pinned(config, benchmark)
    for night, run in _whole(config, benchmark, nights):
        if config.baseline.policy == "last_passed" and not night.passed:
            continue
        folder = config.root / run.folder
        if (folder / HEADER).is_file():
            return Subject.of(read_run(folder), f"night {night.night}")
    return None


def _whole(config: Nightly, benchmark: str, nights: Sequence[Night]) -> Iterator[tuple[Night, NightRun]]:
    """Runs of the benchmark that came to their end, in the order in which they are asked for."""
    for night in nights if config.baseline.policy == "first" else reversed(nights):
        for run in night.runs:
            if run.benchmark == benchmark and run.exit_code == EXIT_OK:
                yield night, run


def _pinned(config: Nightly, benchmark: str) -> Subject:
    word = config.baseline.run or ""
    folder = config.folder / word
    if (folder / HEADER).is_file():
        found = Subject.of(read_run(folder), word)
    else:
        found = _by_word(config.root, word, benchmark)
    if found.benchmark != benchmark:
        raise AuthoringError(f"the baseline {word} is a run of {found.benchmark}, not of {benchmark}")
    return found


def _by_word(root: Path, word: str, benchmark: str) -> Subject:
    with Index.current(root) as index:
        tagged = index.runs(RunFilter(tag=word, benchmark=benchmark), limit=1).rows
        return index.subject(tagged[0] if tagged else index.find(word))
