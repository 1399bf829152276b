"""From what a package asks for to exact versions, as its registry's own client resolves them.

Nothing is built, installed or run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from orchestrator.errors import AuthoringError
from orchestrator.tasks.clients import HERE, HOST, Clients, last_line
from orchestrator.tasks.interpreter import HOST_PYTHON, Interpreter


@dataclass(frozen=True)
class Resolved:
    pins: tuple[str, ...]
    """name==version, sorted."""
    metadata: Mapping[str, Sequence[str]]
    """Canonical name -> its Requires-Dist lines."""


class Resolver:
    """Asks the registries for one draft; each question once, also when it was begun ahead of time."""

    def __init__(self, clients: Clients = HOST, python: Interpreter = HOST_PYTHON) -> None:
        self._clients = clients
        self._python = python
        self._asked: dict[tuple[object, ...], Future[Resolved]] = {}
        self._pool = ThreadPoolExecutor(2)

    def pip(self, wanted: Iterable[str], *, alone: bool = False) -> Resolved:
        """See `pip`."""
        return self.begin(wanted, alone=alone).result()

    def npm(self, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """See `npm`."""
        return npm(wanted, self._clients)

    def begin(self, wanted: Iterable[str], *, alone: bool = False) -> Future[Resolved]:
        """Ask pip beside everything else."""
        words = tuple(sorted(set(wanted)))
        if (words, alone) not in self._asked:
            ask = partial(pip, words, alone=alone, clients=self._clients, python=self._python)
            self._asked[words, alone] = self._pool.submit(ask)
        return self._asked[words, alone]

    def close(self) -> None:
        """Wait for what was begun."""
        self._pool.shutdown()


def pip(
    wanted: Iterable[str],
    *,
    alone: bool = False,
    clients: Clients = HOST,
    python: Interpreter = HOST_PYTHON,
) -> Resolved:
    """What pip would install from wheels for these requirements; `alone` leaves out what they require.

    Raises AuthoringError when it finds none.
    """
    words = ["install", "--dry-run", "--ignore-installed", "--quiet", *python.options]
    words += ["--no-deps"] if alone else []
    with tempfile.TemporaryDirectory(prefix="proctor-pins-") as folder:
        report = Path(folder) / "report.json"
        words += ["--target", HERE, "--report", f"{HERE}/report.json", "--", *sorted(set(wanted))]
        done = clients.call("pip", words, Path(folder))
        if done.returncode or not report.exists():
            raise AuthoringError(f"pip cannot resolve the dependencies: {last_line(done)}")
        found = [item["metadata"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]]
    pins = sorted((f"{m['name']}=={m['version']}" for m in found), key=str.lower)
    return Resolved(tuple(pins), {canonicalize_name(m["name"]): m.get("requires_dist") or () for m in found})


def declared(lines: Iterable[str]) -> dict[str, str]:
    """Every requirement of the lines, those of extras too, without its condition: canonical name -> text.

    >>> declared(["six >=1.9", 'tinycss2 <1.3,>=1.1 ; extra == "css"'])
    {'six': 'six>=1.9', 'tinycss2': 'tinycss2<1.3,>=1.1'}
    """
    found: dict[str, str] = {}
    for line in lines:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        found[canonicalize_name(wanted.name)] = f"{wanted.name}{wanted.specifier}"
    return found


def without(pins: Iterable[str], name: str) -> tuple[str, ...]:
    """The pins without a package itself."""
    own = canonicalize_name(name)
    return tuple(pin for pin in pins if canonicalize_name(pin.partition("==")[0]) != own)


def npm(wanted: Mapping[str, str], clients: Clients = HOST) -> tuple[str, ...]:
    """name@version of all that npm would put at the top of a node_modules folder. Raises AuthoringError."""
    if not wanted:
        return ()
    with tempfile.TemporaryDirectory(prefix="proctor-pins-") as folder:
        Path(folder, "package.json").write_text(json.dumps({"dependencies": dict(wanted)}))
        words = ["install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = clients.call("npm", words, Path(folder))
        lock = Path(folder, "package-lock.json")
        if done.returncode or not lock.exists():
            raise AuthoringError(f"npm cannot resolve the dependencies: {last_line(done)}")
        packages: dict[str, Any] = json.loads(lock.read_text(encoding="utf-8")).get("packages", {})
    top = {path.removeprefix("node_modules/"): facts for path, facts in packages.items() if path}
    pinned = {n: f["version"] for n, f in top.items() if "version" in f and not f.get("optional")}
    return tuple(
        sorted(f"{name}@{version}" for name, version in pinned.items() if "node_modules/" not in name)
    )
