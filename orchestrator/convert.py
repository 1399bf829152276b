"""Rubrics of two other formats, as ours: weighted lists of named checks, and rule configurations.

Nothing is dropped. What no kind of ours can express becomes a check of a kind of its own, which a plug-in may
bring, and a warning names it. Both formats are weighted means against a threshold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from orchestrator.documents.rubric import Rubric
from orchestrator.errors import AuthoringError, Problem
from orchestrator.loading import Located, dump_rubric, rubric_of
from orchestrator.loading.located import Path
from orchestrator.loading.texts import parse_document
from orchestrator.schemas import RubricSchema, core

LIBRARY_THRESHOLD = 0.7
"""What the weighted format means when it names no pass_threshold (C-21); written down, so that it stays."""
LONGEST_REPEAT = 65_535
"""PCRE2 counts no repeat beyond this."""
_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?(-[0-9A-Za-z][0-9A-Za-z.-]*)?\Z")
_LENGTH = frozenset({"min_chars", "max_chars"})


@dataclass(frozen=True)
class Converted:
    """A rubric of ours, and what a reader should know about how it came to be."""

    rubric: Rubric
    warnings: tuple[Problem, ...]
    plugin_kinds: tuple[str, ...]
    """Kinds that no executor of ours has: a plug-in must bring them, or their checks are refused."""
    source: str

    @property
    def yaml(self) -> str:
        """The rubric's file, with a comment for each warning."""
        notes = [f"# converted from {PurePath(self.source).name}", *(f"# {_plain(w)}" for w in self.warnings)]
        return "\n".join(notes) + "\n" + dump_rubric(self.rubric)


def convert(doc: Located, schemas: RubricSchema | None = None) -> Converted:
    """The rubric in `doc`, whichever of the formats it is in; `schemas` knows the kinds there are.

    Raises AuthoringError, with every problem, for a document in neither format.
    """
    data = doc.data
    if isinstance(data, dict) and isinstance(data.get("rules"), list):
        draft = _Draft(doc, schemas or core(), _from_rules)
    elif isinstance(data, dict) and isinstance(data.get("checks"), list) and "scoring" not in data:
        draft = _Draft(doc, schemas or core(), _from_weighted)
    elif isinstance(data, dict) and "checks" in data and "scoring" in data:
        raise AuthoringError(
            doc.problem((), "is a rubric of proctor's own form", "there is nothing to convert")
        )
    else:
        message = "is in no format that can be converted"
        hint = "it needs a list `checks` of {check, weight}, or a list `rules` of {name, weight, ...}"
        raise AuthoringError(doc.problem((), message, hint))
    return draft.finished()


def slug(name: str) -> str:
    """A name as an id of ours.

    >>> slug("PromptAdherence"), slug("My rubric, v2"), slug("2nd"), slug("CLIPSimilarity")
    ('prompt_adherence', 'my_rubric_v2', 'r_2nd', 'clip_similarity')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    word = re.sub(r"[^a-z0-9]+", "_", parted.lower()).strip("_")
    return word if word[:1].isalpha() else f"r_{word}".rstrip("_")


Reader = Callable[["_Draft", int, Mapping[str, Any]], dict[str, Any]]


@dataclass
class _Draft:
    """A rubric in the making."""

    doc: Located
    schemas: RubricSchema
    reader: Reader
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Definitions for the kinds that only a plug-in can bring."""

    def finished(self) -> Converted:
        data = self.doc.data
        listed = data["rules"] if "rules" in data else data["checks"]
        if not listed:
            self.problems.append(self.doc.problem((), "has no checks", "a rubric needs at least one"))
        checks = [self._check(number, item) for number, item in enumerate(listed)]
        written = {**self._head(), "checks": checks, "scoring": self._scoring()}
        if self.problems or self.doc.faults:
            raise AuthoringError([*self.doc.faults, *self.problems])
        schemas = RubricSchema.of([self.kinds, *self._brought()])
        ours = parse_document(json.dumps(written), self.doc.file + " (converted).json")
        return Converted(rubric_of(ours, schemas), tuple(self.warnings), tuple(self.kinds), self.doc.file)

    def _brought(self) -> list[dict[str, Any]]:
        """What plug-ins bring already."""
        extra = set(self.schemas.kinds) - set(core().kinds)
        return [{kind: self.schemas.schema["$defs"][f"check_{kind}"]} for kind in sorted(extra)]

    def warn(self, path: Path, message: str, hint: str = "") -> None:
        self.warnings.append(self.doc.problem(path, message, hint))

    def _head(self) -> dict[str, Any]:
        data = self.doc.data
        name = data.get("name")
        if not isinstance(name, str) or not name.strip():
            name = PurePath(self.doc.file).stem
            self.warn((), f"has no name: its file's name is taken, {slug(name)}")
        version = data.get("version", "1.0")
        if not isinstance(version, str) or not _VERSION.match(version):
            self.warn(("version",), f"{version!r} is no version of ours: 1.0 is taken")
            version = "1.0"
        head: dict[str, Any] = {"id": slug(name), "version": version}
        if name != slug(name):
            head["label"] = name
        if isinstance(text := data.get("description"), str) and text.strip():
            head["description"] = text
        known = {"name", "version", "description", "checks", "rules", "threshold", "pass_threshold"}
        if rest := {key: value for key, value in data.items() if key not in known}:
            self.warn((), f"kept in metadata, where nothing reads it: {', '.join(rest)}")
            head["metadata"] = rest
        return head

    def _scoring(self) -> dict[str, Any]:
        data = self.doc.data
        name = next((n for n in ("pass_threshold", "threshold") if n in data), None)
        scoring: dict[str, Any] = {"combine": "weighted_avg"}
        if name is not None:
            scoring["threshold"] = data[name]
        elif "checks" in data:
            scoring["threshold"] = LIBRARY_THRESHOLD
            self.warn((), f"names no pass_threshold: that format's own {LIBRARY_THRESHOLD} is written")
        else:
            self.warn((), "names no threshold: 0.5 holds", "write the threshold that is meant")
        total = sum(self.weights.values())
        if "rules" in data and abs(total - 1) > 1e-3:
            self.warn(
                ("rules",), f"the weights add up to {total:.4f}: that format refuses this, ours divides"
            )
        return {**scoring, "weights": self.weights}

    def _check(self, number: int, item: Any) -> dict[str, Any]:
        where = ("rules" if "rules" in self.doc.data else "checks", number)
        if isinstance(item, str) and where[0] == "checks":
            item = {"check": item}
        named = "name" if where[0] == "rules" else "check"
        if not isinstance(item, dict) or not isinstance(item.get(named), str):
            self.problems.append(self.doc.problem(where, f"needs a {named}", f"write {named}: and its name"))
            return {}
        check = self.reader(self, number, item)
        check_id = self._id(slug(item[named]))
        weight = item.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
            self.problems.append(self.doc.problem((*where, "weight"), "is no number from 0 up", "mend it"))
            weight = 1
        self.weights[check_id] = weight
        return {"kind": check.pop("kind"), "id": check_id, **check}

    def _id(self, wanted: str) -> str:
        tries = [wanted, *(f"{wanted}_{n}" for n in range(2, 1000))]
        return next(name for name in tries if name not in self.weights)

    def foreign(self, path: Path, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A check of a kind that is not ours, with all its fields."""
        kind = name if name not in core().kinds else f"foreign_{name}"
        if kind not in self.schemas.kinds:
            held = self.kinds.setdefault(kind, _open_definition(kind))
            held["allOf"][1]["properties"] |= {key: {} for key in fields}
            hint = "install the plug-in that brings it, or replace the check"
            self.warn(path, f"no kind of ours does this: it became the plug-in kind {kind!r}", hint)
        return {"kind": kind, **fields}


def _from_weighted(draft: _Draft, number: int, item: Mapping[str, Any]) -> dict[str, Any]:
    """{check, weight, threshold, ...}: a check by name. One of our kinds, when its fields are that kind's."""
    kind = slug(item["check"])
    fields = {key: value for key, value in item.items() if key not in ("check", "weight", "id", "kind")}
    if kind in draft.schemas.kinds and not any(
        draft.schemas.kinds[kind].iter_errors({"kind": kind, **fields})
    ):
        return {"kind": kind, **fields}
    return draft.foreign(("checks", number), kind, fields)


def _from_rules(draft: _Draft, number: int, item: Mapping[str, Any]) -> dict[str, Any]:
    """{name, weight, and one of pattern, allowed_values, forbidden_phrases, min_chars/max_chars}."""
    path: Path = ("rules", number)
    said = {"description": item["description"]} if item.get("description") else {}
    fields = {k: v for k, v in item.items() if k not in ("name", "weight", "description")}
    made = next(_rule(draft, path, fields), None)
    if made is None:
        return {**draft.foreign(path, slug(item["name"]), fields), **said}
    return {**made, **said}


def _rule(draft: _Draft, path: Path, fields: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rule as a check of ours; nothing when it is none."""
    sensitive = fields.get("case_sensitive")
    words = {k: v for k, v in fields.items() if k != "case_sensitive" or not isinstance(v, bool)}
    extra = {"case_sensitive": True} if sensitive is True else {}
    match sorted(words):
        case ["pattern"] if isinstance(fields["pattern"], str) and fields["pattern"]:
            flags = "i" if sensitive is False else ""
            yield {"kind": "regex", "patterns": [_pcre(draft, path, fields["pattern"])], "flags": flags}
        case ["allowed_values"] if _texts(fields["allowed_values"]):
            yield {"kind": "must_contain_any", "values": list(fields["allowed_values"]), **extra}
        case ["forbidden_phrases"] if _texts(fields["forbidden_phrases"]):
            yield {"kind": "must_not_contain", "values": list(fields["forbidden_phrases"]), **extra}
        case names if set(names) <= _LENGTH and names and (pattern := _length(words)):
            yield {"kind": "regex", "patterns": [pattern], "flags": "s"}


def _pcre(draft: _Draft, path: Path, pattern: str) -> str:
    r"""Python's dialect into PCRE's: `\Z` is the very end there, and may stand before a line end here."""
    mended = re.sub(r"(?<!\\)((?:\\\\)*)\\Z", r"\1\\z", pattern)
    if mended != pattern:
        draft.warn((*path, "pattern"), r"\Z was written \z, which means in PCRE what \Z means in Python")
    return mended


def _length(bounds: Mapping[str, Any]) -> str:
    r"""A pattern for the number of characters without the white space around them; "" when there is none.

    >>> _length({"min_chars": 20, "max_chars": 250})
    '\\A\\s*+.{19,249}\\S\\s*+\\z'
    """
    least, most = bounds.get("min_chars", 0), bounds.get("max_chars")
    if any(
        isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in (least, 0 if most is None else most)
    ):
        return ""
    if max(least, most or 0) > LONGEST_REPEAT or (most is not None and most < max(1, least)):
        return ""
    if most is None:
        return rf"\A\s*+.{{{least - 1},}}\S" if least else ""
    if least:
        return rf"\A\s*+.{{{least - 1},{most - 1}}}\S\s*+\z"
    return rf"\A\s*+(?:.{{0,{most - 1}}}\S)?\s*+\z"


def _texts(values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(v, str) and v for v in values)


def _open_definition(kind: str) -> dict[str, Any]:
    own = {"type": "object", "required": ["kind"], "properties": {"kind": {"const": kind}}}
    return {"allOf": [{"$ref": "#/$defs/check_base"}, own], "unevaluatedProperties": False}


def _plain(problem: Problem) -> str:
    where = f"{problem.path}: " if problem.path else ""
    return f"{where}{problem.message}" + (f"; {problem.hint}" if problem.hint else "")
