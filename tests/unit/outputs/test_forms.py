"""A run in the formats of other tools: what their readers demand, and what no candidate can break."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.documents.record import TrialRecord
from orchestrator.documents.scoring import Gate
from orchestrator.dossier import Artifacts, Dossier
from orchestrator.outputs import eee, junit, markdown, sarif, sheet
from tests.pages.hostile import HOSTILE
from tests.pages.made import make_run

SARIF = json.loads((Path(__file__).parents[2] / "data" / "outputs" / "sarif-2.1.0.json").read_bytes())
MakeDossier = Callable[..., Dossier]


@pytest.fixture
def make_dossier(tmp_path: Path) -> MakeDossier:
    def make(*arguments: Any, **fields: Any) -> Dossier:
        return Dossier.read(make_run(tmp_path / "run", *arguments, **fields))

    return make


def set_to(status: str, end: str, **more: Any) -> Callable[[TrialRecord, dict[str, bytes]], TrialRecord]:
    return lambda record, kept: record.model_copy(update={"status": status, "end": end, **more})


# JUnit


def test_junit_has_a_suite_per_agent_and_a_case_per_check(make_dossier: MakeDossier) -> None:
    root = ElementTree.fromstring(junit.document(make_dossier(3, ["gold"])))

    (suite,) = root.findall("testsuite")
    assert suite.get("name") == "gold"
    assert {case.get("name") for case in suite.findall("testcase")} >= {"tests", "tidy", "manner"}


def test_junits_counts_are_those_of_its_elements(make_dossier: MakeDossier) -> None:
    root = ElementTree.fromstring(junit.document(make_dossier(30)))

    for element in (root, *root.findall("testsuite")):
        assert int(element.get("tests", "")) == len(list(element.iter("testcase")))
        for plural, name in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(plural, "")) == len(list(element.iter(name)))


@pytest.mark.parametrize(
    ("status", "end", "mark"),
    [
        ("errored", "sandbox_lost", "error"),
        ("errored", "harness_error", "error"),
        ("invalid", "task_invalid", "error"),
        ("invalid", "quarantined", "skipped"),
        ("not_run", "interrupted", "skipped"),
        ("unscored", "nothing_executable", "skipped"),
    ],
)
def test_what_has_no_score_is_never_a_failure_in_junit(
    status: str, end: str, mark: str, make_dossier: MakeDossier
) -> None:
    twist = set_to(status, end, verdict=None, score=None)

    root = ElementTree.fromstring(junit.document(make_dossier(1, ["gold"], twist=twist)))

    (case,) = root.iter("testcase")
    assert [inner.tag for inner in case] == [mark]


def test_a_trial_that_was_never_begun_is_skipped_in_junit(make_dossier: MakeDossier) -> None:
    root = ElementTree.fromstring(junit.document(make_dossier(2, ["gold"], begun=0)))

    assert [case[0].tag for case in root.iter("testcase")] == ["skipped", "skipped"]


def test_a_failed_check_that_the_rubric_forgives_does_not_break_a_pipeline(make_dossier: MakeDossier) -> None:
    def forgiven(record: TrialRecord, kept: dict[str, bytes]) -> TrialRecord:
        assert record.verdict is not None
        outcomes = [
            o.model_copy(update={"status": "failed", "passed": False}) for o in record.verdict.outcomes
        ]
        verdict = record.verdict.model_copy(update={"outcomes": tuple(outcomes), "passed": True})
        return record.model_copy(update={"status": "passed", "verdict": verdict})

    root = ElementTree.fromstring(junit.document(make_dossier(["plain"], ["gold"], twist=forgiven)))

    assert root.get("failures") == "0"
    assert "passes all the same" in "".join(
        text for case in root.iter("system-out") for text in case.itertext()
    )


def test_a_missed_hard_gate_fails_and_a_soft_one_does_not(make_dossier: MakeDossier) -> None:
    gates = [Gate(metric="pass_rate", at_least=2.0), Gate(metric="mean_score", at_least=2.0, kind="soft")]

    root = ElementTree.fromstring(junit.document(make_dossier(2, ["gold"], gates=gates)))

    cases = root.findall("testsuite[@name='gates']/testcase")
    assert [len(case.findall("failure")) for case in cases] == [1, 0]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_junit(text: str, make_dossier: MakeDossier) -> None:
    twist = set_to("failed", "graded", verdict=None, score=0.0, reason=text)

    root = ElementTree.fromstring(junit.document(make_dossier([text], ["gold"], twist=twist)))

    assert {element.tag for element in root.iter()} == {
        *("testsuites", "testsuite", "properties", "property", "testcase", "failure")
    }


# SARIF


def test_sarif_is_what_its_schema_asks_for(make_dossier: MakeDossier) -> None:
    document = sarif.document(make_dossier(60))

    jsonschema.Draft7Validator(SARIF).validate(json.loads(json.dumps(document)))
    assert len(document["runs"][0]["results"]) > 30


def test_sarif_tells_what_became_of_findings_and_where(make_dossier: MakeDossier) -> None:
    results = sarif.document(make_dossier(60))["runs"][0]["results"]

    found = [result for result in results if result["ruleId"] == "ruff/E711"]
    place = found[0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 12}
    assert place["artifactLocation"]["uri"].startswith("src/")
    assert {result["baselineState"] for result in found} == {"new", "absent"}
    hidden = [result for result in results if result["ruleId"] == "ruff/S307"]
    assert {result["baselineState"] for result in hidden} == {"unchanged"}
    assert all(result["suppressions"][0]["kind"] == "inSource" for result in hidden)


def test_trouble_of_the_machine_is_no_result_in_sarif(make_dossier: MakeDossier) -> None:
    twist = set_to("errored", "engine_gone", verdict=None, score=None, reason="the engine is gone")

    (run,) = sarif.document(make_dossier(1, ["gold"], twist=twist))["runs"]

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "the engine is gone" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


def test_sarif_knows_a_failure_again_in_the_next_run(tmp_path: Path) -> None:
    runs = [
        Dossier.read(make_run(tmp_path / str(n), 8, started=f"2026-11-0{n}T02:00:00+00:00")) for n in (1, 2)
    ]

    first, second = (
        {
            result["partialFingerprints"]["proctorTrial/v1"]
            for result in sarif.document(run)["runs"][0]["results"]
        }
        for run in runs
    )

    assert first == second
    assert first


# Markdown


def test_markdown_names_the_findings_a_change_brought_along(make_dossier: MakeDossier) -> None:
    text = markdown.document(make_dossier(60))

    section = text.split("### Findings", 1)[1].split("###", 1)[0]
    rows = [line for line in section.splitlines() if "ruff 0.6.9" in line]
    new = [line for line in rows if "| 1 | 1 | 0 | 0 |" in line]
    assert new
    assert all(":12 E711; " in line and ":3 S307" in line for line in new)
    assert any("| 0 | 0 | 1 | 0 |  |" in line for line in rows)


def test_markdown_says_the_counts_and_the_intervals(make_dossier: MakeDossier) -> None:
    dossier = make_dossier(8, ["gold", "noop"])

    text = markdown.document(dossier)

    assert f"**16 trials: {dossier.report.counts['passed']} passed" in text
    assert "(" in text and "% to " in text


@pytest.mark.parametrize("budget", [4_000, 20_000, 40_000])
def test_markdown_stays_in_its_budget_and_leaves_out_the_longest_first(
    budget: int, make_dossier: MakeDossier
) -> None:
    dossier = make_dossier(300, ["gold", "noop"])

    text = markdown.document(dossier, budget)

    sizes = {f"### {s.title}\n": s.size for s in markdown._sections(dossier) if s.lines}
    kept = [size for title, size in sizes.items() if title in text]
    left_out = [size for title, size in sizes.items() if title not in text]
    assert len(text.encode()) <= budget
    assert "Left out for their length: " in text
    assert left_out and kept and max(kept) <= min(left_out)


def test_a_step_summary_of_five_thousand_trials_is_taken(make_dossier: MakeDossier) -> None:
    assert (
        len(markdown.document(make_dossier(2500, ["gold", "noop"], artifacts=False)).encode())
        < markdown.LIMIT
    )


@given(text=st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_a_cell_of_markdown_cannot_be_left(text: str) -> None:
    cell = markdown._cell(text)

    assert "\n" not in cell and "\r" not in cell
    bare = cell.replace("\\\\", "")
    for mark in "|<[`*_":
        assert bare.count(mark) == bare.count(f"\\{mark}")


# CSV


def test_csv_has_a_line_per_planned_trial(make_dossier: MakeDossier) -> None:
    dossier = make_dossier(5, ["gold", "noop"], begun=0.5)

    rows = list(csv.DictReader(io.StringIO(sheet.document(dossier), newline="")))

    assert [row["trial"] for row in rows] == [row.trial for row in dossier.report.rows]
    assert {row["status"] for row in rows[5:]} == {"not_run"}


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1"])
def test_csv_gives_a_spreadsheet_no_formula_of_an_agents(text: str, make_dossier: MakeDossier) -> None:
    twist = set_to("failed", "graded", reason=text)

    (row,) = csv.DictReader(
        io.StringIO(sheet.document(make_dossier([text], ["gold"], twist=twist)), newline="")
    )

    assert row["task"] == row["reason"] == f"'{text}"


# Every Eval Ever


def test_every_eval_ever_has_a_document_per_agent_with_what_the_format_requires(
    make_dossier: MakeDossier,
) -> None:
    found = eee.documents(make_dossier(8, ["gold", "noop"]))

    assert set(found) == {"gold", "noop"}
    for document in found.values():
        assert {
            *("schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info"),
            *("eval_library", "evaluation_results"),
        } <= document.keys()
        assert {"name", "id"} <= document["model_info"].keys()
        assert document["source_metadata"]["source_type"] == "evaluation_run"
        for result in document["evaluation_results"]:
            assert {"evaluation_name", "source_data", "metric_config", "score_details"} <= result.keys()
            assert result["metric_config"]["lower_is_better"] is False
            assert 0 <= result["score_details"]["score"] <= 1
            assert all(isinstance(value, str) for value in result["score_details"]["details"].values())


def test_every_eval_ever_tells_how_sure_a_pass_rate_is(make_dossier: MakeDossier) -> None:
    document = eee.documents(make_dossier(8, ["gold"]))["gold"]

    (rate,) = (r for r in document["evaluation_results"] if r["metric_config"]["metric_kind"] == "pass_rate")
    interval = rate["score_details"]["uncertainty"]["confidence_interval"]
    assert 0 <= interval["lower"] <= rate["score_details"]["score"] <= interval["upper"] <= 1
    assert interval["confidence_level"] == 0.95


def test_an_agent_without_a_score_has_no_document(make_dossier: MakeDossier) -> None:
    assert eee.documents(make_dossier(2, ["gold"], begun=0)) == {}


# What trials kept


@pytest.mark.parametrize(
    "place", ["../secret", "/etc/passwd", "trials/link", "trials", "trials/pipe", "a\0b"]
)
def test_an_artifact_outside_the_run_is_not_read(place: str, tmp_path: Path) -> None:
    import os

    (tmp_path / "secret").write_text("secret")
    run = tmp_path / "run"
    (run / "trials").mkdir(parents=True)
    (run / "trials" / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(run / "trials" / "pipe")
    record = TrialRecord.model_construct(artifacts={"log": place})

    assert Artifacts(run).read(record, "log") is None
    assert Artifacts(run).read(record, "another") is None


def test_of_a_long_artifact_the_end_is_read(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("0123456789")
    record = TrialRecord.model_construct(artifacts={"log": "log"})

    assert Artifacts(tmp_path).read(record, "log", 3) == b"789"
