"""Where a task's files come from. Each kind ends as a tree; nothing of a source is executed."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
from orchestrator.tasks import debian
from orchestrator.tasks.archives import ArchiveTrouble, unpack
from orchestrator.tasks.downloads import Downloads, SourceUnavailable, WrongHash
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


@dataclass(frozen=True)
class Fetched:
    """A source as trees."""

    tree: str
    broken: str | None = None
    """Of a release pair: `tree` with the swapped paths as in the broken release. Of a Debian package: without
    the patches to revert."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was fetched, for the records: commit, hashes."""


def fetch(source: Source | None, store: TreeStore, downloads: Path, place: Place) -> Fetched:
    """The source's trees. What has a fixed content (a full commit id, an archive, a release) is fetched
    once and needs no network afterwards.

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
                return _git(source, store, place)
            case ArchiveSource():
                return _archive(source, store, Downloads(downloads), place)
            case ReleasePairSource():
                return _release_pair(source, store, Downloads(downloads), place)
            case DebianSource():
                return _debian(source, store, Downloads(downloads), place)
    except BadName as bad:
        raise place.wrong("source", f"it holds a name that cannot be kept: {bad}") from bad


def _path(source: PathSource, store: TreeStore, place: Place) -> Fetched:
    """The folder as it is now. A content that the store has seen is not put into it again."""
    folder = place.root / source.path
    seen = hashlib.sha256()
    try:
        for _ in _digested(folder_entries(folder), seen):
            pass
        digest = seen.hexdigest()

        def work() -> dict[str, str]:
            again = hashlib.sha256()
            tree = store.add(_digested(folder_entries(folder), again))
            if again.hexdigest() != digest:
                raise place.wrong("source.path", f"{source.path} changed while it was read", "run it again")
            return {"tree": tree}

        return Fetched(Memo(store).get(["path", 1, digest], work)["tree"])
    except OSError as error:
        message = f"cannot read the folder {source.path}: {error.strerror}"
        raise place.wrong("source.path", message, "paths are relative to the benchmark's folder") from error


def _digested(entries: Iterable[Entry], digest: Digest) -> Iterator[Entry]:
    """`entries` as they pass by, each of them counted in `digest`."""
    for entry in entries:
        digest.update(b"%o %d %d " % (entry.mode, len(entry.path), len(entry.data)))
        digest.update(entry.path + entry.data)
        yield entry


def _archive(source: ArchiveSource, store: TreeStore, downloads: Downloads, place: Place) -> Fetched:
    name = source.path or source.url or ""
    field_name = "source.path" if source.path else "source.url"

    def get(into: Path) -> None:
        if source.path:
            into.write_bytes(place.read("source.path", source.path))
        else:
            _download(source.url or "", into, place)

    def work() -> dict[str, str]:
        try:
            return {"tree": store.add(unpack(downloads.file(source.sha256, get)))}
        except WrongHash as wrong:
            raise _wrong_hash(place, "source.sha256", name, wrong) from wrong
        except ArchiveTrouble as trouble:
            raise place.wrong(field_name, f"{name}: {trouble}") from trouble

    answer = Memo(store).get(["archive", 1, source.sha256], work)
    return Fetched(answer["tree"], None, {"source": f"sha256:{source.sha256}"})


def _download(url: str, into: Path, place: Place) -> None:
    import urllib.error
    import urllib.parse
    import urllib.request  # brings ssl: a twentieth of a second that most runs do not need

    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise place.wrong("source.url", f"{url} is not an http or https address")
    try:
        with urllib.request.urlopen(url, timeout=FETCH_TIMEOUT) as answer, into.open("wb") as file:
            while chunk := answer.read(1 << 20):
                file.write(chunk)
    except urllib.error.HTTPError as error:
        if error.code in (404, 410):
            raise place.wrong("source.url", f"{url} is not there ({error.code})") from error
        raise SourceUnavailable(f"{url}: {error}") from error
    except OSError as error:
        raise SourceUnavailable(f"{url} cannot be fetched: {error}") from error


def _release_pair(source: ReleasePairSource, store: TreeStore, downloads: Downloads, place: Place) -> Fetched:
    def one(side: str, version: str, sha256: str) -> str:
        get = ECOSYSTEMS[source.ecosystem]
        try:
            file = downloads.file(sha256, lambda into: get(source.package, version, into))
            return store.add(unpack(file))
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
        return {"fixed": fixed, "broken": broken}

    answer = Memo(store).get(["release_pair", 1, source.model_dump(mode="json")], work)
    hashes = {"source_fixed": source.sha256.fixed, "source_broken": source.sha256.broken}
    return Fetched(answer["fixed"], answer["broken"], {k: f"sha256:{v}" for k, v in hashes.items()})


def _debian(source: DebianSource, store: TreeStore, downloads: Downloads, place: Place) -> Fetched:
    def work() -> dict[str, str]:
        return debian.fixed_and_broken(source, store, downloads, place)

    answer = Memo(store).get(["debian", 1, source.model_dump(mode="json")], work)
    facts = {f"source_{name}": f"sha256:{sha256}" for name, sha256 in source.sha256.items()}
    return Fetched(answer["tree"], answer.get("broken"), facts)


def _swapped(source: ReleasePairSource) -> Callable[[bytes], bool]:
    below = matcher("/" + prefix.strip("/") for prefix in source.swap)
    kept = matcher(source.keep)
    return lambda path: below(path) and not kept(path)


def _wrong_hash(place: Place, path: str, what: str, wrong: WrongHash) -> Exception:
    message = f"{what} has the hash {wrong.seen}, not {wrong.expected}"
    return place.wrong(path, message, "check where it comes from before you write the new hash")


# Git ------------------------------------------------------------------------------------------------------


_TRUSTING = """\
[safe]
\tdirectory = *
[protocol]
\tallow = never
""" + "".join(f'[protocol "{name}"]\n\tallow = always\n' for name in ("file", "git", "http", "https", "ssh"))
"""A repository of another user may be read; helpers that run commands (`ext::`) may not be used."""


def _git(source: GitSource, store: TreeStore, place: Place) -> Fetched:
    local = place.root / source.url
    url = str(local.absolute()) if local.exists() else source.url

    def work() -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="proctor-clone-") as folder:
            return _cloned(url, source.ref, Path(folder), store, place)

    pinned = len(source.ref) == 40 and not source.ref.strip("0123456789abcdef")
    answer = Memo(store).get(["git", 1, url, source.ref], work) if pinned else work()
    return Fetched(answer["tree"], None, {"source": f"commit:{answer['commit']}"})


def _cloned(url: str, ref: str, folder: Path, store: TreeStore, place: Place) -> dict[str, str]:
    """One commit's tree, by way of a repository that is thrown away with all history in it."""
    clone = TreeStore(folder / "clone")
    trusting = folder / "gitconfig"
    trusting.write_text(_TRUSTING)
    env = {"GIT_CONFIG_GLOBAL": str(trusting), "HOME": str(Path.home())}
    problem = ""
    for depth in (["--depth=1"], []):
        wanted = [ref] if depth else ["+refs/*:refs/all/*"]
        command = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *depth, "--", url, *wanted]
        try:
            done = clone.repository.run(command, env=env, check=False)
        except subprocess.TimeoutExpired as slow:
            raise SourceUnavailable(f"{url} could not be fetched in {slow.timeout:g} s") from slow
        problem = problem or done.stderr.decode("utf-8", "replace").strip()
        for name in ["FETCH_HEAD"] if depth else [ref, f"refs/all/heads/{ref}", f"refs/all/tags/{ref}"]:
            found = clone.repository.run(["rev-parse", "--verify", "-q", f"{name}^{{commit}}"], check=False)
            if done.returncode == 0 and found.returncode == 0:
                commit = found.stdout.decode().strip()
                return {"tree": store.add(clone.entries(commit)), "commit": commit}
    raise _git_failure(url, ref, problem, place)


def _git_failure(url: str, ref: str, problem: str, place: Place) -> Exception:
    """A ref or a folder that is not there is the author's; the rest is the network's."""
    if any(word in problem for word in ("Could not resolve", "timed out", "Connection", "unable to access")):
        return SourceUnavailable(f"{url} cannot be fetched: {problem.splitlines()[-1]}")
    if "does not appear to be a git repository" in problem or "does not exist" in problem:
        return place.wrong("source.url", f"{url} is no git repository")
    last = problem.splitlines()[-1] if problem else "git says nothing"
    return place.wrong("source.ref", f"{url} has no commit {ref!r} ({last})")
