"""ARCHITECTURE.md says what is so: its promises name tests that are there, its packages exist."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_promise_names_a_test_that_is_there() -> None:
    promises = re.findall(r"^\| (\d+) \| .+ \| `([^`:]+)::([^`]+)` \|$", PAGE, re.MULTILINE)

    assert [int(number) for number, _, _ in promises] == list(range(1, len(promises) + 1))
    assert len(promises) == PAGE.partition("## Promises")[2].count("::")
    for _, file, name in promises:
        assert f"def {name}(" in (REPOSITORY / "tests" / file).read_text(encoding="utf-8"), (file, name)


def test_every_package_it_lists_is_there_and_none_is_left_out() -> None:
    listed = re.search(r"^orchestrator/ .*\n((?:  .*\n)+)", PAGE, re.MULTILINE)
    assert listed is not None
    names = re.findall(r"^  ((?:[a-z]+/? )*[a-z]+/?)(?=  |$)", listed[1], re.MULTILINE)
    told = {name for group in names for name in group.split()}
    packages = {f"{p.parent.name}/" for p in (REPOSITORY / "orchestrator").glob("*/__init__.py")}

    assert {name for name in told if name.endswith("/")} == packages
    for name in told - packages:
        assert (REPOSITORY / "orchestrator" / f"{name}.py").exists(), name
