"""A Debian source package as trees: the upstream files with the patches of its series on top.

The folder `debian` is left out: its patches and its changelog give the answers away. Unpacked and patched in
the tree store; neither dpkg-source nor anything of the package is run.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.documents.benchmark import DebianSource
from orchestrator.tasks.aptsource import fetch_debian
from orchestrator.tasks.archives import ArchiveTrouble, unpack
from orchestrator.tasks.clients import Clients
from orchestrator.tasks.downloads import Downloads, WrongHash
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ReleaseMissing
from orchestrator.worktree import patches
from orchestrator.worktree.globs import matcher
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import EMPTY_TREE, TreeStore
from sandboxes.spec import Entry

_SERIES = b"debian/patches/series"
_TAR = re.compile(r"[^/_]+_[^/_]+?\.(?:(?P<kind>orig|debian)(?:-(?P<part>[A-Za-z0-9-]+))?\.)?tar\.\w+")


def fixed_and_broken(
    source: DebianSource, store: TreeStore, downloads: Downloads, place: Place, clients: Clients
) -> dict[str, str]:
    """{"tree": all patches applied, "broken": the same without the source part of `source.revert`}.

    Raises AuthoringError and SourceUnavailable.
    """
    package = opened(source, store, downloads, place, clients)
    if not source.revert:
        return {"tree": package.tree}
    return {"tree": package.tree, "broken": reverted(source, store, package, place)}


@dataclass(frozen=True)
class Package:
    """A source package, unpacked and patched."""

    tree: str
    """Without its folder `debian`."""
    series: Mapping[str, bytes]
    """Its patches by name, in the order in which they are applied."""
    control: str
    """The text of debian/control."""


def opened(
    source: DebianSource, store: TreeStore, downloads: Downloads, place: Place, clients: Clients
) -> Package:
    """Raises AuthoringError and SourceUnavailable."""
    files = _files(source, downloads, place, clients)
    try:
        tree = store.add(_unpacked(files, place))
    except ArchiveTrouble as trouble:
        raise place.wrong("source.package", f"{source.package} {source.version}: {trouble}") from trouble
    series = {name: _patch(store, tree, name, place) for name in _series(store, tree, place)}
    for name, patch in series.items():
        tree = _patched(store, tree, name, patch, place)
    control = (store.file(tree, b"debian/control") or b"").decode("utf-8", "replace")
    return Package(store.overlay(tree, EMPTY_TREE, matcher(["/debian"])), series, control)


def _files(source: DebianSource, downloads: Downloads, place: Place, clients: Clients) -> dict[str, Path]:
    """The package's files by name, each with the hash the task names."""
    fetched: list[tempfile.TemporaryDirectory[str]] = []

    def get(name: str) -> Callable[[Path], None]:
        def copy(into: Path) -> None:
            if not fetched:
                fetched.append(tempfile.TemporaryDirectory(prefix="proctor-debian-"))
                folder = Path(fetched[0].name)
                lists = downloads.folder / "apt"
                fetch_debian(source.suite, source.package, source.version, lists, folder, clients)
            file = Path(fetched[0].name) / name
            if not file.is_file():
                raise ReleaseMissing(f"{source.package} {source.version} has no file {name}")
            into.write_bytes(file.read_bytes())

        return copy

    try:
        return {name: downloads.file(sha256, get(name)) for name, sha256 in source.sha256.items()}
    except ReleaseMissing as missing:
        raise place.wrong("source.version", str(missing)) from missing
    except WrongHash as wrong:
        message = (
            f"a file of {source.package} {source.version} has the hash {wrong.seen}, not {wrong.expected}"
        )
        hint = "check where it comes from before you write the new hash"
        raise place.wrong("source.sha256", message, hint) from wrong
    finally:
        for folder in fetched:
            folder.cleanup()


def _unpacked(files: Mapping[str, Path], place: Place) -> Iterator[Entry]:
    """Upstream's files, then Debian's folder, which replaces one that upstream may bring."""
    tars = {name: found for name in files if (found := _TAR.fullmatch(name))}
    kinds = {found["kind"] for found in tars.values()}
    if not (kinds == {None} or {"orig", "debian"} <= kinds):
        names = ", ".join(sorted(files))
        raise place.wrong("source.sha256", f"an .orig.tar and a .debian.tar are needed, there are: {names}")
    for name, found in tars.items():
        under = (
            b"debian/"
            if found["kind"] == "debian"
            else f"{found['part']}/".encode()
            if found["part"]
            else b""
        )
        for entry in unpack(files[name]):
            if under or found["kind"] is None or not entry.path.startswith(b"debian/"):
                yield Entry(under + entry.path, entry.mode, entry.data)


def _series(store: TreeStore, tree: str, place: Place) -> list[str]:
    """The names of the patches, in the order in which they are applied."""
    lines = (store.file(tree, _SERIES) or b"").decode("utf-8", "replace").splitlines()
    names = []
    for line in lines:
        words = line.partition("#")[0].split()
        if words[1:] and words[1:] != ["-p1"]:
            raise place.wrong("source.package", f"its patch {words[0]} is applied with {' '.join(words[1:])}")
        names += words[:1]
    return names


def _patched(store: TreeStore, tree: str, name: str, patch: bytes, place: Place) -> str:
    try:
        return store.apply(tree, patch)
    except PatchError as error:
        raise place.wrong("source.package", f"its patch {name} does not apply: {error}") from error


def reverted(source: DebianSource, store: TreeStore, package: Package, place: Place) -> str:
    """The tree without the source part of the named patches, the last of the series taken out first.

    Raises AuthoringError.
    """
    tree, series = package.tree, package.series
    kept = matcher((*source.keep, "/debian"))
    for name in source.revert:
        if name not in series:
            known = ", ".join(series) or "none"
            raise place.wrong("source.revert", f"the package has no patch {name}; it has: {known}")
    for name in sorted(source.revert, key=list(series).index, reverse=True):
        touched = patches.read(series[name]).touched
        left = [path for path in touched if kept(path)]
        if len(left) == len(touched):
            raise place.wrong("source.revert", f"the patch {name} touches only what is kept")
        try:
            tree = store.apply(tree, series[name], reverse=True, leave=left)
        except PatchError as error:
            message = f"the patch {name} cannot be taken out: {error}"
            raise place.wrong("source.revert", message, "name the later patches it depends on too") from error
    return tree


def _patch(store: TreeStore, tree: str, name: str, place: Place) -> bytes:
    data = store.file(tree, b"debian/patches/" + name.encode())
    if data is None:
        raise place.wrong("source.package", f"its series names a patch {name} that is not there")
    return data
