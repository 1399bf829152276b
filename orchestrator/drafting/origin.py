"""Both sides of a draft as trees, fetched as any task's source is."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Benchmark, GitSource, Task
from orchestrator.drafting.wanted import Commits, Releases, Wanted
from orchestrator.errors import AuthoringError
from orchestrator.tasks import sources
from orchestrator.tasks.archives import ArchiveTrouble, unpack
from orchestrator.tasks.clients import HOST, Clients
from orchestrator.tasks.downloads import Downloads, digest
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ECOSYSTEMS, ReleaseMissing
from orchestrator.worktree.trees import TreeStore


@dataclass(frozen=True)
class Pair:
    """The mended state and the faulty one."""

    wanted: Wanted
    store: TreeStore = field(repr=False)
    fixed: str
    broken: str
    source: Mapping[str, Any]
    """The task's `source`, but for what is swapped."""
    control: str = ""
    """debian/control of a Debian package."""
    touched: tuple[str, ...] = ()
    """Paths that belong to what changed although both sides hold them alike: the tests of a patch."""

    @property
    def files(self) -> tuple[str, ...]:
        """Every path of the mended state; a name that is no UTF-8 is left out."""
        return tuple(path for raw in self.store.nodes(self.fixed) if (path := _text(raw)) is not None)

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths that differ between the two, and those that belong to them, sorted."""
        new, old = self.store.nodes(self.fixed), self.store.nodes(self.broken)
        raw = {path for path in new.keys() | old.keys() if new.get(path) != old.get(path)}
        return tuple(sorted({path for r in raw if (path := _text(r)) is not None} | set(self.touched)))

    def text(self, path: str) -> str:
        """A file of the mended state; empty when there is none."""
        data = self.store.file(self.fixed, path.encode())
        return "" if data is None else data.decode("utf-8", "replace")


def fetch(wanted: Releases | Commits, home: Path, folder: Path, clients: Clients = HOST) -> Pair:
    """Raises AuthoringError (no such release or commit, nothing differs) and SourceUnavailable."""
    store = TreeStore(home / "trees")
    if isinstance(wanted, Releases):
        pair = _releases(wanted, store, Downloads(home / "downloads"), clients)
    else:
        pair = _commits(wanted, store, home, folder, clients)
    if pair.fixed == pair.broken:
        raise AuthoringError(f"both sides of {wanted.name} hold the same files")
    return pair


def _releases(wanted: Releases, store: TreeStore, downloads: Downloads, clients: Clients) -> Pair:
    with ThreadPoolExecutor(2) as both:
        versions = (wanted.fixed, wanted.broken)
        fixed, broken = both.map(lambda v: _release(wanted, v, downloads, clients), versions)
    source = {
        "kind": "release_pair",
        "ecosystem": wanted.ecosystem,
        "package": wanted.package,
        "fixed": wanted.fixed,
        "broken": wanted.broken,
        "sha256": {"fixed": fixed.name, "broken": broken.name},
    }
    try:
        return Pair(wanted, store, store.add(unpack(fixed)), store.add(unpack(broken)), source)
    except ArchiveTrouble as trouble:
        raise AuthoringError(f"a release of {wanted.package} cannot be used: {trouble}") from trouble


def _release(wanted: Releases, version: str, downloads: Downloads, clients: Clients) -> Path:
    """The release's archive, kept under its hash: nobody has said yet which one it must have."""
    with tempfile.TemporaryDirectory(prefix="proctor-draft-") as folder:
        part = Path(folder) / "archive"
        try:
            ECOSYSTEMS[wanted.ecosystem](wanted.package, version, part, clients)
        except ReleaseMissing as missing:
            raise AuthoringError(str(missing)) from missing

        def keep(into: Path) -> None:
            into.write_bytes(part.read_bytes())

        return downloads.file(digest(part), keep)


def _commits(wanted: Commits, store: TreeStore, home: Path, folder: Path, clients: Clients) -> Pair:
    local = Path(wanted.url)
    url = str(local.resolve()) if local.exists() else wanted.url
    place = Place(Benchmark(id="draft", version="1.0", tasks=(), root=folder), Task(id="draft"))

    def one(ref: str) -> tuple[str, str]:
        source = GitSource(kind="git", url=url, ref=ref)
        found = sources.fetch(source, store, home / "downloads", place, clients)
        return found.tree, found.facts["source"].removeprefix("commit:")

    try:
        (fixed, commit), (broken, _) = one(wanted.good), one(wanted.bad)
    except AuthoringError as error:
        raise AuthoringError(error.problems[0].message) from error
    return Pair(wanted, store, fixed, broken, {"kind": "git", "url": url, "ref": commit})


def _text(path: bytes) -> str | None:
    try:
        return path.decode()
    except UnicodeDecodeError:
        return None
