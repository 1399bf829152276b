"""Where a task's files come from. Each kind ends as a tree; nothing of a source is executed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol

from orchestrator.documents.benchmark import (
    ArchiveSource,
    DebianSource,
    GitSource,
    PathSource,
    ReleasePairSource,
    Source,
)
from orchestrator.tasks import debian, debs, gits
from orchestrator.tasks.archives import ArchiveTrouble, unpack
from orchestrator.tasks.clients import HERE, HOST, Clients, last_line
from orchestrator.tasks.downloads import Downloads, SourceUnavailable, WrongHash
from orchestrator.tasks.fetched import Fetched
from orchestrator.tasks.hostfiles import folder_entries
from orchestrator.tasks.memo import Memo
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ECOSYSTEMS, ReleaseMissing
from orchestrator.worktree.globs import matcher
from orchestrator.worktree.trees import EMPTY_TREE, BadName, TreeStore
from sandboxes.spec import Entry

__all__ = ["Fetched", "SourceUnavailable", "fetch"]

FETCH_TIMEOUT = 600.0
"""Seconds one download or clone may take."""


class Digest(Protocol):
    """What hashlib makes."""

    def update(self, data: bytes, /) -> None: ...


def fetch(
    source: Source | None, store: TreeStore, downloads: Path, place: Place, clients: Clients = HOST
) -> Fetched:
    """The source's trees. What has a fixed content (a full commit id, an archive, a release) is fetched
    once, by `clients`, and needs no network afterwards.

    Raises AuthoringError (no such folder, ref or release; a wrong hash; an archive that cannot be used) and
    SourceUnavailable (the network or the tool is not there).
    """
    try:
        match source:
            case None:
                return Fetched(EMPTY_TREE)
            case PathSource():
                return _path(source, store, place)
            case GitSource():
                return gits.fetched(source, store, place, clients)
            case ArchiveSource():
                return _archive(source, store, Downloads(downloads), place, clients)
            case ReleasePairSource():
                return _release_pair(source, store, Downloads(downloads), place, clients)
            case DebianSource():
                return _debian(source, store, Downloads(downloads), place, clients)
    except BadName as bad:
        raise place.wrong("source", f"it holds a name that cannot be kept: {bad}") from bad


def _path(source: PathSource, store: TreeStore, place: Place) -> Fetched:
    """The folder as it is now. A content that the store has seen is not put into it again."""
    seen = hashlib.sha256()
    for _ in _digested(_read(source, place), seen):
        pass
    digest = seen.hexdigest()

    def work() -> dict[str, str]:
        again = hashlib.sha256()
        tree = store.add(_digested(_read(source, place), again))
        if again.hexdigest() != digest:
            raise place.wrong("source.path", f"{source.path} changed while it was read", "run it again")
        return {"tree": tree}

    return Fetched(Memo(store).get(["path", 1, digest], work)["tree"])


def _read(source: PathSource, place: Place) -> Iterator[Entry]:
    """The folder's entries. Trouble with it is the author's; trouble with where they are put is not."""
    try:
        yield from folder_entries(place.root / source.path)
    except OSError as error:
        message = f"cannot read the folder {source.path}: {error.strerror}"
        raise place.wrong("source.path", message, "paths are relative to the benchmark's folder") from error


def _digested(entries: Iterable[Entry], digest: Digest) -> Iterator[Entry]:
    """`entries` as they pass by, each of them counted in `digest`."""
    for entry in entries:
        digest.update(b"%o %d %d " % (entry.mode, len(entry.path), len(entry.data)))
        digest.update(entry.path + entry.data)
        yield entry


def _archive(
    source: ArchiveSource, store: TreeStore, downloads: Downloads, place: Place, clients: Clients
) -> Fetched:
    name = source.path or source.url or ""
    field_name = "source.path" if source.path else "source.url"

    def get(into: Path) -> None:
        if source.path:
            into.write_bytes(place.read("source.path", source.path))
        else:
            _download(source.url or "", into, place, clients)

    def work() -> dict[str, str]:
        try:
            tree = store.add(unpack(downloads.file(source.sha256, get)))
            return {"tree": tree, "by": "" if source.path else clients.told()}
        except WrongHash as wrong:
            raise _wrong_hash(place, "source.sha256", name, wrong) from wrong
        except ArchiveTrouble as trouble:
            raise place.wrong(field_name, f"{name}: {trouble}") from trouble

    answer = Memo(store).get(["archive", 1, source.sha256], work)
    return Fetched(answer["tree"], None, {"source": f"sha256:{source.sha256}", **_by(answer)})


def _download(url: str, into: Path, place: Place, clients: Clients) -> None:
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise place.wrong("source.url", f"{url} is not an http or https address")
    with tempfile.TemporaryDirectory(prefix="proctor-url-") as name:
        folder = Path(name)
        shutil.copyfile(Path(__file__).with_name("urlfetch.py"), folder / "urlfetch.py")
        done = clients.call("python", [f"{HERE}/urlfetch.py", url, f"{HERE}/file"], folder)
        said = done.stdout.decode("utf-8", "replace").strip()
        if said in ("404", "410"):
            raise place.wrong("source.url", f"{url} is not there ({said})")
        if done.returncode or said != "200":
            raise SourceUnavailable(f"{url} cannot be fetched: {said or last_line(done)}")
        shutil.move(folder / "file", into)


def _release_pair(
    source: ReleasePairSource, store: TreeStore, downloads: Downloads, place: Place, clients: Clients
) -> Fetched:
    def one(side: str, version: str, sha256: str) -> str:
        in_debian = source.ecosystem == "debian"
        lists = downloads.folder / "apt"
        get = partial(debs.fetch_deb, lists=lists) if in_debian else ECOSYSTEMS[source.ecosystem]
        try:
            file = downloads.file(sha256, lambda into: get(source.package, version, into, clients))
            return store.add(unpack(debs.data_tar(file) if in_debian else file))
        except ReleaseMissing as missing:
            raise place.wrong(f"source.{side}", str(missing)) from missing
        except WrongHash as wrong:
            what = f"{source.package} {version}"
            raise _wrong_hash(place, f"source.sha256.{side}", what, wrong) from wrong
        except ArchiveTrouble as trouble:
            raise place.wrong(f"source.{side}", f"{source.package} {version}: {trouble}") from trouble

    def work() -> dict[str, str]:
        fixed = one("fixed", source.fixed, source.sha256.fixed)
        older = one("broken", source.broken, source.sha256.broken)
        broken = store.overlay(fixed, older, _swapped(source))
        if broken == fixed:
            below = ", ".join(source.swap)
            raise place.wrong("source.swap", f"both releases have the same files below {below}")
        return {"fixed": fixed, "broken": broken, "by": clients.told()}

    answer = Memo(store).get(["release_pair", 1, source.model_dump(mode="json")], work)
    hashes = {"source_fixed": source.sha256.fixed, "source_broken": source.sha256.broken}
    facts = {name: f"sha256:{sha256}" for name, sha256 in hashes.items()}
    return Fetched(answer["fixed"], answer["broken"], facts | _by(answer))


def _by(answer: Mapping[str, str]) -> dict[str, str]:
    """Where it was fetched, as the records have it."""
    return {"source_fetched": answer["by"]} if answer.get("by") else {}


def _debian(
    source: DebianSource, store: TreeStore, downloads: Downloads, place: Place, clients: Clients
) -> Fetched:
    def work() -> dict[str, str]:
        return {**debian.fixed_and_broken(source, store, downloads, place, clients), "by": clients.told()}

    answer = Memo(store).get(["debian", 1, source.model_dump(mode="json")], work)
    facts = {f"source_{name}": f"sha256:{sha256}" for name, sha256 in source.sha256.items()}
    return Fetched(answer["tree"], answer.get("broken"), facts | _by(answer))


def _swapped(source: ReleasePairSource) -> Callable[[bytes], bool]:
    below = matcher("/" + prefix.strip("/") for prefix in source.swap)
    kept = matcher(source.keep)
    return lambda path: below(path) and not kept(path)


def _wrong_hash(place: Place, path: str, what: str, wrong: WrongHash) -> Exception:
    message = f"{what} has the hash {wrong.seen}, not {wrong.expected}"
    return place.wrong(path, message, "check where it comes from before you write the new hash")
