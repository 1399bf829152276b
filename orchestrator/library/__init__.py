"""The rubrics that come with proctor: content in YAML files, one version of one rubric each.

A file is named `<id>@<version>.yaml`, so what there is can be told without reading any of it.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from orchestrator.errors import AuthoringError

_NAME = re.compile(r"([a-z][a-z0-9_]*)@([0-9][0-9A-Za-z.-]*)\.yaml\Z")


@cache
def files() -> dict[str, Path]:
    """Every built-in rubric's file by its ref, sorted; of one id the older versions first."""
    found = {}
    for path in Path(__file__).parent.iterdir():
        if match := _NAME.match(path.name):
            found[f"rubric/{match[1]}@{match[2]}"] = path
    return {ref: found[ref] for ref in sorted(found, key=order)}


def order(ref: str) -> tuple[str, list[int], bool, str]:
    """Sorts refs by id and then by version: 1.9 before 1.10, 2.0-rc before 2.0.

    >>> sorted(["rubric/a@1.10", "rubric/a@1.9", "rubric/a@1.10-rc"], key=order)
    ['rubric/a@1.9', 'rubric/a@1.10-rc', 'rubric/a@1.10']
    """
    name, _, version = ref.partition("@")
    numbers, _, rest = version.partition("-")
    return name, [int(part) if part.isdigit() else 0 for part in numbers.split(".")], not rest, rest


def ref_of(name: str) -> str | None:
    """The ref of a built-in rubric called by its id (then its newest version), by id@version or by ref.

    >>> ref_of("bug_fix") == ref_of("rubric/bug_fix@1.0")
    True
    >>> ref_of("no_such_rubric") is None
    True
    """
    wanted = name if name.startswith("rubric/") else f"rubric/{name}"
    if "@" in wanted:
        return wanted if wanted in files() else None
    return next((ref for ref in reversed(files()) if ref.startswith(f"{wanted}@")), None)


def path_of(name: str) -> Path:
    """The file of a built-in rubric; `name` as for `ref_of`. Raises AuthoringError naming those there are."""
    ref = ref_of(name)
    if ref is None:
        known = ", ".join(dict.fromkeys(r.removeprefix("rubric/").partition("@")[0] for r in files()))
        raise AuthoringError(f"{name}: there is no built-in rubric of that name; there are {known}")
    return files()[ref]
