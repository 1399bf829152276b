"""A run as OpenTelemetry sees it: off unless asked for, made of records, and no verdict depends on it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from orchestrator import telemetry
from orchestrator.attempts import Silent
from orchestrator.cli import build
from orchestrator.cli.ending import finish
from orchestrator.documents.record import AgentRecord, OutcomeRecord, PhaseTime, TrialRecord, VerdictRecord

ROOT = Path(__file__).parents[3]
RUBRIC = """id: says
version: "1.0"
checks:
  - {kind: must_contain_any, id: yes_word, values: ["yes"]}
  - {kind: llm_judge, judge_prompt_ref: p, judges: [j], threshold: 0.5}
scoring: {combine: all_pass}
"""


def record(**fields: Any) -> TrialRecord:
    outcomes = (
        OutcomeRecord(id="close", kind="target_match", status="passed", score=0.75, passed=True, reason=""),
        OutcomeRecord(id="", kind="regex", status="failed", score=0.0, passed=False, reason=""),
    )
    skipped = (OutcomeRecord(id="", kind="llm_judge", status="skipped", score=None, passed=None, reason=""),)
    facts: dict[str, Any] = {
        "trial": "t.mine.1",
        "attempt": 1,
        "final": True,
        "benchmark": "b",
        "benchmark_version": "1.0",
        "task": "t",
        "agent": AgentRecord(name="command:./solve.sh --key SECRET"),
        "repeat": 1,
        "status": "failed",
        "end": "graded",
        "score": 0.375,
        "reason": "",
        "rubric_ref": "rubric/r@1.0",
        "verdict": VerdictRecord(
            rubric="rubric/r@1.0",
            score=0.375,
            passed=False,
            reason="",
            outcomes=outcomes,
            skipped=skipped,
            route="review",
        ),
        "started_at": "2026-01-01T00:00:00.500+00:00",
        "seconds": 4.0,
        "phases": (PhaseTime(phase="act", started=1.0, seconds=2.0),),
    }
    return TrialRecord(**{**facts, **fields})


class Heard:
    """Telemetry into memory."""

    def __init__(self) -> None:
        self._spans, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        traces = TracerProvider()
        traces.add_span_processor(SimpleSpanProcessor(self._spans))
        meter = MeterProvider([self._reader]).get_meter("proctor")
        self.listener = telemetry.Telemetry(Silent(), traces.get_tracer("proctor"), meter)

    def of(self, *records: TrialRecord) -> Heard:
        for one in records:
            self.listener.finished(None, one)  # type: ignore[arg-type]
        return self

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    @property
    def points(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = defaultdict(list)
        data = self._reader.get_metrics_data()
        for resource in data.resource_metrics if data else ():
            for metric in resource.scope_metrics[0].metrics:
                found[metric.name] += metric.data.data_points
        return found


def test_a_trial_is_a_span_with_the_times_of_its_record() -> None:
    spans = Heard().of(record()).spans

    trial, act = spans["proctor.trial"], spans["proctor.phase.act"]
    began = datetime.fromisoformat("2026-01-01T00:00:00.500+00:00").timestamp() * 1e9
    assert (trial.start_time, trial.end_time) == (began, began + 4e9)
    assert (act.start_time, act.end_time) == (began + 1e9, began + 3e9)
    assert act.parent.span_id == trial.context.span_id
    assert (trial.attributes["proctor.status"], trial.attributes["proctor.route"]) == ("failed", "review")
    assert [e.attributes["proctor.check.status"] for e in trial.events] == ["passed", "failed", "skipped"]


def test_checks_are_counted_by_status_and_their_scores_by_tenths() -> None:
    points = Heard().of(record(), record(trial="t.mine.2")).points

    counts = {
        (p.attributes["proctor.check"], p.attributes["proctor.check.status"]): p.value
        for p in points["proctor.checks"]
    }
    scores = {p.attributes["proctor.check"]: p for p in points["proctor.check.score"]}
    assert counts == {("close", "passed"): 2, ("regex", "failed"): 2, ("llm_judge", "skipped"): 2}
    assert scores.keys() == {"close", "regex"}
    assert scores["close"].bucket_counts[7] == 2 and scores["close"].sum == 1.5
    assert [p.value for p in points["proctor.trials"]] == [2]


def test_an_attempt_that_another_follows_is_a_retry_and_no_trial() -> None:
    heard = Heard().of(record(final=False, status="errored", end="engine_gone", score=None, verdict=None))

    assert "proctor.trials" not in heard.points and "proctor.checks" not in heard.points
    assert [p.value for p in heard.points["proctor.retries"]] == [1]
    assert not heard.spans["proctor.trial"].status.is_ok


def test_the_arguments_of_a_command_stay_here() -> None:
    heard = Heard().of(record())

    assert heard.spans["proctor.trial"].attributes["proctor.agent"] == "command:./solve.sh"
    assert "SECRET" not in str(heard.points) + str([s.to_json() for s in heard.spans.values()])


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of a run of one question that needs no engine."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    bench = tmp_path / "bench"
    (bench / "rubrics").mkdir(parents=True)
    (bench / "rubrics/says.yaml").write_text(RUBRIC)
    (bench / "benchmark.yaml").write_text(
        'id: talk\nversion: "1.0"\nquestions:\n'
        "  - {id: q, input: Say yes., rubric_ref: rubric/says@1.0, graders: [rubric_checks]}\n"
    )
    answers = tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"instance_id": "q", "model_patch": "", "response": "yes"}) + "\n")
    return ["run", str(bench), "--agent", f"predictions:{answers}", "--out", str(tmp_path / "run"), "--quiet"]


@pytest.fixture
def collector() -> Iterator[Any]:
    """What came in over OTLP, by path."""
    came: dict[str, list[bytes]] = defaultdict(list)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            came[self.path].append(data)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server.server_address[1], came
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_run_is_delivered_by_otlp_when_it_is_asked_for(
    questions: list[str], collector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, came = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")

    assert finish(build(), [*questions, "--telemetry"]) == 0

    sent = [ExportTraceServiceRequest.FromString(data) for data in came["/v1/traces"]]
    spans = {s.name: s for r in sent for group in r.resource_spans for s in group.scope_spans[0].spans}
    assert {"proctor.run", "proctor.trial", "proctor.phase.grade"} <= spans.keys()
    assert spans["proctor.trial"].parent_span_id == spans["proctor.run"].span_id
    (measured,) = (ExportMetricsServiceRequest.FromString(data) for data in came["/v1/metrics"])
    names = {m.name for m in measured.resource_metrics[0].scope_metrics[0].metrics}
    assert {"proctor.trials", "proctor.checks", "proctor.check.score"} <= names


def test_what_breaks_a_run_is_not_sent(collector: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    port, came = collector
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")

    with pytest.raises(ValueError), telemetry.exported(Silent(), {"proctor.run": "this one"}):
        raise ValueError("the answer is SECRET")

    (sent,) = came["/v1/traces"]
    assert b"this one" in sent and b"SECRET" not in sent and b"ValueError" not in sent


def test_a_collector_that_is_not_there_is_a_warning_and_changes_nothing(
    questions: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(telemetry, "PATIENCE", 0.2)

    began = time.monotonic()
    assert finish(build(), [*questions, "--telemetry"]) == 0

    assert time.monotonic() - began < 30
    assert "telemetry was not delivered" in caplog.text


def test_without_the_extra_the_run_does_not_start_and_says_what_to_install(
    questions: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http", None)

    assert finish(build(), [*questions, "--telemetry"]) == 2

    assert "pip install 'proctor[otel]'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_that_is_not_asked_imports_none_of_it(questions: list[str]) -> None:
    code = (
        "import sys; from orchestrator.cli import build; from orchestrator.cli.ending import finish;"
        f"assert finish(build(), {questions!r}) == 0;"
        "print([m for m in sys.modules if m.startswith('opentelemetry') or m == 'orchestrator.telemetry'])"
    )

    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert told.stdout.splitlines()[-1] == "[]"


def test_every_name_is_in_the_documentation() -> None:
    page = (ROOT / "docs/telemetry.md").read_text(encoding="utf-8")
    heard = Heard().of(record(), record(final=False, attempt=2, status="errored", end="engine_gone"))
    spans, points = heard.spans, heard.points

    used = {re.sub(r"\.act$", ".<phase>", name) for name in spans} | set(points)
    used |= {key for span in spans.values() for key in span.attributes}
    used |= {key for span in spans.values() for event in span.events for key in event.attributes}
    used |= {key for series in points.values() for point in series for key in point.attributes}
    assert not [name for name in used if f"`{name}`" not in page]
