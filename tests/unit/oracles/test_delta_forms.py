"""A comparison as JSON, SARIF and Markdown: the same facts, and nothing an author of code could forge."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.analyzers import Finding, Measurement
from orchestrator.analyzers import sarif as sarif_reader
from orchestrator.analyzers.phpcs import Phpcs
from orchestrator.analyzers.reports import Raw
from orchestrator.analyzers.suppressions import Suppression
from orchestrator.checks import delta_forms
from orchestrator.checks.comparison import compare
from orchestrator.checks.contest import Ruling, settle
from orchestrator.checks.delta_findings import told
from orchestrator.checks.delta_forms import Gate, as_json, as_markdown, as_sarif, lines
from orchestrator.checks.guards import Guard
from orchestrator.checks.score_delta import ScoreDeltaExecutor
from orchestrator.contract import ChangedFile, Context

from .test_score_delta import phpcs, phpcs_script, tree

OLD = b"<?php\none();\ntwo();\nthree();\n"
NEW = b"<?php\n\none();\ntwo(); // @phpstan-ignore-line\nother();\n"


class Obeying:
    suppresses = "phpstan"


def measurement(*findings: Finding, files: tuple[str, ...] = ("a.php", "b.php")) -> Measurement:
    return Measurement(
        "phpstan", float(len(findings)), False, "findings", "2.1", findings=findings, files=frozenset(files)
    )


@pytest.fixture
def gate() -> Gate:
    before = measurement(
        Finding("same", "a.php", 2, "stays"),
        Finding("hid", "a.php", 3, "hidden"),
        Finding("gone", "b.php", 1, "went with its file"),
        Finding("mended", "a.php", 4, "mended"),
    )
    after = measurement(
        Finding("same", "a.php", 3, "stays"),
        Finding("worse", "a.php", 5, "<b>new</b> | [x](y)"),
        files=("a.php",),
    )
    changes = (
        ChangedFile("a.php", None, "modified", OLD, NEW),
        ChangedFile("b.php", None, "deleted", b"<?php x();", None),
    )
    compared = compare(Obeying(), before, after, changes)  # type: ignore[arg-type]
    cause, score = settle(compared, 1)
    return Gate(
        Ruling(cause, "", score, compared, (Guard("config", "reported", "1 edited", ("x.neon",)),)), 1
    )


def test_the_json_holds_every_number_and_every_finding(gate: Gate) -> None:
    document = as_json(gate)

    numbers = {name: document[name] for name in ("before", "after", "delta", "fixed", "introduced")}
    assert numbers == {"before": 4, "after": 2, "delta": 0, "fixed": 1, "introduced": 1}
    assert {name: document[name] for name in ("unchanged", "suppressed", "gone")} == {
        "unchanged": 1,
        "suppressed": 1,
        "gone": 1,
    }
    assert document["passed"] is False
    assert sorted(f["state"] for f in document["findings"]) == [
        "fixed", "gone", "introduced", "suppressed", "unchanged"]  # fmt: skip
    assert [f["was"] for f in document["findings"] if "was" in f] == [{"path": "a.php", "line": 2}]
    json.dumps(document)


def test_the_books_balance_in_the_json(gate: Gate) -> None:
    d = as_json(gate)

    assert d["before"] - d["fixed"] - d["gone"] - d["suppressed"] + d["introduced"] == d["after"]


def test_sarif_says_what_became_of_each_finding(gate: Gate) -> None:
    log = as_sarif(gate, "1.0")

    results = {r["ruleId"]: r for r in log["runs"][0]["results"]}
    assert {rule: r["baselineState"] for rule, r in results.items()} == {
        "same": "unchanged",
        "hid": "unchanged",
        "gone": "absent",
        "mended": "absent",
        "worse": "new",
    }
    assert results["hid"]["suppressions"][0]["kind"] == "inSource"
    assert len({r["partialFingerprints"]["proctorIdentity/v1"] for r in results.values()}) == 5


def test_our_own_sarif_can_be_read_back(gate: Gate) -> None:
    data = json.dumps(as_sarif(gate, "1.0")).encode()

    found = sarif_reader.read(Raw(data)).findings

    assert {f.rule for f in found} == {"same", "hid", "worse"}


def test_markdown_cannot_be_written_by_what_is_analysed(gate: Gate) -> None:
    page = as_markdown(gate)

    assert page.startswith("## Failed: phpstan: 4 findings before, 2 after, delta +0 (at least 1)")
    assert "### Hidden, not mended (1)" in page
    assert r"\<b\>new\</b\> \| \[x\](y)" in page
    assert "- config reported: 1 edited: x.neon" in page


def test_a_terminal_shows_what_is_new_and_what_hides(gate: Gate) -> None:
    told = list(lines(gate))

    assert told[1:3] == [
        "  + a.php:5 worse: <b>new</b> | [x](y)",
        "  ~ a.php:3 hid: hidden",
    ]


def test_a_run_without_a_measurement_is_told_as_one() -> None:
    gate = Gate(Ruling("analyzer_error", "no measurement", facts={"before": 3.0}), 0)

    assert as_json(gate)["cause"] == "analyzer_error"
    assert as_markdown(gate).startswith("## Failed: no measurement")
    assert as_sarif(gate, "1")["runs"][0]["invocations"] == [{"executionSuccessful": False}]


def test_new_findings_fail_the_gate_only_where_that_was_asked(gate: Gate) -> None:
    compared: Any = gate.ruling.compared

    assert settle(compared, 0)[0] == ""
    assert settle(compared, 0, "no_new") == ("new_findings", 0.0)


def test_identities_are_named() -> None:
    assert "message" in delta_forms.BY_MESSAGE
    assert "source line" in delta_forms.BY_SOURCE
    assert Suppression("a", 1, "x").wide is False


def test_a_report_reads_the_findings_back_from_the_record(make_judge: Callable[..., Any]) -> None:
    before, after = tree({"a.php": [("R", 5), ("S", 6)]}), tree({"a.php": [("R", 5), ("U", 9)]})
    judge = make_judge(phpcs_script, before=before, after=after)
    outcome = ScoreDeltaExecutor({"phpcs": Phpcs()}).execute(phpcs(), "", Context(judge=judge))

    found = told(json.loads(json.dumps(outcome.details)))

    assert found is not None
    assert (found.tool, found.left_out) == ("phpcs 3.7.1", 0)
    assert [(row.fate, row.path, row.line, row.rule) for row in found.rows] == [
        ("new", "a.php", 9, "U"),
        ("fixed", "a.php", 6, "S"),
    ]


@pytest.mark.parametrize(
    "details",
    [{}, {"matched": 3}, {"matched": {"new": "x"}, "new": "odd"}, {"matched": {}, "new": [[1], "a"]}],
)
def test_a_record_of_another_making_tells_no_findings(details: dict[str, Any]) -> None:
    found = told(details)

    assert found is None or found.rows == ()
