"""From what a package asks for to exact versions, as its registry's own client resolves them.

Nothing is built, installed or run.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
