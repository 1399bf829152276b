"""From proctor.yaml to a `Config`: the named sandbox profiles (C-5), the benchmark's own analyzers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Config
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.beside import dockerfile_problems
from orchestrator.loading.explain import explain
from orchestrator.loading.limits import limit_problems, parsed_limits
from orchestrator.loading.located import Located
from orchestrator.loading.texts import read_document
from orchestrator.schemas import benchmark_checker

FILE_NAME = "proctor.yaml"


def load_config(path: Path | str) -> Config:
    """The configuration in a file, or in the folder of a benchmark (an empty one when it has none).

    A profile's Dockerfile folder comes back as an absolute path: it is relative to the file.
    Raises AuthoringError with every problem, also when a named file is not there.
    """
    file = Path(path)
    if file.is_dir():
        file = file / FILE_NAME
        if not file.exists():
            return Config()
    doc = read_document(file)
    data = {} if doc.data is None else doc.data
    root = file.parent.resolve()
    problems = list(explain(benchmark_checker("config"), doc, data))
    named = {p.path for p in problems}
    problems += [p for p in _profile_problems(doc, data, root) if p.path not in named]
    found = doc.everything(problems)
    if found:
        raise AuthoringError(found)
    profiles = {n: _profile(p, root) for n, p in _profiles(data).items()}
    return Config.model_validate({"profiles": profiles, "analyzers": data.get("analyzers") or {}})


def _profiles(data: Any) -> dict[str, Any]:
    profiles = data.get("profiles") if isinstance(data, dict) else None
    return profiles if isinstance(profiles, dict) else {}


def _profile_problems(doc: Located, data: Any, root: Path) -> Iterator[Problem]:
    for name, profile in _profiles(data).items():
        if not isinstance(profile, dict):
            continue
        at = ("profiles", name)
        yield from limit_problems(doc, at, profile)
        yield from dockerfile_problems(
            profile.get("environment"), root, lambda path, *words, at=at: doc.problem((*at, *path), *words)
        )


def _profile(profile: dict[str, Any], root: Path) -> dict[str, Any]:
    environment = dict(profile["environment"])
    if "dockerfile" in environment:
        environment["dockerfile"] = str(root / environment["dockerfile"])
    return {"environment": environment, "limits": parsed_limits(profile.get("limits", {}))}
