"""Pinned lists of packages as read-only layers, installed once per list. No package's code is run.

pip takes wheels only and unpacks them, and the list must name all that they need; npm runs no scripts;
Debian packages are unpacked without theirs.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Dependencies
from orchestrator.errors import AuthoringError
from orchestrator.tasks.aptsource import fetch_packages, machine_suite
from orchestrator.tasks.archives import ArchiveTrouble, tar_entries
from orchestrator.tasks.clients import HERE, HOST, Clients, last_line
from orchestrator.tasks.downloads import SourceUnavailable, digest
from orchestrator.tasks.hostfiles import folder_entries
from orchestrator.tasks.interpreter import HOST_PYTHON, Interpreter
from orchestrator.tasks.memo import Memo
from orchestrator.tasks.place import Place
from orchestrator.tasks.releases import ReleaseMissing
from orchestrator.tasks.wheels import wheel_entries
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import DEFAULT_PATH, Entry, Layer


@dataclass(frozen=True)
class Room:
    """What decides besides the list, and whose clients fetch."""

    suite: str
    """Of the Debian in it."""
    lists: Path
    """Where apt's lists are kept."""
    python: Interpreter
    clients: Clients
    project: str = ""
    """The release that the task is about, which the work tree brings."""


@dataclass(frozen=True)
class Kind:
    """How one list is installed and found."""

    target: str
    """Where the layer lies in the room."""
    env: Mapping[str, str]
    """Search paths to append."""
    fetch: Callable[[Sequence[str], Path, Room], tuple[Iterator[Entry], dict[str, str]]]
    """(list, an empty folder, the room it is for) -> files, and what was installed. Raises _Refused,
    ReleaseMissing and SourceUnavailable."""


@dataclass(frozen=True)
class Installed:
    """A task's lists, ready for every room of it."""

    layers: tuple[Layer, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was installed, by package: version and SHA-256 of its file."""


def install(
    wanted: Dependencies,
    store: TreeStore,
    place: Place,
    clients: Clients = HOST,
    python: Callable[[], Interpreter] = lambda: HOST_PYTHON,
) -> Installed:
    """The layers of a task's lists. `python` tells the room's own, for which wheels are taken; it is asked
    only where there are any. Raises AuthoringError (no such package) and SourceUnavailable.
    """
    layers: list[Layer] = []
    env: dict[str, str] = {}
    facts: dict[str, str] = {}
    for name, kind in KINDS.items():
        items: tuple[str, ...] = getattr(wanted, name)
        if items:
            fitting = python() if name == "pip" else HOST_PYTHON
            answer = _installed(name, kind, items, store, place, clients, fitting)
            tree = answer["tree"]
            layers.append(Layer(tree, kind.target, lambda tree=tree: store.entries(tree)))  # type: ignore[misc]
            env |= {key: _joined(env.get(key), value) for key, value in kind.env.items()}
            facts |= {f"{name}:{package}": fact for package, fact in answer["facts"].items()}
            facts |= {f"{name}_fetched": answer["by"]} if answer.get("by") else {}
    return Installed(tuple(layers), env, facts)


def merged(own: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """A task's env with search paths appended to its own.

    >>> merged({"PYTHONPATH": "/workspace"}, {"PYTHONPATH": "/opt/deps/python"})
    {'PYTHONPATH': '/workspace:/opt/deps/python'}
    """
    first = {"PATH": DEFAULT_PATH} if "PATH" in added else {}
    whole = {**first, **own}
    return {**whole, **{key: _joined(whole.get(key), value) for key, value in added.items()}}


def _joined(first: str | None, second: str) -> str:
    return f"{first}:{second}" if first else second


class _Refused(Exception):
    """The list cannot be installed as it is written."""


class _Incomplete(Exception):
    """The packages need others that the list does not name; the arguments say which, a sentence each."""


def _installed(
    name: str,
    kind: Kind,
    items: Sequence[str],
    store: TreeStore,
    place: Place,
    clients: Clients,
    python: Interpreter,
) -> dict[str, Any]:
    recipe = place.task.environment.debian if place.task.environment else None
    lists = store.folder.parent / "downloads" / "apt"
    project = getattr(place.task.source, "package", "") if name == "pip" else ""
    room = Room(recipe.suite if recipe else machine_suite(), lists, python, clients, project)

    def work() -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="proctor-deps-") as folder:
            try:
                entries, facts = kind.fetch(items, Path(folder), room)
                return {"tree": store.add(entries), "facts": facts, "by": clients.told()}
            except _Incomplete as lacking:
                wrong = [place.wrong(f"dependencies.{name}", said, "add it, pinned") for said in lacking.args]
                raise AuthoringError([problem for error in wrong for problem in error.problems]) from None
            except (_Refused, ReleaseMissing, ArchiveTrouble, ValueError, zipfile.BadZipFile) as refused:
                hint = "pin each as " + ("name==version" if name == "pip" else "its registry lists it")
                raise place.wrong(f"dependencies.{name}", str(refused), hint) from refused

    fitting: Mapping[str, list[Any]] = {"pip": [3, python.version, python.platforms], "apt": [2, room.suite]}
    return Memo(store).get(["dependencies", name, sorted(items), *fitting.get(name, [2])], work)


def _pip(items: Sequence[str], folder: Path, room: Room) -> tuple[Iterator[Entry], dict[str, str]]:
    from orchestrator.tasks.requirements import (
        unmet,
    )  # loads packaging: only when something is fetched at all

    words = ["download", "--no-deps", "--quiet", *room.python.options, "--dest", HERE]
    done = room.clients.call("pip", [*words, "--", *items], folder)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace")
        if "No matching distribution" in said and "connection" not in said.lower():
            raise _Refused(f"pip finds no wheel: {last_line(done).removeprefix('ERROR: ')}")
        raise SourceUnavailable(f"pip could not fetch the dependencies: {last_line(done)}")
    wheels = sorted(folder.glob("*.whl"))
    lacking = unmet(wheels, room.python, [room.project] if room.project else [], items)
    if lacking:
        raise _Incomplete(*lacking)
    facts = {wheel.name: f"sha256:{digest(wheel)}" for wheel in wheels}
    return (entry for wheel in wheels for entry in wheel_entries(wheel)), facts


def _npm(items: Sequence[str], folder: Path, room: Room) -> tuple[Iterator[Entry], dict[str, str]]:
    flags = ["--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--no-update-notifier"]
    (folder / "package.json").write_text("{}")
    done = room.clients.call("npm", ["install", *flags, "--prefix", HERE, *items], folder)
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace")
        if any(code in words for code in ("E404", "ETARGET", "EINVALIDTAGNAME")):
            raise _Refused(f"npm finds no such package among {', '.join(items)}")
        raise SourceUnavailable(f"npm could not fetch the dependencies: {last_line(done)}")
    listing = folder / "node_modules" / ".package-lock.json"
    packages = json.loads(listing.read_text()).get("packages", {})
    facts = {
        path.removeprefix("node_modules/"): f"{facts.get('version')} {facts.get('integrity', '')}".strip()
        for path, facts in packages.items()
    }
    listing.unlink()
    entries = (
        Entry(b"node_modules/" + e.path, e.mode, e.data) for e in folder_entries(folder / "node_modules")
    )
    return entries, facts


def _apt(items: Sequence[str], folder: Path, room: Room) -> tuple[Iterator[Entry], dict[str, str]]:
    fetch_packages(room.suite, items, room.lists, folder, room.clients)
    files = sorted(folder.glob("*.deb"))
    facts = {file.name: f"sha256:{digest(file)}" for file in files}
    return (entry for file in files for entry in _deb(file)), facts


def _deb(file: Path) -> Iterator[Entry]:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE) as unpacker:
        assert unpacker.stdout is not None
        yield from tar_entries(unpacker.stdout)
        unpacker.stdout.read()
    if unpacker.returncode:
        raise _Refused(f"{file.name} cannot be unpacked")


KINDS: Mapping[str, Kind] = {
    "pip": Kind("/opt/deps/python", {"PYTHONPATH": "/opt/deps/python", "PATH": "/opt/deps/python/bin"}, _pip),
    "npm": Kind(
        "/opt/deps/node",
        {"NODE_PATH": "/opt/deps/node/node_modules", "PATH": "/opt/deps/node/node_modules/.bin"},
        _npm,
    ),
    "apt": Kind(
        "/opt/deps/apt",
        {
            "PATH": "/opt/deps/apt/usr/bin:/opt/deps/apt/usr/sbin:/opt/deps/apt/bin",
            "LD_LIBRARY_PATH": "/opt/deps/apt/usr/lib/x86_64-linux-gnu:/opt/deps/apt/lib/x86_64-linux-gnu"
            ":/opt/deps/apt/usr/lib",
        },
        _apt,
    ),
}
