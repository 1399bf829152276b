"""Debian source packages, fetched by apt with lists of our own; the machine's are neither read nor changed.

Nothing is unpacked by apt or dpkg, so no code of a package is run.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import time
from pathlib import Path
from subprocess import CompletedProcess

from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.releases import ReleaseMissing, client, last_line
from sandboxes.images.debian import sources_for

FRESH = 24 * 3600.0
"""Seconds after which the lists are fetched anew, when a version is asked for that is not held here."""


def fetch_debian(suite: str, package: str, version: str, lists: Path, into: Path) -> None:
    """The files of a source package, written into the folder `into`. `lists` keeps apt's state between calls.

    Raises ReleaseMissing (the suite has no such version) and SourceUnavailable (no apt, no network).
    """
    if shutil.which("apt-get") is None:
        raise SourceUnavailable("apt-get is not installed; Debian source packages need a machine that has it")
    apt = _Apt(suite, lists)
    wanted = ["source", "--download-only", "--only-source", f"{package}={version}"]
    with apt.alone():
        if not apt.fresh():
            apt.update()
        done = apt.run(wanted, cwd=into)
        if _unknown(done) and not apt.updated:
            apt.update()
            done = apt.run(wanted, cwd=into)
    if _unknown(done):
        raise ReleaseMissing(f"{suite} has no source package {package} {version}")
    if done.returncode:
        raise SourceUnavailable(f"apt could not fetch {package} {version}: {last_line(done)}")


class _Apt:
    def __init__(self, suite: str, lists: Path) -> None:
        text = re.sub(
            r"^Types:.*$", "Types: deb-src", sources_for(suite, Path("/etc/apt")), flags=re.MULTILINE
        )
        self._text = text
        self._suite = suite
        self._folder = lists / f"{suite}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self._stamp = self._folder / "updated"
        self.updated = False

    def alone(self) -> _Lock:
        """Other threads and processes wait."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return _Lock(self._folder / "lock")

    def fresh(self) -> bool:
        try:
            return time.time() - self._stamp.stat().st_mtime < FRESH
        except OSError:
            return False

    def update(self) -> None:
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "machine.sources").write_text(self._text, encoding="utf-8")
        done = self.run(["update", "--error-on=any"])
        if done.returncode:
            raise SourceUnavailable(f"apt could not fetch the lists of {self._suite}: {last_line(done)}")
        self._stamp.write_text("")
        self.updated = True

    def run(self, words: list[str], cwd: Path | None = None) -> CompletedProcess[bytes]:
        here = {
            "Dir::State": self._folder,
            "Dir::State::lists": self._folder / "lists",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": self._folder / "cache",
            "Dir::Etc::sourcelist": self._folder / "machine.sources",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        options = [word for name, value in here.items() for word in ("-o", f"{name}={value}")]
        return client(["apt-get", "--quiet", *options, *words], "apt-get", cwd=str(cwd) if cwd else None)


class _Lock:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        self._handle = self._path.open("w")
        fcntl.flock(self._handle, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._handle.close()


def _unknown(done: CompletedProcess[bytes]) -> bool:
    words = done.stderr.decode("utf-8", "replace")
    return bool(done.returncode) and (
        "Unable to find a source package" in words or "Can not find version" in words
    )
