"""Node projects: its own test runner or tape, whichever the package's test script names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from orchestrator.drafting import pins
from orchestrator.drafting.origin import Pair
from orchestrator.drafting.sketch import Sketch
from orchestrator.drafting.split import Split
from orchestrator.errors import AuthoringError

SCRIPTS = (".js", ".cjs", ".mjs")
HELPERS = frozenset({"fixtures", "helpers", "helper", "types"})


class NodeProject:
    """One pair's tests."""

    def __init__(self, pair: Pair, split: Split, resolver: pins.Resolver) -> None:
        self._pair = pair
        self._resolver = resolver
        self._split = split
        try:
            self._manifest: dict[str, Any] = json.loads(pair.text("package.json"))
        except ValueError as broken:
            raise AuthoringError(f"package.json of {pair.wanted.name} cannot be read: {broken}") from broken

    def first(self) -> Sketch:
        files = [p for p in self._split.tests if p.endswith(SCRIPTS) and not HELPERS & set(p.split("/"))]
        runner, files = self._run_by(path for path in files if _tests(self._pair.text(path)))
        wanted = dict(self._manifest.get("dependencies", {}))
        if runner == "tape":
            wanted["tape"] = self._manifest.get("devDependencies", {}).get("tape", "*")
        wanted |= self._tests_need(files)
        start = "node --test" if runner == "node" else "tape"
        return Sketch(f"{start} {shlex.join(files)}", {}, {"npm": self._resolver.npm(wanted)})

    def mended(self, sketch: Sketch, output: str, end: str) -> Sketch | None:
        """Fewer files when it took too long; else nothing is known to help."""
        changed = [p for p in self._split.changed_tests if p.endswith(SCRIPTS)]
        if end != "limit_hit:time" or not changed:
            return None
        start = "node --test" if sketch.command.startswith("node") else "tape"
        command = f"{start} {shlex.join(changed)}"
        return replace(sketch, command=command) if command != sketch.command else None

    def _run_by(self, files: Iterable[str]) -> tuple[str, list[str]]:
        """The runner that most test files load, and those files."""
        found: dict[str, list[str]] = {"node": [], "tape": []}
        for path in files:
            loaded = _loaded(self._pair.text(path))
            if loaded & {"node:test", "test"}:
                found["node"].append(path)
            elif "tape" in loaded:
                found["tape"].append(path)
        runner = max(found, key=lambda name: len(found[name]))
        if found[runner]:
            return runner, found[runner]
        script = self._manifest.get("scripts", {}).get("test", "")
        hint = f" (its own script is {script!r})" if script else ""
        raise AuthoringError(f"no reader knows the test runner of {self._pair.wanted.name}{hint}")

    def _tests_need(self, files: list[str]) -> dict[str, str]:
        """Packages that the tests load and the manifest lists for development."""
        listed: dict[str, str] = self._manifest.get("devDependencies", {})
        loaded = {name for path in files for name in _loaded(self._pair.text(path))}
        return {name: version for name, version in listed.items() if name in loaded}


def _loaded(text: str) -> set[str]:
    """Packages a script loads.

    >>> sorted(_loaded("const t = require('tape/x'); import a from '@s/b'; require('./c')"))
    ['@s/b', 'tape']
    """
    found = re.findall(r"""(?:require\(|from|import)\s*['"]([^'".][^'"]*)['"]""", text)
    return {"/".join(name.split("/")[: 2 if name.startswith("@") else 1]) for name in found}


def _tests(text: str) -> bool:
    return bool(re.search(r"\b(?:test|it|describe)\s*(?:\.\w+\s*)?\(", text))
