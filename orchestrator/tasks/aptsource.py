"""What apt fetches for us, with lists of our own; the machine's are neither read nor changed.

Nothing is unpacked by apt or dpkg, so no code of a package is run.
"""

from __future__ import annotations

import fcntl
import hashlib
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from orchestrator.tasks.clients import HERE, Answer, Clients, last_line
from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.releases import ReleaseMissing
from sandboxes import drafts
from sandboxes.images.debian import sources_for

FRESH = 24 * 3600.0
"""Seconds after which lists are fetched anew; at once when they do not know what is asked for."""
_UNKNOWN = re.compile(
    r"Unable to (?:find a source package|locate package)|Can not find version|Version .* was not found"
    r"|no (?:installation )?candidate"
)


def fetch_debian(suite: str, package: str, version: str, lists: Path, into: Path, clients: Clients) -> None:
    """The files of a source package, written into the folder `into`. `lists` keeps apt's state between calls.

    Raises ReleaseMissing (the suite has no such version) and SourceUnavailable (no apt, no network).
    """
    words = ["source", "--download-only", "--only-source", f"{package}={version}"]
    done = _ask(_Apt(suite, "deb-src", lists, clients), words, into)
    if done is None:
        raise ReleaseMissing(f"{suite} has no source package {package} {version}")
    if done.returncode:
        raise SourceUnavailable(f"apt could not fetch {package} {version}: {last_line(done)}")


def fetch_packages(suite: str, packages: Sequence[str], lists: Path, into: Path, clients: Clients) -> None:
    """The .deb files of packages ("name" or "name=version"), without what they depend on. Raises as above."""
    done = _ask(_Apt(suite, "deb", lists, clients), ["download", *packages], into)
    if done is None:
        raise ReleaseMissing(f"{suite} has no such package among {', '.join(packages)}")
    if done.returncode:
        raise SourceUnavailable(f"apt could not fetch {', '.join(packages)}: {last_line(done)}")


def machine_suite() -> str:
    """The suite of the Debian that this machine runs; bookworm where it is another system."""
    try:
        return platform.freedesktop_os_release().get("VERSION_CODENAME") or "bookworm"
    except OSError:
        return "bookworm"


def _ask(apt: _Apt, words: list[str], into: Path) -> Answer | None:
    """apt's answer; None when even fresh lists do not know what is asked for."""
    with apt.alone():
        if not apt.fresh():
            apt.update()
        done = apt.fetch(words, into)
        if _unknown(done) and not apt.updated:
            apt.update()
            done = apt.fetch(words, into)
    return None if _unknown(done) else done


def _unknown(done: Answer) -> bool:
    return bool(done.returncode) and _UNKNOWN.search(done.stderr.decode("utf-8", "replace")) is not None


class _Apt:
    """apt for one suite, with its state in a folder of ours."""

    def __init__(self, suite: str, kind: Literal["deb", "deb-src"], lists: Path, clients: Clients) -> None:
        sources = sources_for(suite, Path("/etc/apt"))
        self._text = re.sub(r"^Types:.*$", f"Types: {kind}", sources, flags=re.MULTILINE)
        self._suite = suite
        self._clients = clients
        place = lists / f"{suite}-{kind}-{hashlib.sha256(self._text.encode()).hexdigest()[:12]}"
        self._folder = place / "state"
        self._stamp = place / "updated"
        self._lock = place / "lock"
        self.updated = False

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Other threads and processes wait."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def fresh(self) -> bool:
        try:
            return time.time() - self._stamp.stat().st_mtime < FRESH
        except OSError:
            return False

    def update(self) -> None:
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        (self._folder / "machine.sources").write_text(self._text, encoding="utf-8")
        done = self._run(["update", "--error-on=any"], "lists")
        if done.returncode:
            raise SourceUnavailable(f"apt could not fetch the lists of {self._suite}: {last_line(done)}")
        self._stamp.write_text("")
        self.updated = True

    def fetch(self, words: list[str], into: Path) -> Answer:
        """Run apt in a folder of its own and move what it fetched into the folder `into`."""
        drafts.sweep(self._folder)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=drafts.prefix()) as name:
            below = Path(name).name
            done = self._run(words, below)
            for file in Path(name).iterdir():
                shutil.move(file, into / file.name)
        return done

    def _run(self, words: list[str], inside: str) -> Answer:
        here = {
            "Dir::State": HERE,
            "Dir::State::lists": f"{HERE}/lists",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": f"{HERE}/cache",
            "Dir::Etc::sourcelist": f"{HERE}/machine.sources",
            "Dir::Etc::sourceparts": "/dev/null",
            "APT::Sandbox::User": "root",
            "Acquire::Languages": "none",
        }
        options = [word for name, value in here.items() for word in ("-o", f"{name}={value}")]
        return self._clients.call("apt-get", ["--quiet", *options, *words], self._folder, inside=inside)
