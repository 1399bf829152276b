"""One commit of a repository as a tree; its history goes nowhere.

Repositories at hand, and those reached with keys (ssh), are read by this machine's git; others by the clients
that fetch everything else, and what they bring is checked against the commit's own id.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from orchestrator.documents.benchmark import GitSource
from orchestrator.tasks import gitfetch
from orchestrator.tasks.clients import HERE, Clients, last_line
from orchestrator.tasks.downloads import SourceUnavailable
from orchestrator.tasks.fetched import Fetched
from orchestrator.tasks.memo import Memo
from orchestrator.tasks.place import Place
from orchestrator.worktree.trees import TreeStore
from sandboxes.home import users

_TRUSTING = """\
[safe]
\tdirectory = *
[protocol]
\tallow = never
""" + "".join(f'[protocol "{name}"]\n\tallow = always\n' for name in ("file", "git", "http", "https", "ssh"))
"""A repository of another user may be read; helpers that run commands (`ext::`) may not be used."""


def fetched(source: GitSource, store: TreeStore, place: Place, clients: Clients) -> Fetched:
    """Raises AuthoringError (no such repository or ref) and SourceUnavailable. A full commit id is asked for
    once; a branch or tag each time."""
    local = place.root / source.url
    url = str(local.absolute()) if local.exists() else source.url
    remote = url.startswith(("http://", "https://"))

    def work() -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="proctor-clone-") as folder:
            if remote:
                return _brought(url, source.ref, Path(folder), store, place, clients)
            return _cloned(url, source.ref, Path(folder), store, place)

    pinned = len(source.ref) == 40 and not source.ref.strip("0123456789abcdef")
    answer = Memo(store).get(["git", 1, url, source.ref], work) if pinned else work()
    by = {"source_fetched": answer["by"]} if answer.get("by") else {}
    return Fetched(answer["tree"], None, {"source": f"commit:{answer['commit']}", **by})


def _brought(
    url: str, ref: str, folder: Path, store: TreeStore, place: Place, clients: Clients
) -> dict[str, str]:
    """The commit as the clients fetch it."""
    errand = folder / "errand"
    errand.mkdir()
    shutil.copyfile(gitfetch.__file__, errand / "gitfetch.py")
    done = clients.call("python", [f"{HERE}/gitfetch.py", url, ref, HERE], errand)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        raise SourceUnavailable(f"{url} cannot be fetched: {last_line(done)}") from None
    if "commit" not in said:
        raise _failure(url, ref, said.get("problem", ""), place)
    clone = TreeStore(folder / "clone")
    _git(clone, ["fetch", "--quiet", "--no-tags", "--", str(errand / "bundle"), "refs/heads/alone"], folder)
    tree = clone.repository.run(["rev-parse", "FETCH_HEAD^{tree}"]).stdout.decode().strip()
    _verify(said["commit"], tree, (errand / "commit").read_bytes())
    return {"tree": store.add(clone.entries("FETCH_HEAD")), "commit": said["commit"], "by": clients.told()}


def _verify(commit: str, tree: str, content: bytes) -> None:
    """Raise SourceUnavailable unless `content` is the commit `commit`, and its files are `tree`."""
    kind = hashlib.sha1 if len(commit) == 40 else hashlib.sha256
    seen = kind(b"commit %d\0" % len(content) + content).hexdigest()
    if seen != commit or not content.startswith(f"tree {tree}\n".encode()):
        raise SourceUnavailable(f"what was fetched is not the commit {commit}")


def _git(clone: TreeStore, words: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    trusting = folder / "gitconfig"
    trusting.write_text(_TRUSTING)
    env = {"GIT_CONFIG_GLOBAL": str(trusting), "HOME": str(users() or folder)}
    return clone.repository.run(words, env=env, check=False)


def _cloned(url: str, ref: str, folder: Path, store: TreeStore, place: Place) -> dict[str, str]:
    """One commit's tree, by way of a repository that is thrown away with all history in it."""
    clone = TreeStore(folder / "clone")
    problem = ""
    for depth in (["--depth=1"], []):
        wanted = [ref] if depth else ["+refs/*:refs/all/*"]
        command = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *depth, "--", url, *wanted]
        try:
            done = _git(clone, command, folder)
        except subprocess.TimeoutExpired as slow:
            raise SourceUnavailable(f"{url} could not be fetched in {slow.timeout:g} s") from slow
        if done.returncode and (trouble := clone.repository.lacking(done.stderr)):
            raise trouble
        problem = problem or done.stderr.decode("utf-8", "replace").strip()
        for name in ["FETCH_HEAD"] if depth else [ref, f"refs/all/heads/{ref}", f"refs/all/tags/{ref}"]:
            found = clone.repository.run(["rev-parse", "--verify", "-q", f"{name}^{{commit}}"], check=False)
            if done.returncode == 0 and found.returncode == 0:
                commit = found.stdout.decode().strip()
                return {"tree": store.add(clone.entries(commit)), "commit": commit}
    raise _failure(url, ref, problem, place)


_NO_REPOSITORY = ("does not appear to be a git repository", "does not exist", "invalid gitfile format")


def _failure(url: str, ref: str, problem: str, place: Place) -> Exception:
    """A ref or a folder that is not there is the author's; the rest is the network's."""
    if any(word in problem for word in ("Could not resolve", "timed out", "Connection", "unable to access")):
        return SourceUnavailable(f"{url} cannot be fetched: {problem.splitlines()[-1]}")
    if any(word in problem for word in _NO_REPOSITORY):
        return place.wrong("source.url", f"{url} is no git repository")
    lines = problem.splitlines() or ["git says nothing"]
    # Below the cause git adds advice of several lines.
    cause = next((line for line in lines if line.startswith("fatal: ")), lines[-1])
    return place.wrong("source.ref", f"{url} has no commit {ref!r} ({cause})")
