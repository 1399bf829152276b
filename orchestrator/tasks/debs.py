"""Debian's binary packages as releases: fetched by apt from the suite that has them, unpacked by nobody."""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import IO

from orchestrator.tasks.aptsource import fetch_packages
from orchestrator.tasks.archives import ArchiveTrouble
from orchestrator.tasks.clients import Clients
from orchestrator.tasks.releases import ReleaseMissing

MAGIC = b"!<arch>\n"
SUITES = ("bookworm", "trixie", "sid")
"""Where a version is looked for; its hash is pinned, so the place decides nothing."""


def fetch_deb(package: str, version: str, into: Path, clients: Clients, *, lists: Path) -> None:
    """The .deb of one version. `lists` keeps apt's state between calls. Raises ReleaseMissing (no suite has
    it) and SourceUnavailable."""
    for suite in SUITES:
        with tempfile.TemporaryDirectory(prefix="proctor-deb-") as name:
            folder = Path(name)
            try:
                fetch_packages(suite, [f"{package}={version}"], lists, folder, clients)
            except ReleaseMissing:
                continue
            file = next(folder.glob("*.deb"), None)
            if file is not None:
                shutil.move(file, into)
                return
    raise ReleaseMissing(f"no suite of {', '.join(SUITES)} has {package} {version}")


def data_tar(file: Path) -> IO[bytes]:
    """The files of a package: the member data.tar of its ar archive. Raises ArchiveTrouble."""
    with file.open("rb") as archive:
        if archive.read(len(MAGIC)) != MAGIC:
            raise ArchiveTrouble("it is no Debian package")
        while len(header := archive.read(60)) == 60:
            name, size = header[:16].rstrip(b" /"), header[48:58].strip()
            if not size.isdigit():
                break
            if name.startswith(b"data.tar"):
                return io.BytesIO(archive.read(int(size)))
            archive.seek(int(size) + int(size) % 2, io.SEEK_CUR)
    raise ArchiveTrouble("it is a Debian package without files")
