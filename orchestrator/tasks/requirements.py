"""What wheels need besides themselves, as their own metadata says it. Pure; nothing in a wheel is run."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from orchestrator.tasks.interpreter import Interpreter


def unmet(
    wheels: Sequence[Path], python: Interpreter, given: Collection[str] = (), asked: Collection[str] = ()
) -> list[str]:
    """A sentence for each requirement that none of `wheels` meets by name: "pytest 8.3.4 needs pluggy<2".

    `python` is the room's; `given` are projects that are there already; `asked` is the list as
    written, for its extras ("coverage[toml]==7.6.9"). Versions are the author's choice and not compared.
    Raises zipfile.BadZipFile.
    """
    known = {canonicalize_name(wheel.name.split("-")[0]) for wheel in wheels}
    known |= {canonicalize_name(name) for name in given}
    room = dict(python.markers)
    extras = {canonicalize_name(line.name): line.extras for line in map(Requirement, asked)}
    found = []
    for wheel in wheels:
        name, version, *_ = wheel.name.split("-")
        chosen = ("", *sorted(extras.get(canonicalize_name(name), ())))
        for need in _requirements(wheel):
            marker = need.marker
            applies = marker is None or any(marker.evaluate(room | {"extra": extra}) for extra in chosen)
            if applies and canonicalize_name(need.name) not in known:
                found.append(f"{name} {version} needs {need.name}{need.specifier}")
    return list(dict.fromkeys(found))


def _requirements(wheel: Path) -> Iterator[Requirement]:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not re.fullmatch(r"[^/]+\.dist-info/METADATA", name):
                continue
            headers = HeaderParser().parsestr(archive.read(name).decode("utf-8", "replace"))
            for line in headers.get_all("Requires-Dist", []):
                try:
                    yield Requirement(line)
                except InvalidRequirement:  # of old; pip leaves such lines out, too
                    continue
