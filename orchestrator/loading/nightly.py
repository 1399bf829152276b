"""From nightly.yaml to a `Nightly`: what is run every night, and what must hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading.explain import explain
from orchestrator.loading.located import Located
from orchestrator.loading.texts import read_document
from orchestrator.loading.words import did_you_mean
from orchestrator.schemas import checker

if TYPE_CHECKING:
    from orchestrator.documents.nightly import Nightly

FILE_NAME = "nightly.yaml"


def load_nightly(path: Path) -> Nightly:
    """The document in a file, or in a folder that holds a nightly.yaml.

    Raises AuthoringError with every problem: of the schema, and of fields that do not go together.
    """
    from orchestrator.documents.nightly import (
        Nightly,
    )  # only nights need it: it is not built for each command

    file = path / FILE_NAME if path.is_dir() else path
    doc = read_document(file)
    problems = list(explain(checker("nightly"), doc, doc.data))
    named = {problem.path for problem in problems}
    problems += [p for p in _problems(doc, doc.data) if p.path not in named]
    found = doc.everything(problems)
    if found:
        raise AuthoringError(found)
    return Nightly.model_validate({**doc.data, "file": file.absolute()})


def _problems(doc: Located, data: Any) -> Iterator[Problem]:
    if not isinstance(data, dict):
        return
    yield from _baseline(doc, data.get("baseline"))
    yield from _confirm(doc, data.get("confirm"))
    yield from _benchmarks(doc, data)
    for number, gate in _each(data, "gates"):
        yield from _gate(doc, ("gates", number), gate)
    for number, entry in _each(data, "notify"):
        yield from _notify(doc, ("notify", number), entry)
    for number, entry in _each(data, "quarantine"):
        yield from _until(doc, ("quarantine", number, "until"), entry.get("until"))


def _each(data: dict[str, Any], field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    entries = data.get(field)
    for number, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield number, entry


def _benchmarks(doc: Located, data: dict[str, Any]) -> Iterator[Problem]:
    """Listed twice, or kept apart from one that is not listed."""
    listed: list[Any] = []
    for number, entry in _each(data, "benchmarks"):
        name = entry.get("benchmark")
        if name in listed:
            where = ("benchmarks", number, "benchmark")
            yield doc.problem(where, f'"{name}" is listed twice', "list it once, with all of its tasks")
        listed.append(name)
    for number, entry in _each(data, "quarantine"):
        name = entry.get("benchmark")
        if isinstance(name, str) and name not in listed:
            at = ("quarantine", number, "benchmark")
            known = did_you_mean(name, {str(other) for other in listed})
            yield doc.problem(at, f'"{name}" is none of the benchmarks', known)


def _baseline(doc: Located, given: Any) -> Iterator[Problem]:
    if not isinstance(given, dict):
        return
    pinned = given.get("policy") == "pinned"
    if pinned and "run" not in given:
        yield doc.problem(("baseline",), "pinned needs a run", "add run: a run folder, a run's id or a tag")
    if not pinned and "run" in given:
        yield doc.problem(("baseline", "run"), "only pinned has a run", "add policy: pinned, or remove it")


def _confirm(doc: Located, given: Any) -> Iterator[Problem]:
    if not isinstance(given, dict):
        return
    by = given.get("by", "reruns")
    for field, wanted in (("repeats", "reruns"), ("k", "nights"), ("of", "nights")):
        if field in given and by != wanted:
            hint = f"add by: {wanted}, or remove it"
            yield doc.problem(("confirm", field), f"{field} belongs to by: {wanted}", hint)
    k, of = given.get("k", 2), given.get("of", 3)
    if by == "nights" and isinstance(k, int) and isinstance(of, int) and k > of:
        yield doc.problem(("confirm",), f"{k} of {of} nights cannot be", "write a k that is at most of")


def _gate(doc: Located, at: tuple[str | int, ...], gate: dict[str, Any]) -> Iterator[Problem]:
    from orchestrator.documents.nightly import REGRESSION

    if gate.get("metric") == REGRESSION and "at_least" in gate:
        yield doc.problem((*at, "at_least"), "a regression has no at_least", "remove it; see level")
    if gate.get("metric") != REGRESSION and "metric" in gate and "at_least" not in gate:
        yield doc.problem(at, '"at_least" is missing', "add at_least: the value to reach")


def _notify(doc: Located, at: tuple[str | int, ...], entry: dict[str, Any]) -> Iterator[Problem]:
    if ("command" in entry) == ("webhook" in entry):
        seen = "command and webhook are both there" if "command" in entry else "nobody is told"
        yield doc.problem(at, seen, "write exactly one of command and webhook")
    elif "token_env" in entry and "webhook" not in entry:
        yield doc.problem((*at, "token_env"), "only a webhook has a token", "remove it")


def _until(doc: Located, at: tuple[str | int, ...], given: Any) -> Iterator[Problem]:
    if not isinstance(given, str):
        return
    try:
        date.fromisoformat(given)
    except ValueError:
        yield doc.problem(at, f"{given} is no day of the calendar", 'write a day such as "2026-12-31"')
