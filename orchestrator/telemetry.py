"""A run as OpenTelemetry spans and metrics, made of its records as they are written. Off unless asked for.

Needs the extra `proctor[otel]`; nothing of it is imported without `proctor run --telemetry`. Environment
variables of OpenTelemetry's own say where it goes. docs/telemetry.md lists every name.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from orchestrator.errors import AuthoringError
from orchestrator.words import agent_name, shorten

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter
    from opentelemetry.trace import Span, Tracer

    from orchestrator.attempts import Listener
    from orchestrator.documents.record import OutcomeRecord, TrialRecord
    from orchestrator.plan import TrialJob

Attributes = Mapping[str, str | int | float | bool]

SCOPE = "proctor"
TENTHS = tuple(n / 10 for n in range(1, 10))
"""Bounds between scores that are counted apart."""
SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000)
"""Bounds between durations that are counted apart."""
PATIENCE = 10
"""Seconds that the end of a run waits for a collector."""
_log = logging.getLogger(__name__)


class Telemetry:
    """Hears what a run's listener hears, passes it on, and tells OpenTelemetry of each recorded attempt.

    Safe to use from many threads.
    """

    def __init__(self, inner: Listener, tracer: Tracer, meter: Meter, run: Span | None = None) -> None:
        """`run` is the span around all trials."""
        self._inner, self._tracer, self._run = inner, tracer, run
        self._trials = meter.create_counter("proctor.trials", "{trial}", "Trials that have an end.")
        self._retries = meter.create_counter(
            "proctor.retries", "{attempt}", "Attempts that another followed."
        )
        self._checks = meter.create_counter("proctor.checks", "{check}", "Outcomes of checks.")
        self._score = _scores(meter, "proctor.trial.score", "Scores of graded trials.")
        self._check_score = _scores(meter, "proctor.check.score", "Scores of executed checks.")
        self._duration = _durations(meter, "proctor.trial.duration", "Attempts, from start to record.")
        self._phase = _durations(meter, "proctor.phase.duration", "Phases of attempts.")

    def started(self, job: TrialJob) -> None:
        self._inner.started(job)

    def phase(self, job: TrialJob, name: str) -> None:
        self._inner.phase(job, name)

    def finished(self, job: TrialJob, record: TrialRecord) -> None:
        self._inner.finished(job, record)
        self._measure(record)
        self._trace(record)

    def _measure(self, record: TrialRecord) -> None:
        about = {"proctor.benchmark": record.benchmark, "proctor.agent": _agent(record)}
        ended = {**about, "proctor.status": record.status, "proctor.end": record.end}
        self._duration.record(record.seconds, ended)
        for phase in record.phases:
            self._phase.record(phase.seconds, {**about, "proctor.phase": phase.phase})
        if not record.final:
            self._retries.add(1, ended)
            return
        self._trials.add(1, ended)
        if record.score is not None:
            self._score.record(record.score, about)
        for outcome in _outcomes(record):
            check = {**about, **_check(record, outcome)}
            self._checks.add(1, {**check, "proctor.check.status": outcome.status})
            if outcome.score is not None:
                self._check_score.record(outcome.score, check)

    def _trace(self, record: TrialRecord) -> None:
        """The attempt as a span with the times of its record, its phases below it, its checks as events."""
        from opentelemetry.trace import set_span_in_context

        began = _nanoseconds(record.started_at)
        ended = began + int(record.seconds * 1e9)
        above = None if self._run is None else set_span_in_context(self._run)
        span = self._tracer.start_span(
            "proctor.trial", above, attributes=_attributes(record), start_time=began
        )
        for phase in record.phases:
            since = began + int(phase.started * 1e9)
            below = self._tracer.start_span(
                f"proctor.phase.{phase.phase}", set_span_in_context(span), start_time=since
            )
            below.end(since + int(phase.seconds * 1e9))
        for outcome in _outcomes(record):
            facts = {**_check(record, outcome), "proctor.check.status": outcome.status}
            if outcome.score is not None:
                facts["proctor.check.score"] = outcome.score
            span.add_event("proctor.check", facts, ended)
        if record.status == "errored":
            from opentelemetry.trace import Status, StatusCode

            span.set_status(Status(StatusCode.ERROR, record.end))
        span.end(ended)


def ready() -> None:
    """Raises AuthoringError when the extra is not installed: before anything is started."""
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk  # noqa: F401
    except ImportError as missing:
        hint = f"({missing.name} is not there): pip install 'proctor[otel]'"
        raise AuthoringError(f"--telemetry needs OpenTelemetry {hint}") from None


@contextmanager
def exported(inner: Listener, about: Attributes) -> Iterator[Listener]:
    """A listener around `inner` whose run is sent by OTLP over HTTP; the span around it ends with the block.

    `about` are attributes of the whole run. A collector that is not there costs some seconds at the end and a
    warning, and changes nothing.
    """
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": SCOPE}
    resource = Resource.create(named)
    with _complaints() as complaints:
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics = MeterProvider([reader], resource, shutdown_on_exit=False)
        tracer = traces.get_tracer(SCOPE)
        run = tracer.start_span("proctor.run", attributes=about)
        try:
            yield Telemetry(inner, tracer, metrics.get_meter(SCOPE), run)
        finally:
            run.end()
            delivered = _within(PATIENCE, metrics.shutdown, traces.shutdown)
    if complaints or not delivered:
        place = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
        said = shorten((complaints or [f"no end after {PATIENCE} s"])[0], 120)
        _log.warning("telemetry was not delivered to %s; is a collector there? (%s)", place, said)


def _within(seconds: float, *deeds: Callable[[], object]) -> bool:
    """Do them beside each other; whether all were done in time. What is late is left behind."""
    threads = [threading.Thread(target=deed, daemon=True) for deed in deeds]
    until = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """What the SDK logs, kept from the progress display."""
    found: list[str] = []
    logger, handler = logging.getLogger("opentelemetry"), logging.Handler(logging.WARNING)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    kept, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield found
    finally:
        logger.propagate = kept
        logger.removeHandler(handler)


def _attributes(record: TrialRecord) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {
        "proctor.benchmark": record.benchmark,
        "proctor.benchmark.version": record.benchmark_version,
        "proctor.task": record.task,
        "proctor.agent": _agent(record),
        "proctor.trial": record.trial,
        "proctor.repeat": record.repeat,
        "proctor.attempt": record.attempt,
        "proctor.final": record.final,
        "proctor.status": record.status,
        "proctor.end": record.end,
    }
    if record.score is not None:
        found["proctor.score"] = record.score
    if record.verdict is not None:
        found["proctor.rubric"] = record.verdict.rubric
        found["proctor.route"] = record.verdict.route or ""
    return found


def _agent(record: TrialRecord) -> str:
    """Of a command its program alone: arguments may hold what is nobody's business."""
    name, colon, rest = record.agent.name.partition(":")
    return f"{name}:{(rest.split() or [''])[0]}" if name == "command" else agent_name(f"{name}{colon}{rest}")


def _check(record: TrialRecord, outcome: OutcomeRecord) -> dict[str, str | int | float | bool]:
    rubric = record.verdict.rubric if record.verdict is not None else ""
    named = outcome.id or outcome.kind
    return {"proctor.rubric": rubric, "proctor.check": named, "proctor.check.kind": outcome.kind}


def _outcomes(record: TrialRecord) -> tuple[OutcomeRecord, ...]:
    return () if record.verdict is None else (*record.verdict.outcomes, *record.verdict.skipped)


def _scores(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(name, "1", description, explicit_bucket_boundaries_advisory=TENTHS)


def _durations(meter: Meter, name: str, description: str) -> Histogram:
    return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=SECONDS)


def _nanoseconds(moment: str) -> int:
    """Since the epoch, of an ISO 8601 time."""
    return int(datetime.fromisoformat(moment).timestamp() * 1e9)
