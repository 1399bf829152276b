"""What a check may say about a command-line analyzer in its `metadata`, parsed and held to be safe.

Options that every tool knows: `target` (a path or a list of paths in the work tree; all of it), `extensions`
("php,inc"), `count` ("all", or "errors"), `config` (text with line breaks is the configuration itself,
anything else a path in the work tree), `config_files` (more paths in the work tree the configuration draws
on), `annotations` ("ignore", or "obey" comments that suppress findings).
"""

from __future__ import annotations

import difflib
import hashlib
import json
import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.analyzers.measurement import OptionError, option
from orchestrator.contract import Check

_PATH = re.compile(r"[^\0\r\n]+")
_EXTENSION = re.compile(r"[A-Za-z0-9_+-]+")
_COUNTS = ("all", "errors")
SHARED = ("target", "extensions", "count", "config", "config_files")
"""What every command-line tool takes."""
_OWN = ("allow", "forbid", "mode", "weights")
"""What score_delta itself reads from `metadata`."""


@dataclass(frozen=True)
class Setting:
    """One option of a tool's own. `pattern` must match the whole word."""

    default: str
    pattern: re.Pattern[str] = re.compile(r"[\w.,:/@+-]+")
    says: str = "a word without blanks"


ANNOTATIONS = Setting("ignore", re.compile("ignore|obey"), "ignore or obey")
"""Whether comments that suppress findings are obeyed, for tools that can be told not to."""


@dataclass(frozen=True)
class Options:
    """A check's options, parsed."""

    targets: tuple[str, ...]
    extensions: tuple[str, ...]
    count: str
    config: str = ""
    """Its text, or a path in the work tree."""
    config_files: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def inline(self) -> bool:
        return "\n" in self.config

    def paths(self, workdir: str) -> tuple[str, ...]:
        return tuple(posixpath.normpath(posixpath.join(workdir, target)) for target in self.targets)

    def digest(self) -> str:
        facts = [self.targets, self.extensions, self.count, self.config, self.config_files]
        said = json.dumps([*facts, sorted(self.settings.items())])
        return hashlib.sha256(said.encode()).hexdigest()


def parse(
    check: Check, tool: str, extensions: tuple[str, ...], known: Mapping[str, Setting], configurable: bool
) -> Options:
    """A check's options for a tool with these extensions and settings. Raises OptionError."""
    no_slips(check, {*SHARED, *known})
    counted = option(check, "count", "all")
    if counted not in _COUNTS:
        raise OptionError(f"metadata.count is {counted!r}; it must be all or errors")
    config = option(check, "config", "")
    if not isinstance(config, str) or (config and not configurable):
        raise OptionError(f"metadata.config is {config!r}; {tool} takes none of that kind")
    made = Options(
        targets=texts(option(check, "target", "."), "target"),
        extensions=_extensions(option(check, "extensions", None), extensions),
        count=counted,
        config=config,
        config_files=texts(option(check, "config_files", []), "config_files"),
        settings={name: _setting(check, name, setting) for name, setting in known.items()},
    )
    within(*made.targets, *made.config_files, *(() if made.inline else (made.config,)))
    return made


def no_slips(check: Check, known: Collection[str]) -> None:
    """Raises OptionError for a name in `metadata` that is nearly an option; other notes are the author's.

    Where nobody keeps notes (`only_options` in the check: the command line) any other name is refused.
    """
    metadata = check.get("metadata")
    known = {*known, *_OWN}
    for name in metadata if isinstance(metadata, Mapping) else ():
        if name in known:
            continue
        if near := difflib.get_close_matches(str(name), known, 1, 0.8):
            raise OptionError(f"metadata.{name} is no option; did you mean {near[0]}?")
        if check.get("only_options"):
            raise OptionError(
                f"{name} is no option of {check.get('tool')}; known: {', '.join(sorted(known))}"
            )


def texts(value: Any, name: str) -> tuple[str, ...]:
    """One text or a list of them. Raises OptionError."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(
        isinstance(t, str) and _PATH.fullmatch(t) for t in found
    ):
        raise OptionError(f"metadata.{name} is {value!r}; it must be a path or a list of paths")
    return tuple(found)


def within(*paths: str) -> None:
    """Raises OptionError for a path that leaves the work tree or would be taken for an option."""
    for path in paths:
        if path.startswith(("/", "-")) or ".." in path.split("/"):
            raise OptionError(f"{path!r} leaves the work tree; write a path relative to it")


def _extensions(value: Any, default: tuple[str, ...]) -> tuple[str, ...]:
    if value is None:
        return default
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words:
        raise OptionError(f"metadata.extensions is {value!r}; write them as php,inc")
    for word in words:
        if not isinstance(word, str) or not _EXTENSION.fullmatch(word):
            raise OptionError(f"metadata.extensions is {value!r}; write them as php,inc")
    return tuple(words)


def _setting(check: Check, name: str, known: Setting) -> str:
    value = option(check, name, known.default)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        value = ",".join(value)
    if not isinstance(value, str) or (value and (not known.pattern.fullmatch(value) or value[0] == "-")):
        raise OptionError(f"metadata.{name} is {value!r}; it must be {known.says}")
    return value
