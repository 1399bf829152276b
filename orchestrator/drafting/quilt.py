"""A Debian source package as both states of a draft: with all its patches, and without some of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from orchestrator.documents.benchmark import Benchmark, DebianSource, Task
from orchestrator.drafting.origin import Pair
from orchestrator.drafting.split import NATIVE, is_source, is_test
from orchestrator.drafting.wanted import Patches
from orchestrator.errors import AuthoringError
from orchestrator.tasks import debian
from orchestrator.tasks.aptsource import fetch_debian, machine_suite
from orchestrator.tasks.clients import Clients
from orchestrator.tasks.downloads import Downloads, digest
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ReleaseMissing
from orchestrator.worktree import patches
from orchestrator.worktree.trees import TreeStore


@dataclass(frozen=True)
class Quilt:
    """The package, and ways to break it."""

    wanted: Patches
    source: DebianSource
    package: debian.Package
    store: TreeStore
    place: Place

    @property
    def candidates(self) -> tuple[tuple[str, ...], ...]:
        """What may be taken out: the patches that were named, or one that changes source. Those that bring
        tests come first, then the newest."""
        if self.wanted.patches:
            return (self.wanted.patches,)
        touched = {name: _touched(data) for name, data in self.package.series.items()}
        fitting = [name for name, paths in touched.items() if any(is_source(p, NATIVE) for p in paths)]
        newest = fitting[::-1]
        newest.sort(key=lambda name: not any(is_test(path) for path in touched[name]))
        return tuple((name,) for name in newest)

    def pair(self, wanted: Patches) -> Pair:
        """Both states. Raises AuthoringError when the patches cannot be taken out."""
        source = self.source.model_copy(update={"revert": wanted.patches})
        try:
            broken = debian.reverted(source, self.store, self.package, self.place)
        except AuthoringError as error:
            raise AuthoringError(error.problems[0].message) from error
        facts = {
            "kind": "debian",
            "package": source.package,
            "version": source.version,
            "suite": source.suite,
            "sha256": dict(source.sha256),
            "revert": source.revert,
        }
        tree = self.package.tree
        touched = [p for name in wanted.patches for p in _touched(self.package.series[name]) if is_test(p)]
        return Pair(wanted, self.store, tree, broken, facts, self.package.control, tuple(touched))


def fetch(wanted: Patches, home: Path, folder: Path, clients: Clients) -> Quilt:
    """Raises AuthoringError (no such package, or one that cannot be used) and SourceUnavailable."""
    store, downloads = TreeStore(home / "trees"), Downloads(home / "downloads")
    place = Place(Benchmark(id="draft", version="1.0", tasks=(), root=folder), Task(id="draft"))
    suite = machine_suite()
    hashes = _kept(wanted, suite, downloads, clients)
    facts = {"package": wanted.package, "version": wanted.version, "suite": suite, "sha256": hashes}
    source = DebianSource(kind="debian", **facts)
    try:
        package = debian.opened(source, store, downloads, place, clients)
    except AuthoringError as error:
        raise AuthoringError(error.problems[0].message) from error
    return Quilt(wanted, source, package, store, place)


def _kept(wanted: Patches, suite: str, downloads: Downloads, clients: Clients) -> dict[str, str]:
    """The package's archives by name and hash, kept under it: nobody has said yet which they must have."""
    with tempfile.TemporaryDirectory(prefix="proctor-draft-") as name:
        try:
            lists = downloads.folder / "apt"
            fetch_debian(suite, wanted.package, wanted.version, lists, Path(name), clients)
        except ReleaseMissing as missing:
            raise AuthoringError(str(missing)) from missing
        found = {}
        for file in sorted(Path(name).glob("*.tar.*")):
            if not file.name.endswith(".asc"):
                found[file.name] = digest(file)
                downloads.file(found[file.name], lambda into, file=file: _copy(file, into))  # type: ignore[misc]
        return found


def _copy(file: Path, into: Path) -> None:
    into.write_bytes(file.read_bytes())


def _touched(data: bytes) -> tuple[str, ...]:
    return tuple(path.decode("utf-8", "replace") for path in patches.read(data).touched)
