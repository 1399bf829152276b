"""Files that say what a project is and, elsewhere in them, how its tests are run.

An honest change adds a dependency to pyproject.toml or an export to package.json; one that is not adds
`addopts` or another test script. So the change's file is graded with the steering parts as they are on our
side. What cannot be taken apart safely is ours as a whole.

    package.json     ours: scripts, imports, overrides, and every runner's own block
    composer.json    ours: scripts, autoload-dev, autoload.files, config, repositories, extra
    pyproject.toml   ours: every [tool.*] table
    setup.cfg        ours: every section that is neither [metadata] nor [options*]
    go.mod           ours: replace and exclude
    Cargo.toml       ours: patch, replace, dev-dependencies, profile, lints, test, bench, lib
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

Merge = Callable[[bytes, bytes], bytes]
"""(ours, theirs) -> theirs with our steering parts. Raises ValueError for what cannot be taken apart."""

_PACKAGE = (
    "scripts", "imports", "overrides", "resolutions", "workspaces", "jest", "mocha", "ava", "vitest", "tap",
    "nyc", "c8", "babel", "eslintConfig", "devDependencies",
)  # fmt: skip
_COMPOSER = ("scripts", "scripts-descriptions", "autoload-dev", "config", "repositories", "extra",
             "require-dev")  # fmt: skip
_CARGO = ("patch", "replace", "dev-dependencies", "profile", "lints", "test", "bench", "example", "lib",
          "workspace")  # fmt: skip


def steered(path: bytes) -> Merge | None:
    """How a manifest is put together; None for every other file.

    >>> steered(b"web/package.json") is None
    False
    """
    return _MERGES.get(path.rpartition(b"/")[2])


def merged(path: bytes, ours: bytes | None, theirs: bytes) -> bytes | None:
    """What is graded of a manifest that a change touched: its own words with our steering parts. Where it
    cannot be taken apart, ours as it is: None, then, for one that we have not."""
    merge = steered(path)
    assert merge is not None, "only manifests are put together"
    try:
        return merge(ours or _EMPTY.get(path.rpartition(b"/")[2], b""), theirs)
    except (ValueError, configparser.Error, RecursionError):
        return ours


def _package_json(ours: bytes, theirs: bytes) -> bytes:
    return _json(ours, theirs, _PACKAGE)


def _composer_json(ours: bytes, theirs: bytes) -> bytes:
    return _json(ours, theirs, _COMPOSER, _autoload_files)


def _autoload_files(mine: dict[str, Any], made: dict[str, Any]) -> None:
    files = _mapping(mine.get("autoload")).get("files")
    autoload = {k: v for k, v in _mapping(made.get("autoload")).items() if k != "files"}
    if files is not None:
        autoload["files"] = files
    if autoload or "autoload" in made:
        made["autoload"] = autoload


def _json(
    ours: bytes,
    theirs: bytes,
    keys: tuple[str, ...],
    also: Callable[[dict[str, Any], dict[str, Any]], None] = lambda mine, made: None,
) -> bytes:
    mine, made = _mapping(json.loads(ours)), _mapping(json.loads(theirs))
    whole = dict(made)
    for key in keys:
        made.pop(key, None)
    made |= {key: mine[key] for key in keys if key in mine}
    also(mine, made)
    # Untouched steering parts leave the file as it was written, byte for byte.
    return theirs if made == whole else json.dumps(made, indent=2, ensure_ascii=False).encode() + b"\n"


def _mapping(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("not a mapping")
    return dict(value)


def _pyproject(ours: bytes, theirs: bytes) -> bytes:
    return _toml(ours, theirs, ("tool",))


def _cargo(ours: bytes, theirs: bytes) -> bytes:
    return _toml(ours, theirs, _CARGO)


_TABLE = re.compile(r"^[ \t]*\[\[?[ \t]*(\"[^\"\n]*\"|'[^'\n]*'|[\w-]+)[^\n]*\n?", re.MULTILINE)


def _toml(ours: bytes, theirs: bytes, keys: tuple[str, ...]) -> bytes:
    """Table by table, as text, so that comments stay. What comes out must mean exactly what it should."""
    mine, made = tomllib.loads(ours.decode()), tomllib.loads(theirs.decode())
    wanted = {k: v for k, v in made.items() if k not in keys} | {k: mine[k] for k in keys if k in mine}
    if wanted == made:
        return theirs
    kept = "".join(text for name, text in _tables(theirs.decode()) if name not in keys)
    put = "".join(text for name, text in _tables(ours.decode()) if name in keys)
    text = f"{kept.rstrip()}\n\n{put}".lstrip("\n")
    if tomllib.loads(text) != wanted:
        raise ValueError("its tables cannot be told apart as text")
    return text.encode()


def _tables(text: str) -> list[tuple[str, str]]:
    """(first part of its name, text) of every table; the lines before the first table have no name."""
    starts = [(m.start(), m[1].strip("\"'")) for m in _TABLE.finditer(text)]
    bounds = [0, *(at for at, _ in starts), len(text)]
    names = ["", *(name for _, name in starts)]
    return [(name, text[a:b]) for name, a, b in zip(names, bounds, bounds[1:], strict=False)]


def _setup_cfg(ours: bytes, theirs: bytes) -> bytes:
    mine, made = _ini(ours), _ini(theirs)
    wanted = {k: v for k, v in made.items() if _names_the_project(k)}
    wanted |= {k: v for k, v in mine.items() if not _names_the_project(k)}
    if wanted == made:
        return theirs
    lines = []
    for section, options in wanted.items():
        lines += [f"[{section}]", *(f"{k} = {v}".replace("\n", "\n\t") for k, v in options.items()), ""]
    text = "\n".join(lines).encode()
    if _ini(text) != wanted:
        raise ValueError("its sections cannot be told apart as text")
    return text


def _ini(data: bytes) -> dict[str, dict[str, str]]:
    reader = configparser.RawConfigParser(default_section="\0")
    reader.optionxform = str  # type: ignore[assignment,method-assign]
    reader.read_string(data.decode())
    return {name: dict(reader.items(name)) for name in reader.sections()}


def _names_the_project(section: str) -> bool:
    return section == "metadata" or section.partition(".")[0] == "options"


_STEERING = re.compile(r"^[ \t]*(?:replace|exclude)\b[ \t]*(?:\([^)]*\)|[^\n]*)[^\n]*\n?", re.MULTILINE)


def _go_mod(ours: bytes, theirs: bytes) -> bytes:
    mine, made = ours.decode(), theirs.decode()
    own, given = _STEERING.findall(mine), _STEERING.findall(made)
    if own == given:
        return theirs
    rest = _STEERING.sub("", made)
    if re.search(r"\breplace\b", re.sub(r"//[^\n]*", "", rest)):
        raise ValueError("a replacement is left")
    return (rest.rstrip() + "\n" + "".join(f"\n{text.strip()}\n" for text in own)).encode()


_MERGES: Mapping[bytes, Merge] = {
    b"package.json": _package_json,
    b"composer.json": _composer_json,
    b"pyproject.toml": _pyproject,
    b"setup.cfg": _setup_cfg,
    b"go.mod": _go_mod,
    b"Cargo.toml": _cargo,
}
_EMPTY: Mapping[bytes, bytes] = {b"package.json": b"{}", b"composer.json": b"{}"}
