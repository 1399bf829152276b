"""One run of a tool in one container: list what there is to analyse, ask for the version, run.

Nothing of the candidate's runs before the tool does, so a container for each would not make them truer, only
slower. Each leaves a file of its own.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from orchestrator.analyzers.measurement import AnalyzerError
from orchestrator.contract import StepResult

FILES = "/tmp/proctor-files"
"""What there is to analyse, each path ended by a NUL."""
VERSION = "/tmp/proctor-version"
"""What the tool says its version is."""
_SAID = "/tmp/proctor-version-said"
_NO_LIST, _NO_VERSION = 66, 67
"""Exit codes; the file that is missing tells them from the tool's own."""


def script(
    targets: Sequence[str] | None, extensions: Sequence[str], version: Sequence[str], report: str
) -> str:
    """Shell that ends as the tool, which is its arguments. `targets` None: nothing is listed. `report` is
    where standard output goes; empty: the tool writes its report itself."""
    parts = [] if targets is None else [_listing(targets, extensions)]
    failed = f'{{ printf "exit code %s: " $? >&2; cat {_SAID} >&2; exit {_NO_VERSION}; }}'
    parts.append(f"{shlex.join(version)} >{VERSION} 2>{_SAID} || {failed}")
    parts.append('exec "$@"' + (f" >{report}" if report else ""))
    return "; ".join(parts)


def _listing(targets: Sequence[str], extensions: Sequence[str]) -> str:
    names = " -o ".join(f"-name {shlex.quote(f'*.{extension}')}" for extension in extensions)
    where = " ".join(shlex.quote(path) for path in targets)
    find = rf"find {where} -name .git -prune -o -type f \( {names} \) -print0"
    return f"{find} >{FILES}.part && mv {FILES}.part {FILES} || exit {_NO_LIST}"


def listed(tool: str, result: StepResult, workdir: str) -> frozenset[str]:
    """Paths relative to `workdir`. Raises AnalyzerError when they could not be listed."""
    data = result.files.get(FILES)
    if data is None and result.done.exit_code == _NO_LIST:
        raise AnalyzerError(f"{tool}: {result.done.stderr.text.strip()[-300:] or 'a target is not there'}")
    if data is None:
        raise AnalyzerError(f"{tool}: nobody could list what there is to analyse ({_end(result)})")
    root = workdir.rstrip("/") + "/"
    paths = data.decode("utf-8", "surrogateescape").split("\0")
    return frozenset(path.removeprefix(root) for path in paths if path)


def version_words(tool: str, result: StepResult, reported: bool) -> str:
    """What the tool said its version is. Raises AnalyzerError when it said nothing."""
    words = (result.files.get(VERSION) or b"").decode("utf-8", "replace").strip()
    refused = result.done.exit_code == _NO_VERSION and not reported
    if words and not refused:
        return words
    said = result.done.stderr.text.strip()[-300:]
    why = said if refused else _end(result)
    raise AnalyzerError(f"{tool} does not say its version: is it installed in the image? {why}".rstrip())


def _end(result: StepResult) -> str:
    done = result.done
    return done.end if done.end != "exited" else f"exit code {done.exit_code}"
