"""Source releases from package registries, fetched by the registry's own client; none of their code runs.

pip has no command that fetches an sdist without running its build. So pip's own finder and session are used,
in a process of its own (`pipfetch.py`): the machine's settings, mirrors and credentials hold, and the
download stops before any build would begin. `npm pack` of a registry package only downloads.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.tasks import pipfetch
from orchestrator.tasks.clients import HERE, HOST, Clients, last_line
from orchestrator.tasks.downloads import SourceUnavailable

_NPM_MISSING = ("E404", "ETARGET", "EINVALIDTAGNAME")


class ReleaseMissing(LookupError):
    """There is no such release, it was withdrawn, or it has no source archive. One sentence."""


Fetch = Callable[[str, str, Path, Clients], None]
"""(package, version, file to write, whose clients). Raises ReleaseMissing and SourceUnavailable."""


def fetch_pypi(package: str, version: str, into: Path, clients: Clients = HOST) -> None:
    """The sdist of a release on the index that pip is set up for."""
    with tempfile.TemporaryDirectory(prefix="proctor-pip-") as name:
        folder = Path(name)
        shutil.copyfile(pipfetch.__file__, folder / "pipfetch.py")
        words = [f"{HERE}/pipfetch.py", package, version, f"{HERE}/sdist"]
        done = clients.call("python", words, folder)
        answer = _last_json(done.stdout)
        if done.returncode or answer is None:
            raise SourceUnavailable(f"pip could not fetch {package} {version}: {last_line(done)}")
        if missing := answer.get("missing"):
            raise ReleaseMissing(str(missing))
        if unreachable := answer.get("unreachable"):
            raise SourceUnavailable(f"{package} {version} cannot be fetched: {unreachable}")
        shutil.move(folder / "sdist", into)


def fetch_npm(package: str, version: str, into: Path, clients: Clients = HOST) -> None:
    """The tarball of a release on the registry that npm is set up for."""
    with tempfile.TemporaryDirectory(prefix="proctor-npm-") as name:
        folder = Path(name)
        words = ["pack", f"{package}@{version}", "--ignore-scripts", "--pack-destination", HERE]
        done = clients.call("npm", words, folder)
        files = list(folder.glob("*.tgz"))
        if done.returncode or len(files) != 1:
            said = done.stderr.decode("utf-8", "replace")
            if any(code in said for code in _NPM_MISSING):
                raise ReleaseMissing(f"npm has no {package}@{version}")
            raise SourceUnavailable(f"npm could not fetch {package}@{version}: {last_line(done)}")
        shutil.move(files[0], into)


ECOSYSTEMS: Mapping[str, Fetch] = {"pypi": fetch_pypi, "npm": fetch_npm}


def _last_json(out: bytes) -> dict[str, object] | None:
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        answer = json.loads(lines[-1])
    except (IndexError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None
