"""Rubrics from Python: load or build one, evaluate a text, read the result.

`from orchestrator import Rubric, Rule, check, load_rubric`. Everything here is pure but the reading of files:
the same rubric, response and context always give the same result.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator import library
from orchestrator.contract import CheckExecutor, Context
from orchestrator.documents import rubric as documents
from orchestrator.errors import AuthoringError, Problem
from orchestrator.grading import ExecutorSet, evaluate
from orchestrator.loading import dump_rubric, lint, parse_rubric, read_document, rubric_of
from orchestrator.loading.lint import WEIGHT_TOLERANCE
from orchestrator.result import Result
from orchestrator.rubrics import RubricStore, Stored, built_in, files_of
from orchestrator.rules import KIND, Rule, RuleError, RuleExecutor, missing, refuse_missing

if TYPE_CHECKING:
    from orchestrator.schemas import RubricSchema

__all__ = ["Check", "Result", "Rubric", "Rule", "RuleError", "check", "load_rubric"]

_NAME = re.compile(r"(rubric/)?[a-z][a-z0-9_]*(@[0-9A-Za-z.-]+)?\Z")


@dataclass(frozen=True)
class Check:
    """One check to build a rubric of; see `check`."""

    fields: Mapping[str, Any]
    weight: float | None = None
    """None: 1, and not written down."""


def check(kind: str, *, id: str = "", weight: float | None = None, **fields: Any) -> Check:
    """A check of any kind there is, as it would stand in YAML.

    >>> check("regex", id="ticket", weight=0.3, patterns=["TICKET-[0-9]{6}"]).weight
    0.3
    """
    return Check({"kind": kind, **({"id": id} if id else {}), **fields}, weight)


@dataclass(frozen=True)
class Rubric:
    """A rubric ready to evaluate: its document, its Python rules, and the rubrics its composites name."""

    document: documents.Rubric
    rules: tuple[Rule, ...] = ()
    others: RubricStore = field(default_factory=lambda: RubricStore((), built_in), repr=False, compare=False)

    @classmethod
    def from_yaml(cls, path: Path | str) -> Rubric:
        """The rubric in a YAML or JSON file; composites may name the rubrics beside it.

        Kinds that plug-ins bring are known. Raises AuthoringError with every problem of the document.
        """
        source = read_document(Path(path))
        entry = Stored(rubric_of(source, _schema()), source)
        beside = _beside(Path(path), entry)
        return cls(entry.rubric, (), RubricStore(beside, built_in))

    @classmethod
    def from_text(cls, text: str) -> Rubric:
        """The rubric in a text of YAML or JSON. Raises AuthoringError."""
        return cls(parse_rubric(text, "rubric", _schema()))

    @classmethod
    def build(
        cls,
        id: str,
        *parts: Check | Rule,
        version: str = "1.0",
        combine: documents.Combine = "weighted_avg",
        threshold: float | None = None,
        weights_sum_to_one: bool = False,
        **fields: Any,
    ) -> Rubric:
        """A rubric of checks and functions, in the order given. `fields`: label, description, metadata, ...

        Weights are divided by their sum (C-22); `weights_sum_to_one` asks for a sum of 1 within 0.001, looked
        at here and never again (rule 185). Raises AuthoringError, for rules RuleError, with all problems.
        """
        weights = _weights(parts)
        if weights_sum_to_one and abs(math.fsum(weights.values()) - 1) > WEIGHT_TOLERANCE:
            total = math.fsum(weights.values())
            raise RuleError(Problem("", 0, "weights", f"they add up to {total:.4f}, not to 1", "change them"))
        rules = tuple(part for part in parts if isinstance(part, Rule))
        scoring: dict[str, Any] = {"combine": combine}
        scoring |= {"threshold": threshold} if threshold is not None else {}
        scoring |= {"weights": weights} if weights and combine == "weighted_avg" else {}
        checks = [dict(p.fields) if isinstance(p, Check) else p.check for p in parts]
        data = {"id": id, "version": version, **fields, "checks": checks, "scoring": scoring}
        return cls(_validated(data, bool(rules)), rules)

    @property
    def id(self) -> str:
        return self.document.id

    @property
    def ref(self) -> str:
        """rubric/<id>@<version>."""
        return self.document.ref

    @property
    def threshold(self) -> float:
        """What passes in the numeric modes."""
        given = self.document.scoring.threshold
        return documents.DEFAULT_THRESHOLD if given is None else given

    def missing(self, context: Mapping[str, Any]) -> tuple[str, ...]:
        """Keys that rules require and `context` lacks; `evaluate` refuses to begin then."""
        return missing(self.rules, context)

    def evaluate(
        self,
        response: str | bytes,
        context: Mapping[str, Any] | None = None,
        *,
        executors: ExecutorSet = "all",
        executed_by: Sequence[CheckExecutor] | None = None,
    ) -> Result:
        """Every check over one response; `context` is the question (`expected`, `metadata`, your own keys).

        Checks that need a sandbox or a trajectory are skipped and named. `executed_by` replaces what is
        installed. Raises RuleError when a rule's required context key is missing.
        """
        given: Mapping[str, Any] = {} if context is None else context
        refuse_missing(self.rules, given)
        row = given if isinstance(given, Context) else Context(given)
        able = (RuleExecutor(self.rules), *(_executors() if executed_by is None else executed_by))
        verdict = evaluate(self.document, response, row, able, self.others.resolve, executors)
        return Result(verdict, tuple(given))

    def advice(self) -> tuple[str, ...]:
        """What lint has to say about it, one sentence each."""
        found = lint(self.document)
        return tuple(map(str, (*found.errors, *found.warnings)))

    def to_yaml(self) -> str:
        """The rubric as YAML. Raises AuthoringError when functions are part of it: they have no YAML."""
        if self.rules:
            names = ", ".join(rule.name for rule in self.rules)
            raise AuthoringError(f"{self.ref} holds Python functions ({names}), which YAML cannot hold")
        return dump_rubric(self.document)


def load_rubric(name: str | Path) -> Rubric:
    """A built-in rubric by name ("bug_fix", "bug_fix@1.0", "rubric/bug_fix@1.0"), or the one in a file.

    A bare word is a built-in rubric when there is one of that name, otherwise a file.
    Raises AuthoringError when there is neither.
    """
    ref = library.ref_of(name) if isinstance(name, str) else None
    if ref is not None:
        return Rubric.from_yaml(library.files()[ref])
    if isinstance(name, str) and _NAME.match(name) and not Path(name).exists():
        return Rubric.from_yaml(library.path_of(name))  # which says what built-in rubrics there are
    return Rubric.from_yaml(name)


@cache
def _executors() -> tuple[CheckExecutor, ...]:
    from orchestrator.plugins import Registry

    return Registry.load().executors


@cache
def _schema(functions: bool = False) -> RubricSchema:
    """The core's kinds and the plug-ins'; with `functions` the kind that Python rules have, too."""
    from orchestrator.plugins import Registry
    from orchestrator.schemas import RubricSchema

    registry = Registry.load()
    ours = [{KIND: _FUNCTION}] if functions else []
    return RubricSchema.of([*ours, *registry.schemas], registry.analyzers)


def _weights(parts: Iterable[Check | Rule]) -> dict[str, float]:
    found, nameless = {}, []
    for number, part in enumerate(parts):
        name = part.name if isinstance(part, Rule) else part.fields.get("id", "")
        if part.weight is not None and name:
            found[name] = part.weight
        elif part.weight is not None:
            nameless.append(Problem("", 0, f"checks[{number}]", "has a weight and no id", "give it an id"))
    if nameless:
        raise AuthoringError(nameless)
    return found


def _validated(data: dict[str, Any], functions: bool) -> documents.Rubric:
    """The document, judged as a file of it would be."""
    try:
        text = json.dumps(data)
    except (TypeError, ValueError) as cause:
        raise AuthoringError(f"rubric {data['id']}: its fields must be plain values: {cause}") from None
    return parse_rubric(text, str(data["id"]), _schema(functions))


_FUNCTION = {
    "allOf": [
        {"$ref": "#/$defs/check_base"},
        {"type": "object", "required": ["kind", "id"], "properties": {"kind": {"const": KIND}}},
    ],
    "unevaluatedProperties": False,
}


def _beside(path: Path, entry: Stored) -> list[Stored]:
    """The rubric and those in its folder that load, each ref once."""
    found = {entry.rubric.ref: entry}
    if not any(c["kind"] == "composite" for c in entry.rubric.checks):
        return [entry]
    for other in files_of(path.parent):
        try:
            source = read_document(other)
            stored = Stored(rubric_of(source, _schema()), source)
        except AuthoringError:
            continue
        found.setdefault(stored.rubric.ref, stored)
    return list(found.values())
