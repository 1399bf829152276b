"""From proctor.yaml to a `Config`: named sandbox profiles (C-5), analyzers and judges of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.documents.benchmark import Config
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.accepted import Accepted
from orchestrator.loading.beside import dockerfile_problems
from orchestrator.loading.limits import limit_problems, parsed_limits, time_problems
from orchestrator.loading.located import Located
from orchestrator.loading.texts import read_document
from orchestrator.loading.words import did_you_mean
from orchestrator.schemas import benchmark_checker
from orchestrator.units import parse_time

FILE_NAME = "proctor.yaml"


def load_config(path: Path | str, accepted: Accepted | None = None) -> Config:
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
    if doc.data is None:
        doc = replace(doc, data={})
    data = doc.data
    root = file.parent.resolve()
    problems = (accepted or Accepted()).problems(benchmark_checker("config"), doc)
    named = {p.path for p in problems}
    more = (*_profile_problems(doc, data, root), *_judge_problems(doc, data))
    problems += [p for p in more if p.path not in named]
    found = doc.everything(problems)
    if found:
        raise AuthoringError(found)
    profiles = {n: _profile(p, root) for n, p in _named(data, "profiles").items()}
    judges = {n: _judge(j) for n, j in _named(data, "judges").items()}
    return Config.model_validate({**data, "profiles": profiles, "judges": judges})


def _named(data: Any, field: str) -> dict[str, Any]:
    entries = data.get(field) if isinstance(data, dict) else None
    return entries if isinstance(entries, dict) else {}


def _judge_problems(doc: Located, data: Any) -> Iterator[Problem]:
    """Times that are none, and panels with a judge that is not there."""
    judges = _named(data, "judges")
    for name, judge in judges.items():
        if isinstance(judge, dict) and "timeout" in judge:
            yield from time_problems(doc, ("judges", name, "timeout"), judge["timeout"])
    for name, panel in _named(data, "panels").items():
        members = panel.get("judges") if isinstance(panel, dict) else None
        for number, member in enumerate(members if isinstance(members, list) else ()):
            if isinstance(member, str) and member not in judges:
                where = ("panels", name, "judges", number)
                yield doc.problem(where, f'"{member}" is none of the judges', did_you_mean(member, judges))


def _judge(judge: dict[str, Any]) -> dict[str, Any]:
    return {**judge, "timeout": parse_time(judge["timeout"])} if "timeout" in judge else judge


def _profile_problems(doc: Located, data: Any, root: Path) -> Iterator[Problem]:
    for name, profile in _named(data, "profiles").items():
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
