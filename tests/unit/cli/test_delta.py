"""proctor delta as it is typed, on saved reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import comparing, main
from orchestrator.contract import ChangedFile

DATA = Path(__file__).parents[2] / "data" / "oracles"
BEFORE, AFTER = (str(DATA / "phpcs_drift" / f"{side}.json") for side in ("before", "after"))
ROOTS = ("--before-root", "/srv/repo", "--after-root", "/var/x1/repo")


def delta(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["delta", *words])
    code = end.value.code
    assert isinstance(code, int)
    return code


def test_saved_reports_are_compared_and_the_identity_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code = delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--rename", "src/Old.php=src/New.php", "--json")

    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0
    assert (document["before"], document["after"], document["delta"]) == (4, 4, 0)
    assert (document["fixed"], document["introduced"], document["moved"]) == (1, 1, 3)
    assert document["before"] - document["fixed"] + document["introduced"] == document["after"]
    assert document["identity"] == "rule, path, message, occurrence (saved reports hold no source lines)"


def test_the_gate_decides_the_exit_code() -> None:
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--min-delta", "1") == 1
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--min-delta", "-1") == 0
    assert delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, "--no-new") == 1


@pytest.mark.parametrize("form", ["--sarif", "--markdown"])
def test_other_forms(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    delta(BEFORE, AFTER, "--tool", "phpcs", *ROOTS, form)

    out = capsys.readouterr().out
    assert ('"baselineState": "new"' in out) if form == "--sarif" else out.startswith("## Passed")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((BEFORE, "/nowhere", "--tool", "phpcs"), "is no file"),
        ((BEFORE, AFTER, "--tool", "phpstan"), "known shape"),
        ((BEFORE, AFTER, "--tool", "number"), "no saved report"),
        (("nowhere", "/tmp", "--tool", "phpcs"), "no folder, no file"),
        (("/tmp", "/tmp", "--tool", "phpcs", "--option", "x"), "NAME=VALUE"),
        (("/tmp", "/tmp", "--tool", "phpcs", "--image", "a", "--debian", "b"), "only one of"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_the_callers_mistake(
    words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert delta(*words) == 2
    assert says in capsys.readouterr().err


def test_renames_can_be_left_alone() -> None:
    renamed = ChangedFile("b.php", "a.php", "renamed", b"1", b"2")

    assert [(c.path, c.status) for c in comparing.without_renames([renamed])] == [
        ("a.php", "deleted"),
        ("b.php", "added"),
    ]
