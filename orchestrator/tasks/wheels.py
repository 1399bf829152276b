"""A wheel as the files an installer would write for it. Nothing in it is run."""

from __future__ import annotations

import configparser
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from orchestrator.worktree.trees import EXECUTABLE, FILE
from sandboxes.spec import Entry

_SCRIPT = """\
#!/usr/bin/env python3
import sys
from {module} import {name}
sys.exit({attribute}())
"""


def wheel_entries(wheel: Path) -> Iterator[Entry]:
    """Modules at the top, commands below `bin`. Raises zipfile.BadZipFile and ValueError (a bad name)."""
    with zipfile.ZipFile(wheel) as archive:
        for info in archive.infolist():
            place = None if info.is_dir() else _place(info.filename)
            if place is not None:
                executable = place.startswith("bin/") or (info.external_attr >> 16) & 0o100
                data = archive.read(info)
                if place.startswith("bin/"):
                    data = re.sub(rb"\A#!python[w]?(?=[ \r\n])", b"#!/usr/bin/env python3", data)
                yield Entry(place.encode(), EXECUTABLE if executable else FILE, data)
        for name in archive.namelist():
            if re.fullmatch(r"[^/]+\.dist-info/entry_points\.txt", name):
                yield from _commands(archive.read(name).decode("utf-8"))


def _place(name: str) -> str | None:
    """Where a wheel's file goes; None for headers, which nobody needs at run time."""
    if name.startswith("/") or ".." in name.split("/"):
        raise ValueError(f"{name} leaves the wheel")
    match = re.fullmatch(r"[^/]+\.data/(\w+)/(.+)", name)
    if match is None:
        return name
    kind, rest = match.groups()
    return {"purelib": rest, "platlib": rest, "scripts": f"bin/{rest}", "data": rest}.get(kind)


def _commands(text: str) -> Iterator[Entry]:
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read_string(text)
    if not parser.has_section("console_scripts"):
        return
    for command, target in parser["console_scripts"].items():
        module, _, attribute = target.partition("[")[0].strip().partition(":")
        if module and attribute and "/" not in command:
            script = _SCRIPT.format(module=module, name=attribute.partition(".")[0], attribute=attribute)
            yield Entry(f"bin/{command}".encode(), EXECUTABLE, script.encode())
