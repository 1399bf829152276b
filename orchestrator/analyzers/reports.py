"""What a tool's report says, and the words for what is wrong with one.

A reader takes the bytes a finished run left and how it ended. It believes nothing: the report must be whole,
consistent in itself and with the exit code, or there is no measurement.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from orchestrator.analyzers.measurement import AnalyzerError, Finding

T = TypeVar("T")


@dataclass(frozen=True)
class Raw:
    """One run as it was left."""

    data: bytes
    """The report, whole."""
    exit_code: int | None = None
    """None for a saved report: nobody knows it any more, so it is not held against the report."""
    version: str = ""
    """Of the tool; empty when not known."""
    stderr: str = ""
    root: str = ""
    """Absolute folder that was analysed; paths become relative to it."""
    cwd: str = "/"
    """Where the tool ran: what its relative paths are relative to (only with a root)."""


@dataclass(frozen=True)
class Report:
    """What one run says."""

    findings: tuple[Finding, ...] = ()
    files: frozenset[str] | None = None
    """What was really analysed, where the report tells."""
    value: float | None = None
    """A score of the tool's own; None when findings are counted."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """More numbers for people."""


Reader = Callable[[Raw], Report]
"""Raises AnalyzerError for anything that is not a finished, consistent run."""


def loads(tool: str, raw: Raw) -> Any:
    """The report as JSON. Raises AnalyzerError when it is empty, cut or polluted."""
    if not raw.data.strip():
        raise AnalyzerError(f"{tool} wrote no report{ended(raw)}")
    try:
        return json.loads(raw.data)
    except (ValueError, RecursionError) as problem:
        words = raw.data.strip()[:160].decode("utf-8", "replace")
        raise AnalyzerError(f"the {tool} report is not whole JSON: {problem}; it begins {words!r}") from None


def shaped(tool: str, read: Callable[[], T]) -> T:
    """`read()`; a report of another shape than the known one is an AnalyzerError."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise AnalyzerError(f"the {tool} report has not the known shape: {problem!r}") from None


def agree(tool: str, raw: Raw, fitting: Collection[int], said: str) -> None:
    """The exit code must be one that goes with what the report says."""
    if raw.exit_code is None or raw.exit_code in fitting:
        return
    wanted = " or ".join(map(str, sorted(fitting)))
    version = f" {raw.version}" if raw.version else ""
    raise AnalyzerError(f"{tool}{version} ended with exit code {raw.exit_code}, but {said} means {wanted}")


def unparsable(tool: str, path: str, why: str) -> AnalyzerError:
    """A file the tool could not read hides what is wrong with it."""
    return AnalyzerError(f"{tool} could not parse {path}: {why[:200]}")


def ended(raw: Raw) -> str:
    """ " (exit code 255): last words" as far as they are known."""
    words = raw.stderr.strip()[-300:]
    code = "" if raw.exit_code is None else f" (exit code {raw.exit_code})"
    return f"{code}: {words}" if words else code


def relative(path: str, raw: Raw) -> str:
    """A tool's path, relative to the analysed root, with forward slashes.

    >>> relative("/srv/repo/src/A.php", Raw(b"", root="/srv/repo"))
    'src/A.php'
    >>> relative("src\\\\A.php", Raw(b""))
    'src/A.php'
    """
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    path = path.replace("\\", "/")
    root = raw.root.replace("\\", "/").rstrip("/")
    path = posixpath.normpath(path)
    if not root:
        return path
    # Some tools name paths relative to the root they were told, others to where they ran.
    whole = posixpath.normpath(posixpath.join(raw.cwd, path))
    return whole.removeprefix(root + "/") if whole.startswith(root + "/") else path.removeprefix(root + "/")


def count(findings: Iterable[Finding]) -> dict[str, int]:
    """How many of each severity, errors and warnings always named."""
    counts = {"errors": 0, "warnings": 0}
    for finding in findings:
        word = {"error": "errors", "warning": "warnings"}.get(finding.severity, finding.severity)
        counts[word] = counts.get(word, 0) + 1
    return counts
