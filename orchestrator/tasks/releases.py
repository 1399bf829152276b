"""Source releases from package registries, fetched by the registry's own client; none of their code runs.

pip has no command that fetches an sdist without running its build. So pip's own finder and session are used,
in a process of its own (`pipfetch.py`): the machine's settings, mirrors and credentials hold, and the
download stops before any build would begin. `npm pack` of a registry package only downloads.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from orchestrator.tasks import pipfetch
from orchestrator.tasks.downloads import SourceUnavailable

TIMEOUT = 900.0
"""Seconds one release may take to fetch."""
_NPM_MISSING = ("E404", "ETARGET", "EINVALIDTAGNAME")


class ReleaseMissing(LookupError):
    """There is no such release, it was withdrawn, or it has no source archive. One sentence."""


Fetch = Callable[[str, str, Path], None]
"""(package, version, file to write). Raises ReleaseMissing and SourceUnavailable."""


def fetch_pypi(package: str, version: str, into: Path) -> None:
    """The sdist of a release on the index that pip is set up for."""
    command = [pip_python(), "-I", str(Path(pipfetch.__file__)), package, version, str(into)]
    done = client(command, "pip")
    answer = _last_json(done.stdout)
    if done.returncode or answer is None:
        raise SourceUnavailable(f"pip could not fetch {package} {version}: {last_line(done)}")
    if missing := answer.get("missing"):
        raise ReleaseMissing(str(missing))
    if unreachable := answer.get("unreachable"):
        raise SourceUnavailable(f"{package} {version} cannot be fetched: {unreachable}")


def fetch_npm(package: str, version: str, into: Path) -> None:
    """The tarball of a release on the registry that npm is set up for."""
    if shutil.which("npm") is None:
        raise SourceUnavailable("npm is not installed; install it to fetch releases from its registry")
    with tempfile.TemporaryDirectory(prefix="proctor-npm-") as folder:
        command = ["npm", "pack", f"{package}@{version}", "--ignore-scripts", "--pack-destination", folder]
        done = client(command, "npm", cwd=folder)
        files = list(Path(folder).glob("*.tgz"))
        if done.returncode or len(files) != 1:
            words = done.stderr.decode("utf-8", "replace")
            if any(code in words for code in _NPM_MISSING):
                raise ReleaseMissing(f"npm has no {package}@{version}")
            raise SourceUnavailable(f"npm could not fetch {package}@{version}: {last_line(done)}")
        shutil.move(files[0], into)


ECOSYSTEMS: Mapping[str, Fetch] = {"pypi": fetch_pypi, "npm": fetch_npm}


def client(command: list[str], name: str, cwd: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a registry's client to its end. Raises SourceUnavailable when it takes too long."""
    try:
        return subprocess.run(
            command, capture_output=True, timeout=TIMEOUT, cwd=cwd, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as slow:
        raise SourceUnavailable(f"{name} did not answer within {slow.timeout:g} s") from slow
    except OSError as error:
        raise SourceUnavailable(f"{name} cannot be started: {error}") from error


@cache
def pip_python() -> str:
    """A Python that has pip: this one, else the first `python3` on PATH. Raises SourceUnavailable."""
    for python in (sys.executable, shutil.which("python3")):
        if python and subprocess.run([python, "-I", "-c", "import pip"], capture_output=True).returncode == 0:
            return python
    raise SourceUnavailable("pip is not installed; `python3 -m ensurepip` brings it")


def last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """The last thing a client said, for a message."""
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"it ended {done.returncode}"


def _last_json(out: bytes) -> dict[str, object] | None:
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None
